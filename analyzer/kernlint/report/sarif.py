"""SARIF 2.1.0 for GitHub code scanning and other readers.

What GitHub reads, rejects and silently drops decides the shape: one run, a stable rules table, a primary region of one
line with four coordinates, relative URIs, GitHub's own line hash, no suppressed or baselined results (it would open
alerts for them), at most 5,000 results.  No clock, no machine, no absolute path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sarif_om

from kernlint.finding import Finding, Related, Verdict
from kernlint.fingerprint import finding_fingerprints, primary_location_line_hashes
from kernlint.ledger import precision_of
from kernlint.report.place import Place, is_outside, locate, repository_path, repository_uri
from kernlint.report.sarif_document import document_text
from kernlint.report.sarif_rules import LEVELS, rule_descriptors
from kernlint.report.text import clean, counted, one_line, plain_data
from kernlint.report_data import Notification, Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RESULT_LIMIT = 5000  # GitHub keeps 5,000 of up to 25,000 results of a run
RELATED_LIMIT = 100  # GitHub keeps 100 locations of a result
_INCOMPLETE = {
    "KL001": "A part of this file could not be parsed and was not checked.",
    "KL004": "The analysis of this file stopped at its budget; findings may be missing.",
    "KL005": "This file could not be read.",
}
_SEMANTIC_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_PLACEHOLDER = re.compile(r"\{(\d+)\}")


def render(report: Report, *, color: bool, width: int) -> str:
    # By the path in the repository: the order must not depend on the folder the run was started in.
    ordered = sorted(report.findings, key=lambda finding: repository_path(finding.span.path, report))
    findings, dropped = _kept(ordered)
    descriptors = rule_descriptors(report.rules, report.findings, security=report.security)
    index = {descriptor.id: number for number, descriptor in enumerate(descriptors)}
    category = report.sarif_category.strip("/")
    run = sarif_om.Run(
        tool=sarif_om.Tool(driver=_driver(report.version, descriptors)),
        automation_details=sarif_om.RunAutomationDetails(id=f"kernlint/{category}/" if category else "kernlint/"),
        column_kind="unicodeCodePoints",
        invocations=[
            sarif_om.Invocation(
                execution_successful=report.execution_successful,
                tool_execution_notifications=_notifications(report, index, dropped),
            )
        ],
        results=_results(findings, report, index),
    )
    return document_text(sarif_om.SarifLog(runs=[run], version="2.1.0", schema_uri=SCHEMA))


def _driver(version: str, descriptors: list[Any]) -> Any:
    semantic = _SEMANTIC_VERSION.match(version)
    return sarif_om.ToolComponent(
        name="kernlint",
        version=version or None,
        semantic_version=semantic.group() if semantic else None,
        rules=descriptors,
    )


def _kept(findings: Sequence[Finding]) -> tuple[Sequence[Finding], int]:
    """At most 5,000 findings, chosen by severity, then precision, then order; and how many are left out."""
    if len(findings) <= RESULT_LIMIT:
        return findings, 0
    ranked = sorted(
        range(len(findings)),
        key=lambda at: (-findings[at].severity, -(precision_of(findings[at].code) or 0.0), at),
    )
    return [findings[at] for at in sorted(ranked[:RESULT_LIMIT])], len(findings) - RESULT_LIMIT


# -- results -----------------------------------------------------------------------------------------------------


def _results(findings: Sequence[Finding], report: Report, index: Mapping[str, int]) -> list[Any]:
    sources = report.sources
    advice = {rule.code: rule.advice for rule in report.rules}
    prints = finding_fingerprints(findings, sources)
    results = []
    path, hashes = None, list[str]()
    for finding, identity in zip(findings, prints, strict=True):
        if finding.span.path != path:
            path = finding.span.path
            source = sources.get(path)
            hashes = primary_location_line_hashes(source.data) if source is not None else []
        place = locate(finding.span, sources)
        partial = {"kernlint/v1": identity}
        if hashes:
            partial["primaryLocationLineHash"] = hashes[place.line - 1]
        related = [(locate(item.span, sources), item) for item in finding.related[:RELATED_LIMIT]]
        results.append(
            sarif_om.Result(
                rule_id=finding.code,
                rule_index=index[finding.code],
                level=LEVELS[finding.severity],
                message=sarif_om.Message(text=_message(finding, related, advice.get(finding.code, ""))),
                locations=[_location(place, report)],
                related_locations=[
                    _location(where, report, number, item.message) for number, (where, item) in enumerate(related, 1)
                ]
                or None,
                partial_fingerprints=partial,
                properties=_properties(finding),
            )
        )
    return results


def _message(finding: Finding, related: Sequence[tuple[Place, Related]], advice: str) -> str:
    """The finding's own sentences, links to the related places, and its help where that is more than the rule's."""
    parts = [_sentence(_literal(finding.message))]
    links = [_link(number, where, item.message) for number, (where, item) in enumerate(related, 1)]
    if links:
        parts.append(_sentence(f"See {'; '.join(links)}"))
    if finding.help and one_line(finding.help) != one_line(advice):
        parts.append(_sentence(_literal(finding.help)))
    return " ".join(parts)


def _link(number: int, place: Place, message: str) -> str:
    """`[words](id)`.  Words with brackets in them would end the link early: then the line number is the link."""
    words = one_line(message).rstrip(".")
    if not words or "[" in words or "]" in words or "\\" in words:
        return f"[line {place.line}](" + f"{number})" + (f": {_literal(words)}" if words else "")
    return f"[{_literal(words)}]({number})"


def _literal(text: str) -> str:
    """Text that cannot be read as a link (`kernel[grid](x)`) or a placeholder (`{0}`)."""
    return _PLACEHOLDER.sub(r"{ \1 }", one_line(text)).replace("](", "] (")


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else text + "."


def _location(place: Place, report: Report, number: int = -1, message: str | None = None) -> Any:
    region = None
    if place.known or message is None:
        region = sarif_om.Region(
            start_line=place.line, start_column=place.column, end_line=place.line, end_column=place.end_column
        )
    context = None
    if place.last_line > place.line:
        context = sarif_om.Region(start_line=place.line, end_line=place.last_line)
    return sarif_om.Location(
        id=number,
        message=None if message is None else sarif_om.Message(text=_literal(message) or "Related place."),
        physical_location=sarif_om.PhysicalLocation(
            artifact_location=sarif_om.ArtifactLocation(uri=repository_uri(place.path, report)),
            region=region,
            context_region=context,
        ),
    )


def _properties(finding: Finding) -> dict[str, Any]:
    properties: dict[str, Any] = {"kind": finding.kind, "confidence": finding.confidence.label}
    if finding.kernel:
        properties["kernel"] = clean(finding.kernel)
    if finding.verdict is not Verdict.SUSPECTED:
        properties["verdict"] = finding.verdict.value
    if finding.evidence:
        properties["evidence"] = plain_data(finding.evidence)
    return properties


# -- notifications -----------------------------------------------------------------------------------------------


def _notifications(report: Report, index: Mapping[str, int], dropped: int) -> list[Any]:
    """What the run says about itself: the engine's notifications, unread files, results that were left out."""
    items = list(report.notifications)
    incomplete = {(f.span.path, f.code) for f in report.findings if f.code in _INCOMPLETE}
    items += [Notification("warning", _INCOMPLETE[code], path, code) for path, code in sorted(incomplete)]
    outside = sorted({f.span.path for f in report.findings if is_outside(f.span.path, report)})
    if outside:
        text = (
            f"{counted(len(outside), 'path')} outside the repository are written without their root; "
            "run kernlint from the top of the repository."
        )
        items.append(Notification("warning", text))
    if dropped:
        text = f"{counted(dropped, 'result')} left out: a run holds {RESULT_LIMIT}, by severity, then precision."
        items.append(Notification("warning", text))
    return [_notification(item, report, index) for item in items]


def _notification(item: Notification, report: Report, index: Mapping[str, int]) -> Any:
    location = None
    if item.path:
        physical = sarif_om.PhysicalLocation(
            artifact_location=sarif_om.ArtifactLocation(uri=repository_uri(item.path, report))
        )
        location = [sarif_om.Location(physical_location=physical)]
    rule = None
    if item.rule is not None and item.rule in index:
        rule = sarif_om.ReportingDescriptorReference(id=item.rule, index=index[item.rule])
    return sarif_om.Notification(
        level=item.level if item.level in ("error", "warning", "note") else "warning",
        message=sarif_om.Message(text=_literal(item.message) or "No message."),
        locations=location,
        associated_rule=rule,
    )
