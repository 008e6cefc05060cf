"""After the rules: suppressions, and the rules about the linting itself (`Rule.check_file`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlint.engine.check import FileResult, Settings, internal_error, sorted_findings
from kernlint.engine.selection import Selection, nearest_label
from kernlint.finding import Finding
from kernlint.records import dataclass
from kernlint.report_data import Notification
from kernlint.rule import FileFacts, Rule
from kernlint.source.file import SourceFile
from kernlint.source.suppressions import Suppression, SuppressionUse


@dataclass(frozen=True, slots=True)
class Sifted:
    """Findings of one file after its suppressions, and the uses of these."""

    visible: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    uses: tuple[SuppressionUse, ...]
    notifications: tuple[Notification, ...] = ()


def sift(
    source: SourceFile,
    findings: Iterable[Finding],
    suppressions: Sequence[Suppression],
    settings: Settings,
    known: Sequence[type[Rule]],
) -> Sifted:
    """Take out what the file's suppression comments cover.

    A finding is covered when a comment's lines meet the lines of its primary span.  Selectors count as idle only when
    every rule they name is active.
    """
    everything = Selection(known)
    named = [{s: everything.codes(s) for s in suppression.selectors} for suppression in suppressions]
    used: set[tuple[int, str]] = set()
    visible: list[Finding] = []
    suppressed: list[Finding] = []
    for finding in findings:
        first, last = source.line_of(finding.span.start), source.line_of(max(finding.span.start, finding.span.end - 1))
        hits = [
            (number, selector)
            for number, suppression in enumerate(suppressions)
            if suppression.covers(first, last)
            for selector, codes in named[number].items()
            if finding.code in codes
        ]
        used.update(hits)
        (suppressed if hits else visible).append(finding)
    active = {rule.code for rule in settings.rules}
    uses = tuple(
        SuppressionUse(
            suppression,
            idle=tuple(
                s for s, codes in named[number].items() if codes and codes <= active and (number, s) not in used
            ),
            unknown=tuple((s, nearest_label(s, known)) for s, codes in named[number].items() if not codes),
        )
        for number, suppression in enumerate(suppressions)
    )
    return Sifted(tuple(visible), tuple(suppressed), uses)


def finish(source: SourceFile, result: FileResult, settings: Settings, known: Sequence[type[Rule]]) -> Sifted:
    """Suppressions first, then `check_file` of every rule, whose findings can be suppressed in turn.

    A comment may suppress what is said about itself, and is then not unused; so `check_file` is asked a second time,
    knowing what its own first findings used.
    """
    sifted = sift(source, result.findings, result.suppressions, settings, known)
    for _ in range(2 if result.suppressions else 1):
        facts = FileFacts(source.path, result.problem, sifted.uses, result.overruns)
        own, notes = _check_file(facts, settings)
        sifted = sift(source, (*result.findings, *own), result.suppressions, settings, known)
    return Sifted(sorted_findings(sifted.visible), sorted_findings(sifted.suppressed), sifted.uses, notes)


def _check_file(facts: FileFacts, settings: Settings) -> tuple[list[Finding], tuple[Notification, ...]]:
    """What the rules about the linting itself find; a rule that raises costs one notification."""
    own: list[Finding] = []
    notes: list[Notification] = []
    for rule in settings.rules:
        try:
            own += rule().check_file(facts)
        except Exception as error:
            notes.append(internal_error("checking this file", error, facts.path, rule.code))
    return own, tuple(notes)
