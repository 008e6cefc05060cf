"""The format for people: a code frame per finding, then a footer that says what was hidden."""

from __future__ import annotations

import textwrap

from kernlint.finding import Confidence, Finding, Verdict
from kernlint.report.frame import Mark, code_frame, gutter_width
from kernlint.report.paint import FAINT, FRAME, HELP, SEVERITY_STYLE, STRONG, Line, paint
from kernlint.report.place import Place, locate
from kernlint.report.statistics import statistics_lines
from kernlint.report.summary import closing_lines
from kernlint.report.text import one_line
from kernlint.report_data import Report

_RELATED_SHOWN = 8


def render(report: Report, *, color: bool, width: int) -> str:
    lines: list[Line] = []
    for finding in report.findings:
        lines += [*_finding_lines(finding, report, max(40, width)), []]
    if report.statistics:
        lines += [*statistics_lines(report), []]
    return paint([*lines, *closing_lines(report)], color)


def _finding_lines(finding: Finding, report: Report, width: int) -> list[Line]:
    style = SEVERITY_STYLE[finding.severity]
    place = locate(finding.span, report.sources)
    related = [(locate(item.span, report.sources), item.message) for item in finding.related[:_RELATED_SHOWN]]
    source = report.sources.get(place.path)

    label = f"... to line {place.last_line}" if place.last_line > place.line else ""
    marks = [Mark(place.line, place.column, place.end_column, label, style, primary=True)]
    marks += [_mark(where, what) for where, what in related if where.path == place.path and where.known]
    elsewhere = [(where, what) for where, what in related if where.path != place.path or not where.known]
    gutter = max(
        [gutter_width(marks, source)]
        + [gutter_width([_mark(where, "")], report.sources.get(where.path)) for where, _ in elsewhere]
    )

    lines: list[Line] = [
        [
            (f"{finding.severity.label} {finding.code}", style),
            (f" {finding.name}: ", STRONG),
            (one_line(finding.message), STRONG),
        ],
        [(" " * gutter + "--> ", FRAME), (place.text, "")],
    ]
    border: Line = [(" " * gutter + " |", FRAME)]
    if source is not None:
        lines += [border, *code_frame(source, marks, gutter, width), border]
    for where, what in elsewhere:
        lines.append([(" " * gutter + "::: ", FRAME), (where.text, "")])
        other = report.sources.get(where.path)
        if other is None:
            lines.append([(" " * gutter + " = ", FRAME), (one_line(what), "")])
        else:
            lines += [border, *code_frame(other, [_mark(where, what)], gutter, width), border]
    if len(finding.related) > _RELATED_SHOWN:
        lines.append([(" " * gutter + " = ", FRAME), (f"{len(finding.related) - _RELATED_SHOWN} more places", FAINT)])
    doubt = _doubt(finding)
    if doubt:
        lines.append([(" " * gutter + " = ", FRAME), (doubt, FAINT)])
    return lines + _help_lines(finding.help, width)


def _mark(place: Place, label: str) -> Mark:
    return Mark(place.line, place.column, place.end_column, label)


def _doubt(finding: Finding) -> str:
    """Confidence below high, and the verdict of an experiment."""
    parts = []
    if finding.confidence < Confidence.HIGH:
        parts.append(f"confidence: {finding.confidence.label}")
    if finding.verdict is not Verdict.SUSPECTED:
        parts.append(f"verdict: {finding.verdict.value}")
    return ", ".join(parts)


def _help_lines(text: str, width: int) -> list[Line]:
    wrapped = textwrap.wrap(one_line(text), max(20, width - 6), break_long_words=False, break_on_hyphens=False)
    return [[("help: " if first else " " * 6, HELP), (line, "")] for first, line in _with_first(wrapped)]


def _with_first(lines: list[str]) -> list[tuple[bool, str]]:
    return [(index == 0, line) for index, line in enumerate(lines)]
