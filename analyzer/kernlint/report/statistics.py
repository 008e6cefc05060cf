"""Counts per rule, for `--statistics`."""

from __future__ import annotations

from collections import Counter

from kernlint.report.paint import SEVERITY_STYLE, STRONG, Line, paint
from kernlint.report_data import Report


def rule_counts(report: Report) -> list[tuple[int, str, str, str]]:
    """(count, code, name, severity) per rule that has findings, most frequent first, then by code."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    worst = {(f.code, f.name): f.severity for f in sorted(report.findings, key=lambda finding: finding.severity)}
    rows = [(count, code, name, worst[code, name].label) for (code, name), count in counts.items()]
    return sorted(rows, key=lambda row: (-row[0], row[1], row[2]))


def statistics(report: Report, *, color: bool = False) -> str:
    """The table as text; '' without findings."""
    return paint(statistics_lines(report), color)


def statistics_lines(report: Report) -> list[Line]:
    rows = rule_counts(report)
    if not rows:
        return []
    styles = {severity.label: style for severity, style in SEVERITY_STYLE.items()}
    count_width = max(len("count"), *(len(str(row[0])) for row in rows))
    code_width = max(len("code"), *(len(row[1]) for row in rows))
    name_width = max(len("name"), *(len(row[2]) for row in rows))
    lines: list[Line] = [
        [(f"{'count':>{count_width}}  {'code':<{code_width}}  {'name':<{name_width}}  severity", STRONG)]
    ]
    for count, code, name, severity in rows:
        lines.append(
            [
                (f"{count:>{count_width}}  {code:<{code_width}}  {name:<{name_width}}  ", ""),
                (severity, styles[severity]),
            ]
        )
    return lines
