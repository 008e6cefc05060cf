"""What a report is made from.  `kernlint.report.render(format, report, color=...)` turns it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kernlint.finding import Finding
from kernlint.records import dataclass
from kernlint.rule import Rule
from kernlint.source.file import SourceFile


@dataclass(frozen=True, slots=True)
class Notification:
    """Something about the run rather than about the code: an internal error, a rule pack that would not load.

    `level` is `error` (the run is not whole; exit code 3), `warning` or `note`.  `rule` is a code.
    """

    level: str
    message: str
    path: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    `findings` are the visible ones, sorted by path, line, column, code.  `sources` maps the paths that findings and
    their related places name to their text; it may read lazily, and a path it lacks could not be read.  `rules` are
    the enabled rule classes sorted by code.  `hidden` counts what was found but is not shown, by reason, in display
    order; the reasons are `needs --pedantic`, `needs --audit`, `below --min-severity`, `suppressed in the source`,
    `ignored for this file`, `in the baseline`, `not on changed lines`.  No field depends on the working directory, the
    clock or the number of jobs.
    """

    findings: tuple[Finding, ...] = ()
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    rules: tuple[type[Rule], ...] = ()
    notifications: tuple[Notification, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    statistics: bool = False  # whether the user asked for counts per rule
    files: int = 0  # files looked at, with those dismissed on their text
    kernels: int = 0  # kernels lifted
    version: str = ""  # of kernlint
    sarif_category: str = ""
    execution_successful: bool = True  # False: some internal error, so findings may be missing
    # display path -> path relative to the repository (the nearest folder with `.git`) for paths where they differ;
    # what SARIF and other machine formats must name.
    repository_paths: Mapping[str, str] = field(default_factory=dict)
    stale_baseline: tuple[str, ...] = ()  # baseline entries that no longer occur, as readable lines
    security: bool = False  # whether SARIF gives memory-safety rules a `security-severity`
