"""One line per finding: `path:line:column: CODE name message`."""

from __future__ import annotations

from kernlint.report.paint import SEVERITY_STYLE, STRONG, Line, paint
from kernlint.report.place import locate
from kernlint.report.statistics import statistics_lines
from kernlint.report.summary import closing_lines
from kernlint.report.text import one_line
from kernlint.report_data import Report


def render(report: Report, *, color: bool, width: int) -> str:
    lines: list[Line] = []
    for finding in report.findings:
        lines.append(
            [
                (locate(finding.span, report.sources).text, STRONG),
                (": ", ""),
                (finding.code, SEVERITY_STYLE[finding.severity]),
                (f" {finding.name} {one_line(finding.message)}", ""),
            ]
        )
    if report.statistics:
        lines += [[], *statistics_lines(report), []]
    return paint([*lines, *closing_lines(report)], color)
