"""What is said once per run, the same in every format for people."""

from __future__ import annotations

from collections import Counter

from kernlint.finding import Severity
from kernlint.report.paint import FAINT, LEVEL_STYLE, STRONG, Line
from kernlint.report.text import counted, one_line, printable
from kernlint.report_data import Notification, Report


def severity_counts(report: Report) -> dict[str, int]:
    """Findings per severity, worst first, zeros included."""
    counts = Counter(finding.severity for finding in report.findings)
    return {severity.label: counts[severity] for severity in sorted(Severity, reverse=True)}


def headline(report: Report) -> str:
    """`2 errors and 1 warning in 2 files (7 files looked at, 9 kernels)`, or that there is nothing."""
    looked = f"{counted(report.files, 'file')} looked at, {counted(report.kernels, 'kernel')}"
    if not report.findings:
        return f"No findings ({looked})"
    parts = [
        counted(count, label, label if label == "info" else "")
        for label, count in severity_counts(report).items()
        if count
    ]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    paths = {finding.span.path for finding in report.findings}
    return f"{listed} in {counted(len(paths), 'file')} ({looked})"


def hidden_text(report: Report) -> str:
    """`Hidden: needs --pedantic (3), suppressed in the source (1)`, '' when nothing is."""
    hidden = [f"{reason} ({count})" for reason, count in report.hidden.items() if count]
    return f"Hidden: {', '.join(hidden)}" if hidden else ""


def notification_text(notification: Notification) -> str:
    """The message with the rule and file it is about, on one line."""
    about = [item for item in (notification.rule, notification.path) if item]
    where = f" ({printable(', '.join(about))})" if about else ""
    return f"{one_line(notification.message)}{where}"


def notification_texts(report: Report) -> list[tuple[str, str]]:
    """(level, text) of the notifications; what is said of several files is said once, naming the first."""
    groups: dict[tuple[str, str, str | None], list[Notification]] = {}
    for item in report.notifications:
        groups.setdefault((item.level, item.message, item.rule), []).append(item)
    texts = []
    for (level, _, _), items in groups.items():
        more = f" and {counted(len(items) - 1, 'more file')}" if len(items) > 1 else ""
        texts.append((level, notification_text(items[0]) + more))
    return texts


def closing_lines(report: Report) -> list[Line]:
    """Notifications, stale baseline entries, and the footer."""
    lines: list[Line] = [
        [(f"{level}: ", LEVEL_STYLE.get(level, STRONG)), (text, "")] for level, text in notification_texts(report)
    ]
    if report.stale_baseline:
        lines.append([("warning: ", LEVEL_STYLE["warning"]), (stale_text(report), "")])
        lines += [[("  " + one_line(entry), "")] for entry in report.stale_baseline]
    lines.append([(headline(report), STRONG)])
    hidden = hidden_text(report)
    if hidden:
        lines.append([(hidden, FAINT)])
    return lines


def stale_text(report: Report) -> str:
    """How many baseline entries no longer occur, and what to do."""
    entries = counted(len(report.stale_baseline), "baseline entry is", "baseline entries are")
    return f"{entries} no longer found; --update-baseline removes what is stale"
