"""The rules table of a SARIF run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sarif_om

from kernlint.finding import Finding, Severity
from kernlint.ledger import measured_precision, precision_word
from kernlint.report.documentation import paragraphs, rule_markdown
from kernlint.report.text import clean, first_sentence
from kernlint.rule import Rule

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
# Scores for the kinds that corrupt or disclose memory; their presence turns a rule into a security rule on GitHub.
_SECURITY_SEVERITIES = {"oob-edge": "7.5", "int-overflow": "7.5", "uninit": "5.0", "race": "5.0", "alignment": "4.0"}
_DESCRIPTION_LIMIT = 1024  # GitHub cuts longer ones
_NAME_LIMIT = 255
_TAG_LIMIT = 10


def rule_descriptors(rules: Sequence[type[Rule]], findings: Iterable[Finding], *, security: bool) -> list[Any]:
    """A descriptor per rule, sorted by code: all enabled rules, and any other that a finding names."""
    table = {rule.code: _descriptor(rule, security) for rule in rules}
    for finding in findings:
        if finding.code not in table:
            table[finding.code] = _bare_descriptor(finding, security)
    return [table[code] for code in sorted(table)]


def _descriptor(rule: type[Rule], security: bool) -> Any:
    summary, why = " ".join(paragraphs(rule.summary)), " ".join(paragraphs(rule.why))
    advice = "\n\n".join(paragraphs(rule.advice))
    markdown = rule_markdown(rule).partition("\n\n")[2]  # the page shows the title itself
    return _build(
        rule.code,
        rule.name,
        short=first_sentence(summary),
        full=f"{summary} {why}",
        help=sarif_om.MultiformatMessageString(text=clean(f"{why}\n\n{advice}"), markdown=clean(markdown)),
        severity=rule.severity,
        properties=_properties(rule.code, rule.kind, [item.value for item in rule.frameworks], rule.severity, security),
    )


def _bare_descriptor(finding: Finding, security: bool) -> Any:
    """For a finding whose rule is not among the enabled ones: what the finding itself says."""
    words = finding.name.replace("-", " ") or finding.code
    sentence = f"{words[:1].upper()}{words[1:]}."
    return _build(
        finding.code,
        finding.name,
        short=sentence,
        full=sentence,
        help=sarif_om.MultiformatMessageString(text=clean(finding.help) or sentence),
        severity=finding.severity,
        properties=_properties(finding.code, finding.kind, [], finding.severity, security),
    )


def _build(code: str, name: str, *, short: str, full: str, help: Any, severity: Severity, properties: Any) -> Any:
    return sarif_om.ReportingDescriptor(
        id=code,
        name=clean(name)[:_NAME_LIMIT],
        short_description=sarif_om.MultiformatMessageString(text=_description(short)),
        full_description=sarif_om.MultiformatMessageString(text=_description(full)),
        help=help,
        default_configuration=sarif_om.ReportingConfiguration(level=LEVELS[severity]),
        properties=properties,
    )


def _description(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _DESCRIPTION_LIMIT else text[: _DESCRIPTION_LIMIT - 3].rstrip() + "..."


def _properties(code: str, kind: str, frameworks: list[str], severity: Severity, security: bool) -> dict[str, Any]:
    scored = security and kind in _SECURITY_SEVERITIES
    tags = [f"kernlint/{kind}", *sorted(frameworks), "gpu", *(["security"] if scored else [])]
    properties: dict[str, Any] = {
        "tags": tags[:_TAG_LIMIT],
        "precision": precision_word(code),
        "problem.severity": _PROBLEM_SEVERITIES[severity],
    }
    if scored:
        properties["security-severity"] = _SECURITY_SEVERITIES[kind]
    measured = measured_precision().get(code)
    if measured is not None and measured.sampled:
        properties["kernlint/measuredPrecision"] = round(measured.value, 4)
        properties["kernlint/triagedFindings"] = measured.sampled
    return properties
