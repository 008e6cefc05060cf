"""Where the comments of a file are, found by scanning, so that broken files work too.

Python strings that hold CUDA are scanned as CUDA, since kernels written inside Python carry `//` comments.
"""

from __future__ import annotations

import re

from kernlint.records import dataclass
from kernlint.source.file import CUDA


@dataclass(frozen=True, slots=True)
class Comment:
    """Byte range of one comment with its delimiters.  `block` for `/* */`."""

    start: int
    end: int
    block: bool = False


# Each alternative starts at a byte that can begin a comment or a literal; the scanners then find its end.
_CPP_TOKEN = re.compile(rb"//|/\*|(?:\b(?:u8|[uUL])?R)?\"|'")
_PYTHON_TOKEN = re.compile(rb"#|\"\"\"|'''|\"|'")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CUDA_MARKS = (b"__global__", b"__device__", b"<<<")
_RAW_OPEN = re.compile(rb"([^()\\\s]{0,16})\(")


def find_comments(data: bytes, language: str) -> list[Comment]:
    """Comments in order of appearance."""
    return _cpp_comments(data, 0, len(data)) if language == CUDA else _python_comments(data)


def _cpp_comments(data: bytes, start: int, end: int) -> list[Comment]:
    found: list[Comment] = []
    at = start
    while (match := _CPP_TOKEN.search(data, at, end)) is not None:
        token = match.group()
        if token == b"//":
            stop = _line_end(data, match.end(), end)
            found.append(Comment(match.start(), stop))
        elif token == b"/*":
            close = data.find(b"*/", match.end(), end)
            stop = end if close < 0 else close + 2
            found.append(Comment(match.start(), stop, block=True))
        elif token == b"'":
            separator = _is_digit_separator(data, match.start())
            stop = match.end() if separator else _after_quote(data, match.end(), end, b"'")
        elif token == b'"':
            stop = _after_quote(data, match.end(), end, b'"')
        else:
            stop = _after_raw(data, match.end(), end)
        at = max(stop, match.end())
    return found


def _line_end(data: bytes, at: int, end: int) -> int:
    """End of a `//` comment, without its line end; a backslash before the line end continues it."""
    while (match := _LINE_END.search(data, at, end)) is not None:
        if data[match.start() - 1 : match.start()] != b"\\":
            return match.start()
        at = match.end()
    return end


def _is_digit_separator(data: bytes, at: int) -> bool:
    """Whether the quote at `at` is the one of 1'000'000."""
    return data[at - 1 : at].isalnum() and data[at + 1 : at + 2].isalnum() and data[at + 2 : at + 3] != b"'"


def _after_quote(data: bytes, at: int, end: int, quote: bytes) -> int:
    """After the closing quote of a one-line literal; at the end of the line when it is not closed."""
    while at < end:
        char = data[at : at + 1]
        if char == b"\\":
            at += 3 if data[at + 1 : at + 3] == b"\r\n" else 2
        elif char == quote:
            return at + 1
        elif char in b"\r\n":
            return at
        else:
            at += 1
    return end


def _after_raw(data: bytes, at: int, end: int) -> int:
    opening = _RAW_OPEN.match(data, at, end)
    if opening is None:
        return _after_quote(data, at, end, b'"')
    closing = b")" + opening.group(1) + b'"'
    close = data.find(closing, opening.end(), end)
    return end if close < 0 else close + len(closing)


def _python_comments(data: bytes) -> list[Comment]:
    found: list[Comment] = []
    at, end = 0, len(data)
    while (match := _PYTHON_TOKEN.search(data, at)) is not None:
        token = match.group()
        if token == b"#":
            stop = _LINE_END.search(data, match.end())
            at = stop.start() if stop is not None else end
            found.append(Comment(match.start(), at))
            continue
        body = match.end()
        at = _after_triple(data, body, end, token) if len(token) == 3 else _after_quote(data, body, end, token)
        if any(mark in data[body:at] for mark in _CUDA_MARKS):
            found.extend(_cpp_comments(data, body, max(body, at - len(token))))
    return found


def _after_triple(data: bytes, at: int, end: int, quote: bytes) -> int:
    while True:
        close = data.find(quote, at, end)
        if close < 0:
            return end
        slashes = 0
        while close - slashes > at and data[close - slashes - 1 : close - slashes] == b"\\":
            slashes += 1
        if slashes % 2 == 0:
            return close + 3
        at = close + 1
