"""What a worker process does: one task after another, trees dropped as it goes."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from types import FrameType

from kernlint.engine.binding import bind_from
from kernlint.engine.check import (
    DeadlineExceededError,
    FileResult,
    Settings,
    UnboundLaunch,
    check_file,
    check_module,
    internal_error,
)
from kernlint.engine.release import release
from kernlint.ir.kernel import Module
from kernlint.ir.types import Span
from kernlint.lift import lift_module
from kernlint.records import dataclass
from kernlint.source.file import SourceFile
from kernlint.source.project import Lookup, Project
from kernlint.source.suppressions import find_suppressions

# Seconds after which one file is given up.  Real files take milliseconds; this is against hangs only.
DEADLINE = 60.0
# Source bytes between two collections.  Modules are taken apart when checked; this is for the cycles that remain.
_COLLECT_EVERY = 4_000_000
_KEPT_MODULES = 8


@dataclass(frozen=True, slots=True)
class Launcher:
    """Another file, and its launches that mean kernels of the file in question."""

    path: str
    language: str
    launches: tuple[UnboundLaunch, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One file to check.  `launchers` are other files that launch its kernels: with them the file is checked again."""

    path: str
    language: str
    size: int
    launchers: tuple[Launcher, ...] = ()


@dataclass(slots=True)
class Worker:
    """State of one process (or of the main one, when everything runs inside it).

    `texts` holds sources that are not on disk (standard input), by shown path.
    """

    settings: Settings
    project: Project
    texts: dict[str, bytes] = field(default_factory=dict)
    own_process: bool = False
    _since_collection: int = 0
    _modules: dict[str, tuple[Module, tuple[Lookup, ...]]] = field(default_factory=dict)
    _lookups: list[Lookup] = field(default_factory=list)

    def run(self, task: Task) -> FileResult:
        """The result of one task; never raises for what a file holds."""
        self.project.take_lookups()
        self._lookups = []
        try:
            with deadline(DEADLINE, hard=self.own_process):
                result = self._check(task)
        except DeadlineExceededError:
            place = (Span(task.path, 0, 0), "", "reading it")
            result = FileResult(task.path, overruns=(place,))
        except Exception as error:
            result = FileResult(task.path, notifications=(internal_error("reading this file", error, task.path, None),))
        self._collect(task.size)
        lookups = (*self.project.take_lookups(), *self._lookups)
        return replace(result, lookups=tuple(dict.fromkeys(lookups)))

    def _check(self, task: Task) -> FileResult:
        source = self._source(task.path, task.language)
        if not task.launchers:
            return check_file(source, self.settings, self.project)
        module = lift_module(source, self.project)
        for launcher in task.launchers:
            bind_from(self._module(launcher), launcher.launches, module)
        result = check_module(source, module, self.settings, find_suppressions(source))
        release(module)
        return result

    def _source(self, path: str, language: str) -> SourceFile:
        if path in self.texts:
            return SourceFile(path, self.texts[path], language)
        with open(path, "rb") as file:
            return SourceFile(path, file.read(), language)

    def _module(self, launcher: Launcher) -> Module:
        """A launching file's IR.  Neighbouring kernels tend to be launched from the same file, so a few are kept."""
        known = self._modules.pop(launcher.path, None)
        if known is None:
            self._lookups += self.project.take_lookups()
            module = lift_module(self._source(launcher.path, launcher.language), self.project)
            known = module, self.project.take_lookups()
        self._lookups += known[1]
        self._modules[launcher.path] = known
        if len(self._modules) > _KEPT_MODULES:
            self._modules.pop(next(iter(self._modules)))
        return known[0]

    def _collect(self, size: int) -> None:
        self._since_collection += size
        if self._since_collection >= _COLLECT_EVERY:
            self._since_collection = 0
            gc.collect()


_current: Worker | None = None


def start(make: Callable[[], Worker]) -> None:
    """Initialise a worker process."""
    global _current
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _current = make()
    _current.own_process = True
    gc.disable()
    gc.freeze()


def run_chunk(tasks: tuple[Task, ...]) -> list[FileResult]:
    """Results of the tasks, in order.  Only in a process that `start` prepared."""
    assert _current is not None
    return [_current.run(task) for task in tasks]


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """No automatic garbage collection inside; with many live objects it costs several times the work itself."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def deadline(seconds: float, hard: bool) -> Iterator[None]:
    """Raises DeadlineExceededError inside after so many seconds, where the platform has timers.

    `hard` ends the process when even that does not help, as in a loop inside a C extension.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    try:
        previous = signal.signal(signal.SIGALRM, _expired)
    except ValueError:  # not the main thread: an embedding program has its own ways
        yield
        return
    # Repeated, in case something swallows the first.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    if hard:
        sink = open(os.devnull, "w")  # noqa: SIM115
        faulthandler.dump_traceback_later(seconds * 2, exit=True, file=sink)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
        if hard:
            faulthandler.cancel_dump_traceback_later()
            sink.close()


def _expired(_signal: int, _frame: FrameType | None) -> None:
    raise DeadlineExceededError
