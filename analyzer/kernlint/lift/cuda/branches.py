"""Keeping one branch of a preprocessor conditional that splits a construct."""

from __future__ import annotations

import bisect
import re
from dataclasses import field

from kernlint.lift.cuda.blanking import Edit
from kernlint.records import dataclass

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(?P<word>if|ifdef|ifndef|elif|elifdef|else|endif)\b(?:\\\r?\n|[^\n])*", re.MULTILINE
)
MAX_LOCAL = 4000  # bytes: an error anywhere inside a conditional no longer than this counts as caused by it


@dataclass(slots=True)
class Conditional:
    """`directives` are the (start, end) of `#if`, each `#elif`/`#else`, and `#endif`."""

    directives: list[tuple[int, int]] = field(default_factory=list)
    condition: bytes = b""

    @property
    def start(self) -> int:
        return self.directives[0][0]

    @property
    def end(self) -> int:
        return self.directives[-1][1]

    def keep(self, branch: int) -> list[Edit]:
        """Edits that leave only this branch (0 is the first, -1 the last)."""
        count = len(self.directives) - 1
        branch %= count
        edits = [Edit(start, end) for start, end in self.directives]
        for index in range(count):
            if index != branch:
                edits.append(Edit(self.directives[index][1], self.directives[index + 1][0]))
        return edits


def conditionals(data: bytes) -> list[Conditional]:
    """Every complete conditional, inner ones before the outer ones that contain them."""
    found: list[Conditional] = []
    stack: list[Conditional] = []
    for match in _DIRECTIVE.finditer(data):
        word = match.group("word")
        end = match.end() - (1 if match.group().endswith(b"\r") else 0)
        if word in (b"if", b"ifdef", b"ifndef"):
            stack.append(Conditional([(match.start(), end)], match.group()))
        elif stack:
            stack[-1].directives.append((match.start(), end))
            if word == b"endif":
                found.append(stack.pop())
    return found


def near_errors(found: list[Conditional], errors: list[tuple[int, int]]) -> list[Conditional]:
    """The conditionals that may be the cause of an error: a directive of theirs touches one, or they are small and
    hold one.  The outer of two nested ones is kept only when it qualifies by its own directives."""
    starts = [start for start, _ in errors]
    longest = 0
    reach: list[int] = []  # the furthest end of any error up to each one
    for _, end in errors:
        longest = max(longest, end)
        reach.append(longest)

    def touched(start: int, end: int) -> bool:
        index = bisect.bisect_right(starts, end) - 1
        return index >= 0 and reach[index] >= start

    chosen: list[Conditional] = []
    for conditional in found:
        small = conditional.end - conditional.start <= MAX_LOCAL
        if (small and touched(conditional.start, conditional.end)) or any(
            touched(start, end + 1) for start, end in conditional.directives
        ):
            chosen.append(conditional)
    return chosen
