"""Source files as bytes, with positions derived from byte offsets."""

from __future__ import annotations

import bisect
import re
from functools import cached_property
from typing import Protocol

from kernlint.records import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")

CUDA = "cuda"
PYTHON = "python"


@dataclass(frozen=True)
class Position:
    """1-based line and 1-based column in Unicode code points."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceFile:
    """A file as read.  `path` is the display path (relative where possible, forward slashes); `data` the raw bytes.

    Offsets are bytes into `data`.  Lines end at LF, CR or CRLF.
    """

    path: str
    data: bytes
    language: str

    @cached_property
    def line_starts(self) -> list[int]:
        """Byte offset of the first byte of each line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.data))]

    def line_of(self, offset: int) -> int:
        """1-based line number of a byte offset."""
        return bisect.bisect_right(self.line_starts, max(0, min(offset, len(self.data))))

    def position(self, offset: int) -> Position:
        offset = max(0, min(offset, len(self.data)))
        line = self.line_of(offset)
        prefix = self.data[self.line_starts[line - 1] : offset]
        return Position(line, len(prefix.decode("utf-8", "replace")) + 1)

    def line_text(self, line: int) -> str:
        """The text of a 1-based line without its line end; '' past the end."""
        starts = self.line_starts
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.data)
        return self.data[starts[line - 1] : end].rstrip(b"\r\n").decode("utf-8", "replace")


class Resolver(Protocol):
    """Finds other files of the same project.  Returns None for what is not there; never raises."""

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        """The file that `from <'.'*level><module> import ...` in `importer` means."""
        ...

    def include(self, name: str, includer: str) -> SourceFile | None:
        """The file that `#include "name"` in `includer` means."""
        ...


class NoResolver:
    """Resolves nothing: for single files and standard input."""

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        return None

    def include(self, name: str, includer: str) -> SourceFile | None:
        return None
