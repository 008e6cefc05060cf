"""Colours and progress: only where a person looks at a terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 1.0  # seconds of silence before a progress bar appears


def wants_color(choice: str, stream: TextIO) -> bool:
    """`choice` is auto, always or never.  Auto asks NO_COLOR, FORCE_COLOR, TERM=dumb, and whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def terminal_width() -> int:
    """Columns of the terminal, within readable bounds."""
    import shutil

    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))


class ProgressBar:
    """Called with (done, total).  Shows a bar on standard error once a run has lasted a second, on a terminal only."""

    def __init__(self) -> None:
        self._enabled = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if not self._enabled or (self._bar is None and time.monotonic() - self._begun < _PATIENCE):
            return
        if self._bar is None:
            self._bar, self._task = _make_bar(total)
        if self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


def _make_bar(total: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("linting"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task("linting", total=total)
