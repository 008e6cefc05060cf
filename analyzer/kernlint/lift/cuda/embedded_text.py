"""CUDA text inside Python string expressions, with the place in the file of every byte.

Escapes, f-string holes, implicit and explicit concatenation, `.format`, `dedent` and names bound to strings are
followed; nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import field

from kernlint.lift.cuda.unit import OffsetMap
from kernlint.records import dataclass
from kernlint.source.file import SourceFile

MAX_PIECES = 20_000
MAX_TEXT = 4_000_000
MAX_DEPTH = 12
_PREFIX = re.compile(rb"[A-Za-z]{0,3}(?='|\")")
_BETWEEN = re.compile(rb"(?:\s|\\\r?\n|#[^\r\n]*|[()])*")
_ESCAPE = re.compile(
    rb"\\(?:\r\n|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}\r\n]*\}|.)", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": "", "\r\n": "", "\r": ""}
_FORMAT_HOLE = re.compile(rb"\{\{|\}\}|\{([^{}]*)\}")
_TEMPLATE_HOLE = re.compile(rb"\$\$|\$\{?([A-Za-z_]\w*)\}?")
_PERCENT_HOLE = re.compile(rb"%%|%\((\w+)\)[-+ #0-9.]*[a-zA-Z]|%[-+ #0-9.]*[dsiufgxr]")
_PASS_THROUGH = frozenset({"dedent", "strip", "lstrip", "rstrip", "cleandoc", "replace", "encode", "str", "expandtabs"})


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text and where it starts in the file; every byte of a frozen piece stands at its start."""

    text: bytes
    offset: int
    frozen: bool = False


@dataclass(slots=True)
class EmbeddedText:
    """The text a string expression evaluates to, in pieces."""

    pieces: list[Piece] = field(default_factory=list)

    @property
    def text(self) -> bytes:
        return b"".join(piece.text for piece in self.pieces)

    @property
    def offsets(self) -> OffsetMap:
        starts: list[int] = []
        offsets: list[int] = []
        frozen: set[int] = set()
        at = 0
        for piece in self.pieces:
            if not piece.text:
                continue
            if piece.frozen:
                frozen.add(len(starts))
            starts.append(at)
            offsets.append(piece.offset)
            at += len(piece.text)
        return OffsetMap(tuple(starts) or (0,), tuple(offsets) or (0,), frozenset(frozen))


class StringReader:
    """Reads string expressions of one file.  `names` maps a name to the expression it is bound to."""

    def __init__(self, source: SourceFile, names: Mapping[str, ast.expr]) -> None:
        self.source = source
        self.data = source.data
        self.names = names
        self.bom = 3 if source.data.startswith(b"\xef\xbb\xbf") else 0

    def offset(self, line: int, column: int) -> int:
        """File offset of an `ast` position."""
        starts = self.source.line_starts
        base = starts[min(line, len(starts)) - 1] + column
        return base + self.bom if line == 1 else base

    def read(self, node: ast.expr, depth: int = 0) -> EmbeddedText | None:
        """The text of a string expression; None when it is not one, or cannot be followed."""
        if depth > MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return self._literals(node, depth) if isinstance(node.value, (str, bytes)) else None
        if isinstance(node, ast.JoinedStr):
            return self._literals(node, depth)
        if isinstance(node, ast.Name):
            bound = self.names.get(node.id)
            return self.read(bound, depth + 1) if bound is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([node.left, node.right], depth, b"")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._holes(self.read(node.left, depth + 1), _PERCENT_HOLE, {}, depth)
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._joined(list(node.elts), depth, b"\n")
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        return None

    def _joined(self, parts: list[ast.expr], depth: int, separator: bytes) -> EmbeddedText | None:
        """Several expressions in a row; those that cannot be read leave a gap."""
        result = EmbeddedText()
        understood = False
        for part in parts:
            one = self.read(part, depth + 1)
            if one is not None:
                understood = True
                result.pieces += one.pieces
            else:
                where = self.offset(part.lineno, part.col_offset)
                result.pieces.append(Piece(b"\n" if not separator else b"", where, True))
            if separator and result.pieces:
                result.pieces.append(Piece(separator, result.pieces[-1].offset, True))
            if len(result.pieces) > MAX_PIECES:
                return None
        return result if understood else None

    def _call(self, node: ast.Call, depth: int) -> EmbeddedText | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if isinstance(function, ast.Attribute) and name == "format":
            return self._holes(self.read(function.value, depth + 1), _FORMAT_HOLE, keywords, depth)
        if name in ("substitute", "safe_substitute") and isinstance(function, ast.Attribute):
            template = function.value
            inner = template.args[0] if isinstance(template, ast.Call) and template.args else template
            return self._holes(self.read(inner, depth + 1), _TEMPLATE_HOLE, keywords, depth)
        if isinstance(function, ast.Attribute) and name == "join" and node.args:
            return self.read(node.args[0], depth + 1)
        if name in _PASS_THROUGH:
            method = isinstance(function, ast.Attribute) and not (name in ("dedent", "cleandoc") and node.args)
            if method and isinstance(function, ast.Attribute):
                return self.read(function.value, depth + 1)
            return self.read(node.args[0], depth + 1) if node.args else None
        return None

    def _literals(self, node: ast.expr, depth: int) -> EmbeddedText | None:
        """One or several adjacent literals, as they stand in the file."""
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        at = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno, node.end_col_offset)
        result = EmbeddedText()
        while at < end:
            between = _BETWEEN.match(self.data, at, end)
            at = between.end() if between is not None else at
            prefix = _PREFIX.match(self.data, at, end)
            if prefix is None:
                break
            at = self._one_literal(prefix.group().lower(), prefix.end(), end, result, depth)
            if len(result.pieces) > MAX_PIECES:
                return None
        return result if result.pieces else None

    def _one_literal(self, prefix: bytes, at: int, end: int, result: EmbeddedText, depth: int) -> int:
        """Append the pieces of the literal whose opening quote is at `at`; the position behind it."""
        data = self.data
        quote = data[at : at + 3] if data[at : at + 3] in (b'"""', b"'''") else data[at : at + 1]
        at += len(quote)
        raw, formatted = b"r" in prefix, b"f" in prefix
        stop = b"[\\\\{}]|" if formatted else b"\\\\|"
        special = re.compile(stop + re.escape(quote))
        start = at
        while at < end:
            match = special.search(data, at, end)
            if match is None:
                at = end
                break
            token = match.group()
            at = match.start()
            if token == quote:
                self._plain(result, start, at)
                return match.end()
            if token == b"\\":
                escape = _ESCAPE.match(data, at, end)
                if escape is None or raw:
                    at += 1 if escape is None else 2
                    continue
                self._plain(result, start, at)
                result.pieces.append(Piece(_unescaped(escape.group()), at, True))
                start = at = escape.end()
            else:
                self._plain(result, start, at)
                start = at = self._brace(result, at, end, depth)
        self._plain(result, start, at)
        return at

    def _plain(self, result: EmbeddedText, start: int, end: int) -> None:
        if end > start:
            result.pieces.append(Piece(self.data[start:end], start))

    def _brace(self, result: EmbeddedText, at: int, end: int, depth: int) -> int:
        """A `{{`, `}}` or a hole of an f-string; the position behind it."""
        data = self.data
        char = data[at : at + 1]
        if data[at + 1 : at + 2] == char:
            result.pieces.append(Piece(char, at, True))
            return at + 2
        if char == b"}":
            return at + 1
        close = _hole_end(data, at, end)
        text = data[at + 1 : close - 1].decode("utf-8", "replace")
        self._hole(result, text, at, depth)
        return close

    def _hole(self, result: EmbeddedText, text: str, at: int, depth: int, given: ast.expr | None = None) -> None:
        """What stands for an expression put into a string: its text or number when bound here, else a name."""
        expression = re.split(r"![rsa]\b|:(?![^\[]*\])|=$", text.strip())[0].strip()
        bound = given if given is not None else self.names.get(expression)
        if bound is not None:
            inner = self.read(bound, depth + 1)
            if inner is not None:
                result.pieces += inner.pieces
                return
            if isinstance(bound, ast.Constant) and isinstance(bound.value, (int, float)):
                result.pieces.append(Piece(repr(bound.value).encode(), at, True))
                return
        name = re.sub(r"\W+", "_", expression)[:60] or "hole"
        number = expression.isdigit()
        result.pieces.append(Piece((name if not number else f"arg_{name}").encode("ascii", "replace"), at, True))

    def _holes(
        self, text: EmbeddedText | None, pattern: re.Pattern[bytes], given: Mapping[str, ast.expr], depth: int
    ) -> EmbeddedText | None:
        """Replace the holes of `.format`, `%` and `Template` strings."""
        if text is None:
            return None
        result = EmbeddedText()
        for piece in text.pieces:
            at = 0
            for match in pattern.finditer(piece.text):
                where = piece.offset if piece.frozen else piece.offset + match.start()
                before = piece.text[at : match.start()]
                if before:
                    result.pieces.append(
                        Piece(before, piece.offset if piece.frozen else piece.offset + at, piece.frozen)
                    )
                token = match.group()
                if token in (b"{{", b"}}", b"%%", b"$$"):
                    result.pieces.append(Piece(token[:1], where, True))
                else:
                    name = (match.group(1) or b"").decode("utf-8", "replace") if match.lastindex else ""
                    self._hole(result, name or "hole", where, depth, given.get(name))
                at = match.end()
            if at < len(piece.text):
                rest = piece.text[at:]
                result.pieces.append(Piece(rest, piece.offset if piece.frozen else piece.offset + at, piece.frozen))
        return result


def _hole_end(data: bytes, at: int, end: int) -> int:
    """The position behind the brace that closes the hole opened at `at`."""
    depth, position = 0, at
    while position < end:
        char = data[position : position + 1]
        if char in b"{[(":
            depth += 1
        elif char in b"}])":
            depth -= 1
            if depth == 0:
                return position + 1
        elif char in b"'\"":
            close = data.find(char, position + 1, end)
            newline = data.find(b"\n", position + 1, end)
            if close >= 0 and (newline < 0 or close < newline):
                position = close
        position += 1
    return end


def _unescaped(escape: bytes) -> bytes:
    """The text of one escape sequence."""
    body = escape[1:].decode("utf-8", "replace")
    if body in _SIMPLE:
        return _SIMPLE[body].encode()
    try:
        if body[0] in "01234567":
            return chr(int(body, 8)).encode("utf-8", "replace")
        if body[0] in "xuU" and len(body) > 1:
            return chr(int(body[1:], 16)).encode("utf-8", "replace")
    except (ValueError, OverflowError):
        return b"?"
    if body.startswith("N{"):
        return b"?"
    return body.encode() if body in ("\\", "'", '"') else escape
