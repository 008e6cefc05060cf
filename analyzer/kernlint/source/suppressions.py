"""Suppression comments: `kernlint: ignore[RULE, ...]: reason`, after `#`, `//` or inside `/* */`.

`ignore` covers the line it stands on, `ignore-next` the next line that holds more than a comment, `ignore-file` the
whole file.  RULE is a code (`KL201`), a name (`shared-memory-race`) or a family (`KL2`, `sync`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernlint.ir.types import Span
from kernlint.records import dataclass
from kernlint.source.comments import Comment, find_comments

if TYPE_CHECKING:
    from kernlint.source.file import SourceFile

LINE, NEXT, FILE = "ignore", "ignore-next", "ignore-file"

MARKER = b"kernlint:"

_DIRECTIVE = re.compile(rb"kernlint:[ \t]*(?P<what>[A-Za-z_-]*)(?P<rest>[^\r\n]*)")
_BODY = re.compile(rb"[ \t]*\[(?P<rules>[^\]\r\n]*)\][ \t]*(?::[ \t]*(?P<reason>.*))?")
_FORM = "`kernlint: ignore[rule-name]: reason`"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One suppression comment.  `first`..`last` are the 1-based lines it covers, inclusive; for a whole file both are
    0.  `problem` says why it cannot take effect; empty when it can."""

    scope: str
    selectors: tuple[str, ...]
    reason: str
    span: Span
    first: int = 0
    last: int = 0
    problem: str = ""

    def covers(self, first: int, last: int) -> bool:
        """Whether a finding on these lines (1-based, inclusive) is within reach."""
        return not self.problem and (self.scope == FILE or (self.first <= last and first <= self.last))


@dataclass(frozen=True, slots=True)
class SuppressionUse:
    """A suppression and what became of it.

    `idle` are its selectors that suppressed nothing although their rules ran, `unknown` maps selectors that name no
    rule to the nearest name ('' when nothing is near).
    """

    suppression: Suppression
    idle: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()


def find_suppressions(source: SourceFile) -> tuple[Suppression, ...]:
    """All suppression comments of a file, in order.  Text inside strings does not count, unless it is CUDA."""
    if MARKER not in source.data:
        return ()
    comments = find_comments(source.data, source.language)
    found: list[Suppression] = []
    for comment in comments:
        text = source.data[comment.start : comment.end]
        for match in _DIRECTIVE.finditer(text):
            if not text[: match.start()].strip(b"#/*! \t\r\n-") or text[: match.start()].rstrip()[-1:] in b"#/*;":
                found.append(_read(source, comment, comments, match))
    return tuple(found)


def _read(source: SourceFile, comment: Comment, comments: list[Comment], match: re.Match[bytes]) -> Suppression:
    start = comment.start + match.start()
    rest = match["rest"]
    if comment.block and rest.rstrip().endswith(b"*/"):
        rest = rest.rstrip()[:-2]
    end = comment.start + match.start("rest") + len(rest.rstrip())
    span = Span(source.path, start, end)
    scope = match["what"].decode("ascii", "replace")
    if scope not in (LINE, NEXT, FILE):
        return Suppression(LINE, (), "", span, problem=f"`{scope}` is no kernlint directive; write {_FORM}")
    body = _BODY.fullmatch(rest.rstrip())
    if body is None:
        return Suppression(scope, (), "", span, problem=f"it does not have the form {_FORM}")
    names = [name.strip().decode("utf-8", "replace") for name in body["rules"].split(b",")]
    selectors = tuple(dict.fromkeys(name for name in names if name))
    if not selectors:
        return Suppression(scope, (), "", span, problem="it names no rule")
    reason = (body["reason"] or b"").decode("utf-8", "replace").strip()
    if scope == FILE:
        return Suppression(scope, selectors, reason, span)
    line = source.line_of(start)
    if scope == NEXT:
        line = _next_code_line(source, comment, comments)
    return Suppression(scope, selectors, reason, span, line, line)


def _next_code_line(source: SourceFile, comment: Comment, comments: list[Comment]) -> int:
    """The first line after `comment` that holds something besides blanks and comments."""
    line = source.line_of(max(comment.start, comment.end - 1)) + 1
    later = [c for c in comments if c.start >= comment.end]
    starts = source.line_starts
    while line < len(starts):
        at, end = starts[line - 1], starts[line]
        while later and later[0].end <= at:
            later.pop(0)
        rest = source.data[at:end]
        for other in later:
            if other.start >= end:
                break
            begin = max(other.start, at)
            rest = rest[: begin - at] + b" " * (min(other.end, end) - begin) + rest[min(other.end, end) - at :]
        if rest.strip():
            break
        line += 1
    return min(line, len(starts))
