"""Text that is safe to show: no lone surrogates, no control characters, known width in terminal cells."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

_TAB_STOP = 4
# Characters that reorder what is around them: source could show one thing and do another (CVE-2021-42574).
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_DEPTH_LIMIT = 20


def clean(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    """One line for a terminal: control and reordering characters become visible signs of width one, tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) for char in clean(text))


def _visible(char: str) -> str:
    code = ord(char)
    if char == "\t" or (code >= 32 and code < 127):
        return char
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    if code < 160 or char in _REORDERING or code in (0x2028, 0x2029, 0xFEFF):
        return "\ufffd"
    return char


def one_line(text: str) -> str:
    """Runs of blanks and line ends become one blank each."""
    return printable(" ".join(text.split()))


def cells(char: str) -> int:
    """How many terminal cells a character takes: 0 for combining ones, 2 for wide ones."""
    if char < "\u0300":
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def width_of(text: str) -> int:
    """The width of a text without tabs, in terminal cells."""
    return len(text) if text.isascii() else sum(map(cells, text))


def expand(line: str) -> tuple[str, list[int]]:
    """A source line with its tabs expanded, and the cell at which each of its characters begins, end included."""
    shown: list[str] = []
    offsets: list[int] = []
    cell = 0
    for char in printable(line):
        offsets.append(cell)
        if char == "\t":
            blanks = _TAB_STOP - cell % _TAB_STOP
            shown.append(" " * blanks)
            cell += blanks
        else:
            shown.append(char)
            cell += cells(char)
    offsets.append(cell)
    return "".join(shown), offsets


def window(text: str, start: int, width: int) -> str:
    """The part of a text that fills the cells [start, start + width); a wide character cut in half becomes blanks."""
    if text.isascii():
        return text[start : start + width]
    shown: list[str] = []
    cell = 0
    for char in text:
        size = cells(char)
        if start <= cell and cell + size <= start + width:
            if size or cell > start:
                shown.append(char)
        elif cell < start + width and cell + size > start:
            shown.append(" " * (min(cell + size, start + width) - max(cell, start)))
        cell += size
    return "".join(shown)


def first_sentence(text: str) -> str:
    """The first sentence with its full stop; a stop inside backticks does not end it."""
    for match in _SENTENCE_END.finditer(text):
        if text.count("`", 0, match.start()) % 2 == 0:
            return text[: match.end()]
    return text


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def plain_data(value: Any, depth: int = 0) -> Any:
    """Evidence as JSON allows it: no NaN, no lone surrogates, string keys in order, bounded depth."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return clean(value)
    if depth >= _DEPTH_LIMIT:
        return "..."
    if isinstance(value, dict):
        return {clean(str(key)): plain_data(value[key], depth + 1) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    return clean(str(value))
