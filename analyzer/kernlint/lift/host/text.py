"""Python source as a syntax tree with byte positions."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

from kernlint.ir.types import Span
from kernlint.records import dataclass
from kernlint.source.file import SourceFile

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Why a file has no syntax tree, and where the parser stopped (a byte offset)."""

    reason: str
    offset: int


class PythonText:
    """A parsed file: `tree`, and byte spans of its nodes.

    `ast` counts columns in UTF-8 bytes of the decoded line, which are the file's own bytes unless it is declared to be
    in another encoding or starts with a byte order mark.
    """

    __slots__ = ("_bom", "_encoding", "_starts", "source", "tree")

    def __init__(self, source: SourceFile, tree: ast.Module, encoding: str) -> None:
        self.source = source
        self.tree = tree
        self._starts = source.line_starts
        self._bom = len(_BOM) if source.data.startswith(_BOM) else 0
        self._encoding = encoding

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a 1-based line and a 0-based UTF-8 column as `ast` gives them."""
        line = max(1, min(line, len(self._starts)))
        start = self._starts[line - 1] + (self._bom if line == 1 else 0)
        if self._encoding and column:
            text = self.source.data[start:].split(b"\n", 1)[0].decode(self._encoding, "replace")
            column = len(text.encode("utf-8")[:column].decode("utf-8", "ignore").encode(self._encoding, "replace"))
        return min(start + column, len(self.source.data))

    def span(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword | ast.alias | ast.excepthandler) -> Span:
        last = node.end_lineno
        if not self._encoding and node.lineno > 1 and last is not None and last <= len(self._starts):
            # nearly every node: columns are bytes of the file already
            starts = self._starts
            start = starts[node.lineno - 1] + node.col_offset
            return Span(self.source.path, start, max(start, starts[last - 1] + (node.end_col_offset or 0)))
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return Span(self.source.path, start, max(start, end))

    def name_span(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Span:
        """The name in a definition's header."""
        start = self.offset(node.lineno, node.col_offset)
        found = self.source.data.find(node.name.encode("utf-8", "replace"), start)
        if found < 0:
            return Span(self.source.path, start, start)
        return Span(self.source.path, found, found + len(node.name.encode("utf-8", "replace")))

    def code(self, node: ast.expr, limit: int = 80) -> str:
        """The node's text as written, on one line, for messages."""
        return self.code_at(self.span(node), limit)

    def code_at(self, span: Span, limit: int = 80) -> str:
        """The text of a span on one line, shortened to `limit` characters."""
        text = self.source.data[span.start : min(span.end, span.start + 4 * limit)].decode("utf-8", "replace")
        text = " ".join(text.split())
        return text if len(text) <= limit else text[: limit - 1] + "…"


def parse_python(source: SourceFile) -> PythonText | ParseFailure:
    """Parse a file; never raises.  Python 2, null bytes, undecodable and too deeply nested text are failures."""
    data = source.data
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data, filename="<source>")
    except SyntaxError as error:
        line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        starts = source.line_starts
        start = starts[max(0, min(line, len(starts)) - 1)]
        return ParseFailure(f"syntax error: {error.msg}", min(start + column, len(data)))
    except (ValueError, UnicodeError) as error:
        return ParseFailure(f"not Python text: {error}", max(data.find(b"\0"), 0))
    except (RecursionError, MemoryError):
        return ParseFailure("too deeply nested to parse", 0)
    return PythonText(source, tree, _declared_encoding(data))


def _declared_encoding(data: bytes) -> str:
    """The encoding named in the first two lines when it is not UTF-8, else ''."""
    if b"coding" not in data[:400]:
        return ""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeError, LookupError):
        return ""
    return "" if encoding in ("utf-8", "utf-8-sig") else encoding
