"""KL005: a file that could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Finding
from kernlint.ir.types import Span
from kernlint.rule import Example, FileFacts, Rule


class UnreadableFile(Rule):
    code = "KL005"
    name = "unreadable-file"
    kind = "linter"
    summary = "A file could not be read: no permission, binary, another encoding, larger than `max-file-size`."
    why = "Nothing in the file was checked.  A run that passes over it in silence would look like a clean one."
    advice = "Fix the file or its permissions, raise `max-file-size`, or leave it out with `exclude`."
    flagged = (
        Example("binary content under a source file's name", "\0\0\1__global__ //~ KL005\n"),
        Example("a string with a NUL byte", "#~ KL005\nimport triton\nx = '\0'\n", language="python"),
    )
    silent = (
        Example("bytes that are no ASCII", "// größer als null\n__global__ void nothing() {}\n"),
        Example("an empty file", ""),
    )

    def check_file(self, facts: FileFacts) -> Iterator[Finding]:
        if facts.problem:
            place = Span(facts.path, 0, 0)
            yield self.finding(
                place, f"this file was not checked: {facts.problem}.", evidence={"reason": facts.problem}
            )
