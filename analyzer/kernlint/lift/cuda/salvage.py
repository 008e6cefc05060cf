"""Kernels that a broken place before them swallowed: cut out of the text by their braces and parsed alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlint.lift.cuda.unit import FunctionDefinition

MAX_SALVAGED = 40
MAX_HEAD = 6000  # bytes between `__global__` and the body, and before it
_SKIP = rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
_GLOBAL = re.compile(_SKIP + rb"|^[ \t]*#[ \t]*define\b(?:\\\r?\n|[^\n])*|(?P<word>\b__global__\b)", re.S | re.M)
_PUNCTUATION = re.compile(_SKIP + rb"|(?P<mark>[{}();])", re.S)
_BOUNDARY = re.compile(_SKIP + rb"|^[ \t]*#(?:\\\r?\n|[^\n])*|(?P<mark>[{};])", re.S | re.M)


def lost_kernels(data: bytes, found: list[FunctionDefinition]) -> list[tuple[int, int]]:
    """Byte ranges of kernel definitions in the text that are not among `found`, each from its template head or
    specifiers to its closing brace."""
    covered = sorted((f.node.start_byte, f.node.end_byte) for f in found)
    ranges: list[tuple[int, int]] = []
    end_of_last = 0
    for match in _GLOBAL.finditer(data):
        at = match.start()
        if match.group("word") is None or at < end_of_last or any(a - 200 <= at < b for a, b in covered):
            continue
        end = _definition_end(data, match.end())
        if end is None:
            continue
        ranges.append((_definition_start(data, at), end))
        end_of_last = end
        if len(ranges) >= MAX_SALVAGED:
            break
    return ranges


def _definition_end(data: bytes, at: int) -> int | None:
    """Behind the brace that closes the body, None for a declaration or an unclosed body."""
    parens, braces = 0, 0
    for match in _PUNCTUATION.finditer(data, at):
        mark = match.group("mark")
        if mark is None:
            continue
        if braces == 0 and match.start() - at > MAX_HEAD:
            return None
        if mark == b"{" and (parens == 0 or braces):
            braces += 1
        elif mark == b"}" and braces:
            braces -= 1
            if braces == 0:
                return match.end()
        elif braces == 0:
            parens += (mark == b"(") - (mark == b")")
            if parens < 0 or (mark == b";" and parens == 0) or mark == b"}":
                return None
    return None


def _definition_start(data: bytes, at: int) -> int:
    """Behind the last `;`, brace or directive before the definition, so that its template head is included."""
    low = max(0, at - MAX_HEAD)
    start = low
    for match in _BOUNDARY.finditer(data, low, at):
        if match.group("mark") is not None or match.group().lstrip().startswith(b"#"):
            start = match.end()
    return start
