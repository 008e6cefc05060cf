"""Reports: one module per output format.  They know findings and sources, nothing of how either was made.

`render` never raises on odd findings, and its text can always be encoded as UTF-8.  The modules are imported when their
format is asked for, since some need heavy libraries.
"""

from __future__ import annotations

import importlib

from kernlint.report_data import Report

_RENDERERS = {
    "full": ("full", "render"),
    "concise": ("concise", "render"),
    "json": ("json_format", "render_json"),
    "jsonl": ("json_format", "render_jsonl"),
    "sarif": ("sarif", "render"),
    "github": ("github", "render"),
    "gitlab": ("gitlab", "render"),
    "junit": ("junit", "render"),
    "agent": ("agent", "render"),
}
FORMATS: tuple[str, ...] = tuple(_RENDERERS)


def render(format_name: str, report: Report, *, color: bool = False, width: int = 100) -> str:
    """The report in one of `FORMATS`, ending in a line end unless empty.  `color` and `width` (terminal cells) matter
    to `full` and `concise` only.  Raises KeyError on another format name."""
    module, function = _RENDERERS[format_name]
    renderer = getattr(importlib.import_module(f"kernlint.report.{module}"), function)
    text: str = renderer(report, color=color, width=width)
    return text


def statistics(report: Report, *, color: bool = False) -> str:
    """Counts per rule as a table, '' without findings.  `full` and `concise` show it when `report.statistics`."""
    from kernlint.report.statistics import statistics as table

    return table(report, color=color)


def job_summary(report: Report) -> str:
    """Markdown for the file named by GITHUB_STEP_SUMMARY."""
    from kernlint.report.github import job_summary as summary

    return summary(report)
