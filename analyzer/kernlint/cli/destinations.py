"""`--output FORMAT[:FILE]`: which formats, and where each goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kernlint.cli.terminal import terminal_width, wants_color
from kernlint.records import dataclass
from kernlint.report_data import Report

# The formats a person reads: they say themselves what went wrong in the run.
_FOR_PEOPLE = ("full", "concise", "agent")


@dataclass(frozen=True, slots=True)
class Destination:
    """One format and the file it goes to; '' is standard output."""

    format: str
    path: str = ""


def parse_destinations(specs: Iterable[str], base: str = "") -> list[Destination]:
    """Read `FORMAT[:FILE]` texts; `full` to standard output when there are none.  Files are relative to `base`.

    Raises click.UsageError for an unknown format or two formats on standard output.
    """
    from kernlint.report import FORMATS

    found: list[Destination] = []
    for spec in specs:
        name, _, path = spec.partition(":")
        if name not in FORMATS:
            import difflib

            near = difflib.get_close_matches(name, FORMATS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(FORMATS)}"
            raise click.UsageError(f"unknown output format `{name}`; {hint}")
        found.append(Destination(name, "" if path in ("", "-") else os.path.join(base, path)))
    if sum(not destination.path for destination in found) > 1:
        raise click.UsageError("several formats go to standard output; write all but one as FORMAT:FILE")
    return found or [Destination("full")]


def write_report(report: Report, destinations: Sequence[Destination], color: str) -> None:
    """Write all formats.  What the chosen ones do not tell a person goes to standard error.

    Raises click.UsageError when a file cannot be written.
    """
    from kernlint.report import job_summary, render

    for destination in destinations:
        if destination.path:
            _write_file(destination.path, render(destination.format, report, color=color == "always"))
        else:
            text = render(destination.format, report, color=wants_color(color, sys.stdout), width=terminal_width())
            click.echo(text, nl=False, color=True)
    if any(destination.format == "github" for destination in destinations):
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            _write_file(summary, job_summary(report), append=True)
    shown = next((destination.format for destination in destinations if not destination.path), None)
    if shown not in _FOR_PEOPLE:
        _say_on_stderr(report, everything=shown is None)


def _say_on_stderr(report: Report, everything: bool) -> None:
    from kernlint.report.summary import headline, notification_text

    for note in report.notifications:
        if note.level == "error" or everything:
            click.echo(f"{note.level}: {notification_text(note)}", err=True)
    if everything:
        click.echo(headline(report), err=True)


def _write_file(path: str, text: str, append: bool = False) -> None:
    try:
        parent = Path(path).parent
        parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a" if append else "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.UsageError(f"cannot write `{path}`: {reason.lower()}") from error
