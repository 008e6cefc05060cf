"""JSON: one document (`json`) or one object a line (`jsonl`).  The schema is `kernlint/data/report.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kernlint.finding import Finding
from kernlint.fingerprint import finding_fingerprints
from kernlint.ledger import precision_of
from kernlint.report.place import Place, locate
from kernlint.report.statistics import rule_counts
from kernlint.report.summary import severity_counts
from kernlint.report.text import clean, plain_data
from kernlint.report_data import Notification, Report

SCHEMA_VERSION = 1


def render_json(report: Report, *, color: bool, width: int) -> str:
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "kernlint", "version": report.version},
        "summary": summary(report),
        "findings": list(findings(report)),
        "notifications": [notification(item) for item in report.notifications],
    }
    return json.dumps(document, indent=2) + "\n"


def render_jsonl(report: Report, *, color: bool, width: int) -> str:
    rows: list[dict[str, Any]] = [{"type": "finding", **item} for item in findings(report)]
    rows += [{"type": "notification", **notification(item)} for item in report.notifications]
    rows.append({"type": "summary", "schema_version": SCHEMA_VERSION, "version": report.version, **summary(report)})
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def summary(report: Report) -> dict[str, Any]:
    """Counts of the run: findings per severity, what was hidden and why, counts per rule when asked for."""
    data: dict[str, Any] = {
        "findings": len(report.findings),
        "by_severity": severity_counts(report),
        "hidden": dict(report.hidden),
        "files": report.files,
        "kernels": report.kernels,
        "complete": report.execution_successful,
        "stale_baseline": [clean(entry) for entry in report.stale_baseline],
    }
    if report.statistics:
        data["statistics"] = [
            {"count": count, "code": code, "name": name, "severity": severity}
            for count, code, name, severity in rule_counts(report)
        ]
    return data


def notification(item: Notification) -> dict[str, Any]:
    return {
        "level": item.level,
        "message": clean(item.message),
        "path": None if item.path is None else clean(item.path),
        "rule": item.rule,
    }


def findings(report: Report) -> Iterator[dict[str, Any]]:
    prints = finding_fingerprints(report.findings, report.sources)
    for finding, fingerprint in zip(report.findings, prints, strict=True):
        yield _finding(finding, fingerprint, report)


def _finding(finding: Finding, fingerprint: str, report: Report) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "kind": finding.kind,
        "severity": finding.severity.label,
        "confidence": finding.confidence.label,
        "precision": precision_of(finding.code),
        "verdict": finding.verdict.value,
        **_place(locate(finding.span, report.sources)),
        "kernel": clean(finding.kernel),
        "message": clean(finding.message),
        "help": clean(finding.help),
        "related": [
            {**_place(locate(item.span, report.sources)), "message": clean(item.message)} for item in finding.related
        ],
        "evidence": plain_data(finding.evidence),
        "fingerprint": fingerprint,
    }


def _place(place: Place) -> dict[str, Any]:
    """The whole span, over several lines where it has them."""
    return {
        "path": clean(place.path),
        "line": place.line,
        "column": place.column,
        "end_line": place.last_line,
        "end_column": place.last_column,
    }
