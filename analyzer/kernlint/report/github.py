"""GitHub workflow commands, worst first, and the job summary.

A step shows ten errors and ten warnings as annotations and drops the rest without a word (actions/toolkit #734); hence
the order, the notice, and the summary.
"""

from __future__ import annotations

from kernlint.finding import Finding, Severity
from kernlint.ledger import precision_of
from kernlint.report.place import locate, repository_path
from kernlint.report.summary import headline, hidden_text, notification_text, notification_texts, stale_text
from kernlint.report.text import clean, counted, one_line
from kernlint.report_data import Report

ANNOTATION_LIMIT = 10
_SUMMARY_ROWS = 500  # a job summary holds 1 MiB
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, *, color: bool, width: int) -> str:
    lines = _limit_notice(report)
    lines += [_finding_command(finding, report) for finding in worst_first(report)]
    for item in report.notifications:
        file = {"file": repository_path(item.path, report)} if item.path else {}
        lines.append(command(_LEVELS.get(item.level, "warning"), notification_text(item), **file, title="kernlint"))
    if report.stale_baseline:
        lines.append(command("warning", stale_text(report), title="kernlint"))
    return "".join(line + "\n" for line in lines)


def worst_first(report: Report) -> list[Finding]:
    """Findings by severity, then confidence, then measured precision, then in report order."""
    return sorted(
        report.findings,
        key=lambda finding: (-finding.severity, -finding.confidence, -(precision_of(finding.code) or 0.0)),
    )


def _limit_notice(report: Report) -> list[str]:
    """Comes first: notices are limited as well."""
    over = [
        counted(count, word)
        for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
        if (count := sum(finding.severity is severity for finding in report.findings)) > ANNOTATION_LIMIT
    ]
    if not over:
        return []
    text = (
        f"GitHub shows at most {ANNOTATION_LIMIT} errors and {ANNOTATION_LIMIT} warnings of a step as annotations; "
        f"kernlint found {' and '.join(over)}. The rest is in this log and in the job summary."
    )
    return [command("notice", text, title="kernlint")]


def _finding_command(finding: Finding, report: Report) -> str:
    place = locate(finding.span, report.sources)
    text = clean(finding.message)
    for item in finding.related:
        where = locate(item.span, report.sources)
        text += f"\n{where.text}: {clean(item.message)}"
    if finding.help:
        text += f"\nhelp: {clean(finding.help)}"
    properties = {"file": repository_path(place.path, report)}
    if place.known:
        properties |= {
            "line": str(place.line),
            "col": str(place.column),
            "endLine": str(place.line),
            "endColumn": str(place.end_column),
        }
    return command(_COMMANDS[finding.severity], text, **properties, title=f"{finding.code} {finding.name}")


def command(name: str, message: str, **properties: str) -> str:
    """One workflow command, escaped as @actions/core does (docs: workflow commands)."""
    listed = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_escape(message)}"


def _escape(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def job_summary(report: Report) -> str:
    """Markdown for the file that GITHUB_STEP_SUMMARY names."""
    lines = ["### kernlint", "", f"{headline(report)}.", ""]
    shown = worst_first(report)[:_SUMMARY_ROWS]
    if shown:
        lines += ["| severity | rule | place | message |", "|---|---|---|---|"]
    for finding in shown:
        place = locate(finding.span, report.sources)
        where = f"`{_cell(repository_path(place.path, report)).replace('`', '')}:{place.line}`"
        rule = f"{finding.code} {finding.name}"
        lines.append(f"| {finding.severity.label} | {rule} | {where} | {_cell(finding.message)} |")
    if len(shown) < len(report.findings):
        lines += ["", f"{len(report.findings) - len(shown)} more are in the log."]
    if report.notifications:
        lines += ["", *(f"- {level}: {_cell(text)}" for level, text in notification_texts(report))]
    hidden = hidden_text(report)
    if hidden:
        lines += ["", f"{hidden}."]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    """Text inside a table cell: no line ends, no bars, no HTML."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
