"""Which findings are shown: severity gate, per-file ignores, persona, changed lines; and counts of the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kernlint.engine.ignorefiles import Patterns
from kernlint.finding import Confidence, Finding, Severity
from kernlint.records import dataclass
from kernlint.source.file import SourceFile

if TYPE_CHECKING:
    from kernlint.engine.changes import Changes

# In the order in which they are said.
NEEDS_PEDANTIC = "needs --pedantic"
NEEDS_AUDIT = "needs --audit"
BELOW_SEVERITY = "below --min-severity"
SUPPRESSED = "suppressed in the source"
IGNORED = "ignored for this file"
BASELINED = "in the baseline"
UNCHANGED = "not on changed lines"
REASONS = (NEEDS_PEDANTIC, NEEDS_AUDIT, BELOW_SEVERITY, SUPPRESSED, IGNORED, BASELINED, UNCHANGED)

PERSONAS: Mapping[str, Confidence] = {
    "default": Confidence.HIGH,
    "pedantic": Confidence.MEDIUM,
    "audit": Confidence.LOW,
}


@dataclass(frozen=True, slots=True)
class Ignores:
    """`per-file-ignores`: patterns and the codes they switch off in files that match."""

    rows: tuple[tuple[Patterns, frozenset[str]], ...] = ()

    def ignored(self, finding: Finding) -> bool:
        path = os.path.abspath(finding.span.path)
        return any(finding.code in codes and patterns.match(path) for patterns, codes in self.rows)


@dataclass(frozen=True, slots=True)
class Filter:
    """What hides a finding.  `changes` None: no `--since`."""

    confidence: Confidence = Confidence.HIGH
    severity: Severity = Severity.INFO
    ignores: Ignores = Ignores()
    changes: Changes | None = None


def split(
    findings: Iterable[Finding], how: Filter, sources: Mapping[str, SourceFile]
) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """The findings to show, and the hidden ones by reason.  The first reason that applies counts."""
    shown: list[Finding] = []
    hidden: dict[str, list[Finding]] = {reason: [] for reason in REASONS}
    tests = _tests(how, sources)
    for finding in findings:
        reason = next((reason for reason, test in tests if test(finding)), None)
        if reason is None:
            shown.append(finding)
        else:
            hidden[reason].append(finding)
    return shown, hidden


def _tests(how: Filter, sources: Mapping[str, SourceFile]) -> Sequence[tuple[str, Callable[[Finding], bool]]]:
    changes = how.changes
    return (
        (IGNORED, how.ignores.ignored),
        (UNCHANGED, lambda finding: changes is not None and not _touched(finding, changes, sources)),
        (BELOW_SEVERITY, lambda finding: finding.severity < how.severity),
        (NEEDS_AUDIT, lambda f: f.confidence < how.confidence and f.confidence is Confidence.LOW),
        (NEEDS_PEDANTIC, lambda f: f.confidence < how.confidence),
    )


def _touched(finding: Finding, changes: Changes, sources: Mapping[str, SourceFile]) -> bool:
    """Whether the finding's place or one of its related places changed."""
    for span in (finding.span, *(related.span for related in finding.related)):
        source = sources.get(span.path)
        first = source.line_of(span.start) if source is not None else 1
        last = source.line_of(max(span.start, span.end - 1)) if source is not None else 1
        if changes.touch(span.path, first, last):
            return True
    return False
