"""From byte spans to lines and columns, in one place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import quote

from kernlint.ir.types import Span
from kernlint.records import dataclass
from kernlint.report.text import clean, printable
from kernlint.report_data import Report
from kernlint.source.file import SourceFile

_BLANKS = b" \t\r\n\f\v"
_DRIVE = re.compile(r"^[A-Za-z]:(?=/|$)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span is shown.  Lines and columns are 1-based, columns in Unicode code points, `end_column` exclusive.

    `line`, `column` and `end_column` are the part on the span's first line, at least one character wide where the line
    has one; `last_line` and `last_column` are the true end.  `known` is False when the source could not be read.
    """

    path: str
    line: int = 1
    column: int = 1
    end_column: int = 1
    last_line: int = 1
    last_column: int = 1
    known: bool = True

    @property
    def text(self) -> str:
        """`path:line:column` for people; the path alone when the file could not be read."""
        path = printable(self.path)
        return f"{path}:{self.line}:{self.column}" if self.known else path


def locate(span: Span, sources: Mapping[str, SourceFile]) -> Place:
    """The place of a span.  Spans that are empty, reversed, out of range or cut a character still have one."""
    source = sources.get(span.path)
    if source is None:
        return Place(span.path, known=False)
    data = source.data
    start = max(0, min(span.start, len(data)))
    end = max(start, min(span.end, len(data)))
    while start < end and data[start] in _BLANKS:
        start += 1
    if start == end:
        start = end = max(0, min(span.start, len(data)))
    while end > start and data[end - 1] in _BLANKS:
        end -= 1
    start, end = _character_start(data, start), _character_end(data, end)

    first, last = source.position(start), source.position(end)
    if end == start:
        last = first
    text = source.line_text(first.line)
    column = min(first.column, max(1, len(text)))
    end_column = last.column if last.line == first.line else len(text.rstrip()) + 1
    end_column = max(min(end_column, len(text) + 1), min(column + 1, len(text) + 1))
    if last.line == first.line:
        return Place(span.path, first.line, column, end_column, first.line, end_column)
    return Place(span.path, first.line, column, end_column, last.line, last.column)


def _character_start(data: bytes, offset: int) -> int:
    """The offset, moved back to the first byte of the UTF-8 character it is in."""
    for back in range(min(3, offset) + 1):
        if offset - back >= len(data) or data[offset - back] & 0xC0 != 0x80:
            return offset - back
    return offset


def _character_end(data: bytes, offset: int) -> int:
    """The offset, moved on past the rest of the UTF-8 character it is in."""
    for on in range(4):
        if offset + on >= len(data) or data[offset + on] & 0xC0 != 0x80:
            return offset + on
    return offset


def is_outside(path: str, report: Report) -> bool:
    """Whether a path leads out of the repository, so that no forge can show it."""
    return repository_path(path, report) != posixpath.normpath(report.repository_paths.get(path, path))


def repository_path(path: str, report: Report) -> str:
    """What a forge takes for a path from the top of the repository: without drive, root, `.` and `..`."""
    path = report.repository_paths.get(path, path)
    parts = posixpath.normpath(_DRIVE.sub("", path)).split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unknown"


def repository_uri(path: str, report: Report) -> str:
    """`repository_path` as a percent-encoded relative reference.  Undecodable file names keep their bytes."""
    relative = repository_path(path, report)
    try:
        data = relative.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = clean(relative).encode("utf-8")
    return quote(data, safe="/-._~")
