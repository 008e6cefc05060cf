"""From the paths on the command line to the files to lint, in a fixed order, none skipped in silence."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from kernlint.engine.ignorefiles import IgnoreFiles, Patterns
from kernlint.records import dataclass
from kernlint.report_data import Notification
from kernlint.source.languages import CPP_SUFFIXES, language_of
from kernlint.source.project import shown

SKIPPED_FOLDERS = ("__pycache__", "node_modules", "site-packages", "__pypackages__", "build", "dist", "_build")


class MissingPathError(Exception):
    """A path on the command line that does not exist."""


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file to lint.  `path` is what is shown: relative to the working directory when inside it, with forward slashes;
    it can be opened as it is.  `problem` says why it cannot be read; `explicit`, that the user named it."""

    path: str
    problem: str = ""
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """`exclude` and `include` are patterns in `.gitignore` syntax relative to `base`.  An `include` pattern adds files
    whose name alone would not make them ours."""

    base: str
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    gitignore: bool = True
    skipped_folders: tuple[str, ...] = SKIPPED_FOLDERS
    force_exclude: bool = False  # `exclude` holds for files the user names as well


def discover(paths: Iterable[str], options: Discovery) -> tuple[list[FoundFile], list[Notification]]:
    """Every file to lint, each once, sorted by shown path.

    A file the user names is linted whatever ignores it.  Folders are searched for source files; what git ignores,
    hidden folders, virtual environments and SKIPPED_FOLDERS are left out.  Symbolic links to folders are followed only
    from the command line, and a file reached twice is linted once, under its real path.  Raises MissingPathError.
    """
    walker = _Walker(options)
    for path in paths:
        if not os.path.lexists(path):
            raise MissingPathError(f"no such file or directory: `{path}`")
        if os.path.isdir(path):
            walker.folder(os.path.abspath(path))
        elif not walker.excludes_named(os.path.abspath(path)):
            walker.add(os.path.abspath(path), explicit=True)
    return sorted(walker.found.values()), sorted(walker.notes, key=lambda note: note.path or "")


class _Walker:
    def __init__(self, options: Discovery) -> None:
        self.options = options
        self.found: dict[str, FoundFile] = {}
        self.notes: set[Notification] = set()
        self._ignore = IgnoreFiles(options.gitignore)
        self._exclude = Patterns(options.exclude, options.base)
        self._include = Patterns(options.include, options.base)
        self._working = os.path.realpath(os.getcwd())

    def folder(self, top: str) -> None:
        """All source files below one folder."""
        top = os.path.realpath(top)
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self.add(folder, problem=f"the folder cannot be listed: {_reason(error)}")
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not self._leaves_out(entry, top):
                        pending.append(entry.path)
                elif entry.is_symlink() and os.path.isdir(entry.path):
                    self._note_link(entry, top)
                elif self._wanted(entry, top):
                    self.add(entry.path)

    def excludes_named(self, path: str) -> bool:
        """Whether a file the user named is left out all the same."""
        return self.options.force_exclude and self._exclude.match(path)

    def _leaves_out(self, entry: os.DirEntry[str], top: str) -> bool:
        return (
            entry.name.startswith(".")
            or entry.name in self.options.skipped_folders
            or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
            or self._exclude.match(entry.path, is_folder=True)
            or self._ignore.ignored(entry.path, True, top)
        )

    def _note_link(self, entry: os.DirEntry[str], top: str) -> None:
        """Say that a link to a folder is not followed, unless what it points to is searched anyway."""
        real = os.path.realpath(entry.path)
        if not self._leaves_out(entry, top) and real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
            path = shown(entry.path, self._working)
            self.notes.add(Notification("note", "symbolic link to a folder elsewhere, not followed", path))

    def _wanted(self, entry: os.DirEntry[str], top: str) -> bool:
        named = language_of(entry.name) is not None
        if not named and not (self.options.include and self._include.match(entry.path)):
            return False
        return not self._exclude.match(entry.path) and not self._ignore.ignored(entry.path, False, top)

    def add(self, path: str, explicit: bool = False, problem: str = "") -> None:
        """One file, by the absolute path it was found at."""
        try:
            real = os.path.realpath(path, strict=True)
            mode = os.stat(real).st_mode
        except OSError as error:
            real, mode = path, 0
            problem = problem or _reason(error)
        if not problem and not stat.S_ISREG(mode):
            problem = "it is not a regular file"
        if problem and not explicit and path.lower().endswith(CPP_SUFFIXES) and os.path.islink(path):
            return  # a dangling link to some header: nothing says that it is CUDA
        known = self.found.get(real)
        if known is None or (explicit and not known.explicit):
            self.found[real] = FoundFile(shown(real, self._working), problem, explicit)


def _reason(error: OSError) -> str:
    """The operating system's words, without a path: `permission denied`."""
    return (error.strerror or type(error).__name__).lower()


def read_file(found: FoundFile, limit: int) -> tuple[bytes, str]:
    """The bytes of a file, or b'' and why not.  `limit` is the largest size in bytes."""
    if found.problem:
        return b"", found.problem
    try:
        with open(found.path, "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        return b"", _reason(error)
    return (data, "") if len(data) <= limit else (b"", too_large(limit))


def too_large(limit: int) -> str:
    """What is said of a file larger than `limit` bytes."""
    return f"it is larger than {limit} bytes (`max-file-size`)"
