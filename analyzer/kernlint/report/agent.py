"""Few tokens for coding agents: paths once, no frames, each help text once."""

from __future__ import annotations

from kernlint.finding import Confidence, Finding
from kernlint.report.place import locate
from kernlint.report.summary import headline, hidden_text, notification_texts, stale_text
from kernlint.report.text import one_line, printable
from kernlint.report_data import Report


def render(report: Report, *, color: bool, width: int) -> str:
    lines: list[str] = []
    path = None
    helped: set[str] = set()
    for finding in report.findings:
        if finding.span.path != path:
            path = finding.span.path
            lines.append(printable(path))
        lines += _finding_lines(finding, report)
        fix = one_line(finding.help)
        if fix and fix not in helped:
            helped.add(fix)
            lines.append(f"  fix: {fix}")
    lines += [f"{level}: {text}" for level, text in notification_texts(report)]
    if report.stale_baseline:
        lines.append(stale_text(report))
    lines.append(headline(report))
    hidden = hidden_text(report)
    if hidden:
        lines.append(hidden)
    return "\n".join(lines) + "\n"


def _finding_lines(finding: Finding, report: Report) -> list[str]:
    place = locate(finding.span, report.sources)
    doubt = "" if finding.confidence is Confidence.HIGH else f" ({finding.confidence.label} confidence)"
    at = f"{place.line}:{place.column}" if place.known else "-"
    kernel = f" in {printable(finding.kernel)}" if finding.kernel else ""
    lines = [f"{at} {finding.severity.label} {finding.code} {finding.name}{kernel}{doubt}: {one_line(finding.message)}"]
    for item in finding.related:
        where = locate(item.span, report.sources)
        at = f"{where.line}:{where.column}" if where.path == place.path else where.text
        lines.append(f"  see {at}: {one_line(item.message)}")
    return lines
