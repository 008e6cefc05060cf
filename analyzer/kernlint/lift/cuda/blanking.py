"""Blanking of annotations the grammar does not know: bytes become spaces, newlines stay, offsets do not move.

What is blanked is recorded first, because alignment and cluster dimensions are facts rules need.
"""

from __future__ import annotations

import re

from kernlint.lift.cuda.unit import Recorded
from kernlint.records import dataclass

MAX_ARGUMENTS = 4000  # bytes of one parenthesised list

_SKIP = rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
_WORDS = (
    rb"__align__|__builtin_align__|__cluster_dims__|__maxnreg__|__block_size__|__attribute__|__declspec|_Pragma"
    rb"|__pragma|__extension__|__wgmma_alignment__|__tile_global__"
)
_ANNOTATION = re.compile(_SKIP + rb"|\b(?P<word>" + _WORDS + rb")\b", re.DOTALL)
_LAMBDA = re.compile(
    _SKIP + rb"|[\])]\s*(?P<word>(?:__(?:host|device|forceinline|noinline)__\s*)+)(?=[({]|mutable\b|->|noexcept\b)",
    re.DOTALL,
)
_INSTANTIATION = re.compile(
    _SKIP + rb"|\b(?P<word>(?:extern\s+)?template\s+(?:class|struct|union)\s+[^;{}]*;)", re.DOTALL
)
_CONST_RESTRICT = re.compile(_SKIP + rb"|\*\s*(?P<word>const\s+)(?=__restrict__?\b)", re.DOTALL)
_QUICK_LAMBDA = re.compile(rb"[\])]\s*__(?:host|device|forceinline|noinline)__\s*(?:__\w+__\s*)*(?:[({]|mutable|->)")
_QUICK_INSTANTIATION = re.compile(rb"\btemplate\s+(?:class|struct|union)\b")
_QUICK_CONST_RESTRICT = re.compile(rb"\*\s*const\s+__restrict")
_NESTED_ATTRIBUTE = re.compile(rb"([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?")
_PAREN_OR_SKIP = re.compile(_SKIP + rb"|[()]", re.DOTALL)
_NOT_NEWLINE = re.compile(rb"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Edit:
    """A byte range to blank, and what to remember about it."""

    start: int
    end: int
    records: tuple[Recorded, ...] = ()
    replacement: bytes = b""  # put at `start`; no longer than the range


def blanked(data: bytes, edits: list[Edit]) -> bytes:
    """`data` with every edit's range turned into spaces; as long as before."""
    if not edits:
        return data
    pieces: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda item: (item.start, item.end)):
        start, end = max(edit.start, at), min(edit.end, len(data))
        if end <= start:
            continue
        pieces.append(data[at:start])
        kept = edit.replacement[: end - start] if start == edit.start else b""
        pieces.append(kept + _NOT_NEWLINE.sub(b" ", data[start + len(kept) : end]))
        at = end
    pieces.append(data[at:])
    return b"".join(pieces)


def annotation_edits(data: bytes) -> list[Edit]:
    """Edits for annotations the grammar is known not to take, wherever they stand outside comments and strings."""
    edits: list[Edit] = []
    if any(word in data for word in _WORDS.split(b"|")):
        for match in _ANNOTATION.finditer(data):
            if match.group("word") is not None:
                edits.extend(_annotation_edit(data, match.group("word").decode(), match.start(), match.end()))
    return edits


def construct_edits(data: bytes) -> list[Edit]:
    """Edits for what is rare and always an error: annotated lambdas, explicit instantiations of classes,
    `* const __restrict__`."""
    edits: list[Edit] = []
    if _QUICK_LAMBDA.search(data):
        for match in _LAMBDA.finditer(data):
            if match.group("word") is not None:
                start, end = match.span("word")
                edits.append(Edit(start, end, (Recorded("lambda", (data[start:end].decode().strip(),), start, end),)))
    if _QUICK_INSTANTIATION.search(data):
        for match in _INSTANTIATION.finditer(data):
            if match.group("word") is not None:
                edits.append(Edit(*match.span("word")))
    if _QUICK_CONST_RESTRICT.search(data):
        for match in _CONST_RESTRICT.finditer(data):
            if match.group("word") is not None:
                edits.append(Edit(*match.span("word")))
    return edits


def _annotation_edit(data: bytes, word: str, start: int, end: int) -> list[Edit]:
    if word in ("__extension__",):
        return [Edit(start, end)]
    close = arguments_end(data, end)
    if close is None:
        return []
    inner = data[data.index(b"(", end) + 1 : close - 1]
    if word in ("__attribute__", "__declspec"):
        found = [
            Recorded(
                match.group(1).decode().strip("_"),
                (match.group(2).decode("utf-8", "replace").strip(),) if match.group(2) is not None else (),
                start,
                close,
            )
            for match in _NESTED_ATTRIBUTE.finditer(inner)
        ]
        return [Edit(start, close, tuple(found))]
    return [Edit(start, close, (Recorded(word, split_arguments(inner), start, close),))]


def arguments_end(data: bytes, at: int) -> int | None:
    """The position behind the parenthesised list that starts at `at` (white space allowed before it), or None."""
    while at < len(data) and data[at] in b" \t\r\n\\":
        at += 1
    if at >= len(data) or data[at] != 0x28:
        return None
    depth = 0
    for match in _PAREN_OR_SKIP.finditer(data, at, at + MAX_ARGUMENTS):
        token = match.group()
        if token == b"(":
            depth += 1
        elif token == b")":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def split_arguments(inner: bytes) -> tuple[str, ...]:
    """Top-level comma-separated texts."""
    parts, depth, current = [], 0, ""
    for char in inner.decode("utf-8", "replace"):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    parts.append(current.strip())
    return tuple(part for part in parts if part)
