"""The whole flow over many files: read, dismiss or look up, check, bind across files and check again, finish."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from kernlint.engine.binding import launchers_by_file
from kernlint.engine.cache import Cache, digest, settings_key
from kernlint.engine.check import FileResult, Settings, sorted_findings
from kernlint.engine.discover import FoundFile, read_file, too_large
from kernlint.engine.finish import Sifted, finish, sift
from kernlint.engine.ignorefiles import repository_root
from kernlint.engine.pool import run_tasks
from kernlint.engine.worker import Launcher, Task, Worker
from kernlint.finding import Finding
from kernlint.records import dataclass
from kernlint.report_data import Notification
from kernlint.rule import Rule
from kernlint.source.decode import why_unreadable
from kernlint.source.file import SourceFile
from kernlint.source.languages import guessed_language, is_plain_cpp, language_of, may_hold_kernels
from kernlint.source.project import Project
from kernlint.source.suppressions import find_suppressions

MAX_FILE_SIZE = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """What to do.  `roots` bound where imports and includes are looked for; `texts` holds files not on disk; `known`
    are all installed rules, which suppressions may name; `cache_folder` None keeps no results."""

    settings: Settings
    known: tuple[type[Rule], ...]
    roots: tuple[str, ...] = (".",)
    include_paths: tuple[str, ...] = ()
    texts: Mapping[str, bytes] = field(default_factory=dict)
    jobs: int = 1
    cache_folder: str | None = None
    cache_extra: tuple[str, ...] = ()
    max_file_size: int = MAX_FILE_SIZE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: findings at every confidence, after suppressions."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    notifications: tuple[Notification, ...]
    files: int
    kernels: int
    checked: tuple[str, ...]  # shown paths of every file looked at


class Sources(Mapping[str, SourceFile]):
    """Files by shown path, read when asked for."""

    def __init__(self, languages: Mapping[str, str], texts: Mapping[str, bytes]) -> None:
        self._languages = dict(languages)
        self._texts = texts
        self._read: dict[str, SourceFile] = {}

    def __getitem__(self, path: str) -> SourceFile:
        if path not in self._read:
            self._read[path] = SourceFile(path, self._bytes(path), self._language(path))
        return self._read[path]

    def _bytes(self, path: str) -> bytes:
        if path in self._texts:
            return self._texts[path]
        try:
            if not os.path.isfile(path):  # opening a pipe or a device would wait for it
                return b""
            with open(path, "rb") as file:
                return file.read(16 * MAX_FILE_SIZE)
        except (OSError, ValueError):
            raise KeyError(path) from None

    def _language(self, path: str) -> str:
        return self._languages.get(path) or language_of(path) or "python"

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._languages))

    def __len__(self) -> int:
        return len(self._languages)


@dataclass(slots=True)
class _Reading:
    """The parent's first look at the files: what is settled already, and what is left to check."""

    languages: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    settled: dict[str, FileResult] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)


def run(
    files: Iterable[FoundFile], how: Run, progress: Callable[[int, int], None] | None = None
) -> tuple[Outcome, Sources]:
    """Check all files.  `progress` is told (done, of how many) as files complete.  Never raises for what files hold."""
    files = list(files)
    project = Project(how.roots, how.include_paths)
    key = settings_key(how.settings, how.cache_extra) if how.cache_folder is not None else ""
    cache = Cache(how.cache_folder, key)
    reading = _read_all(files, how, cache, project)
    results = {**reading.settled, **_check(reading.tasks, how, cache, progress)}
    results = _bind_across(results, reading, how, cache, project, progress)
    cache.save()
    sources = Sources(reading.languages, how.texts)
    return _finish(files, results, how, sources), sources


def _read_all(files: Iterable[FoundFile], how: Run, cache: Cache, project: Project) -> _Reading:
    reading = _Reading()
    for file in files:
        data, problem = (how.texts[file.path], "") if file.path in how.texts else read_file(file, _glance(how))
        language = language_of(file.path) or guessed_language(data)
        if not problem and language is None:
            problem = "it is neither CUDA nor Python, by its name or its first lines"
        language = language or "python"
        plain = is_plain_cpp(file.path, data)
        relevant = not plain and may_hold_kernels(data, language)
        if not problem and (file.explicit or not plain):
            problem = why_unreadable(data)
        if not problem and (file.explicit or relevant) and len(data) > how.max_file_size:
            problem = too_large(how.max_file_size)
        reading.languages[file.path], reading.sizes[file.path] = language, len(data)
        if problem:
            reading.settled[file.path] = FileResult(file.path, problem=problem)
        elif relevant:
            cache.remember_digest(file.path, digest(data))
            kept = cache.get(file.path, (), project) if file.path not in how.texts else None
            if kept is not None:
                reading.settled[file.path] = kept
            else:
                reading.tasks.append(Task(file.path, language, len(data)))
    return reading


def _glance(how: Run) -> int:
    """How many bytes of a file are looked at to see whether it is relevant; a large one that is not needs no word."""
    return 16 * how.max_file_size


def _check(
    tasks: list[Task], how: Run, cache: Cache, progress: Callable[[int, int], None] | None
) -> dict[str, FileResult]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(tasks))

    make = functools.partial(make_worker, how.settings, how.roots, how.include_paths, dict(how.texts))
    results = run_tasks(tasks, make, how.jobs, advance)
    for task, result in zip(tasks, results, strict=True):
        if task.path not in how.texts:
            cache.put(task.path, [launcher.path for launcher in task.launchers], result)
    return {result.path: result for result in results}


def make_worker(
    settings: Settings, roots: tuple[str, ...], include_paths: tuple[str, ...], texts: dict[str, bytes]
) -> Worker:
    return Worker(settings, Project(roots, include_paths), texts)


def _bind_across(
    results: dict[str, FileResult],
    reading: _Reading,
    how: Run,
    cache: Cache,
    project: Project,
    progress: Callable[[int, int], None] | None,
) -> dict[str, FileResult]:
    """Check those files again whose kernels are launched from other files, now with these launches."""
    tasks: list[Task] = []
    again: dict[str, FileResult] = {}
    for path, foreign in launchers_by_file(results[path] for path in sorted(results)).items():
        launchers = tuple(Launcher(other, reading.languages[other], launches) for other, launches in foreign)
        kept = cache.get(path, [other for other, _ in foreign], project)
        if kept is not None:
            again[path] = kept
        else:
            size = reading.sizes[path] + sum(reading.sizes[other] for other, _ in foreign)
            tasks.append(Task(path, reading.languages[path], size, launchers))
    again.update(_check(tasks, how, cache, progress))
    return {**results, **{path: _merged(results[path], again[path]) for path in again}}


def _merged(alone: FileResult, bound: FileResult) -> FileResult:
    """The result with foreign launches; the one without when the second look failed."""
    if bound.notifications and not bound.findings:
        return replace(alone, notifications=(*alone.notifications, *bound.notifications))
    return bound


def _finish(files: list[FoundFile], results: Mapping[str, FileResult], how: Run, sources: Sources) -> Outcome:
    """Findings go to the file they point into, whichever file's analysis made them; then its suppressions apply."""
    by_path: dict[str, list[Finding]] = {}
    for path in sorted(results):
        for finding in results[path].findings:
            by_path.setdefault(finding.span.path, []).append(finding)
    sifted: list[Sifted] = []
    for path in sorted({*by_path, *results}):
        findings = sorted_findings(by_path.get(path, ()))
        source = sources.get(path) if findings or path in results else None
        if path not in results:
            # A file nobody asked about, such as a header some linted file includes: its comments count all the same.
            comments = find_suppressions(source) if source is not None else ()
            sifted.append(sift(source or SourceFile(path, b"", "python"), findings, comments, how.settings, how.known))
            continue
        result = replace(results[path], findings=findings)
        if findings or result.problem or result.suppressions or result.overruns:
            sifted.append(finish(source or SourceFile(path, b"", "python"), result, how.settings, how.known))
    return Outcome(
        findings=tuple(finding for part in sifted for finding in part.visible),
        suppressed=tuple(finding for part in sifted for finding in part.suppressed),
        notifications=_sorted_notes(
            [note for result in results.values() for note in result.notifications]
            + [note for part in sifted for note in part.notifications]
        ),
        files=len(files),
        kernels=sum(len(result.kernels) for result in results.values()),
        checked=tuple(file.path for file in files),
    )


def _sorted_notes(notes: Iterable[Notification]) -> tuple[Notification, ...]:
    """Each once; worst level first, then by file and rule."""
    levels = ("error", "warning", "note")
    return tuple(sorted(set(notes), key=lambda n: (levels.index(n.level), n.path or "", n.rule or "", n.message)))


def repository_paths(paths: Iterable[str]) -> dict[str, str]:
    """Shown path -> path relative to the repository that holds the file, where the two differ.

    Without a repository, relative to the working directory; never absolute, never climbing (`..`).
    """
    found: dict[str, str] = {}
    working = os.path.realpath(os.getcwd())
    for path in paths:
        real = os.path.realpath(path)
        root = repository_root(os.path.dirname(real)) or working
        relative = os.path.relpath(real, root).replace(os.sep, "/")
        if relative.startswith("../"):
            relative = real.lstrip("/").replace(os.sep, "/")
        if relative != path:
            found[path] = relative
    return found
