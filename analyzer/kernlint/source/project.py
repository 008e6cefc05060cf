"""Finding the other files of a project: imports of Python modules, local CUDA includes.  Nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from kernlint.records import dataclass
from kernlint.source.file import CUDA, PYTHON, SourceFile

_MAX_SIZE = 2 * 1024 * 1024
_CACHED_FILES = 256
_INCLUDE_FOLDERS = ("include", "csrc", "src")
_MAX_ANCESTORS = 12


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question asked of a project and its answer: what a cached result depends on besides the file itself.

    `kind` is `import` or `include`; `found` is the shown path of the answer, '' for none.
    """

    kind: str
    name: str
    level: int
    asker: str
    found: str


class Project:
    """Resolves imports and includes to files below the given roots or below the asking file's own package root.

    Shown paths are relative to the working directory where possible, so they can be opened as they are.  Every question
    is remembered in `lookups` until `take_lookups`.
    """

    def __init__(self, roots: Iterable[str], include_paths: Iterable[str] = ()) -> None:
        self._working = os.path.realpath(os.getcwd())
        self._roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self._include_paths = tuple(dict.fromkeys(os.path.realpath(path) for path in include_paths))
        self._modules: dict[tuple[str, str], str] = {}
        self._includes: dict[tuple[str, str], str] = {}
        self._files: dict[str, SourceFile | None] = {}
        self._lookups: dict[Lookup, None] = {}

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        folder = os.path.dirname(self._real(importer))
        key = "." * level + module, folder
        if key not in self._modules:
            self._modules[key] = self._find_module(module, level, folder)
        return self._answer("import", module, level, importer, self._modules[key], PYTHON)

    def include(self, name: str, includer: str) -> SourceFile | None:
        folder = os.path.dirname(self._real(includer))
        key = name, folder
        if key not in self._includes:
            self._includes[key] = self._find_include(name, folder)
        return self._answer("include", name, 0, includer, self._includes[key], CUDA)

    def take_lookups(self) -> tuple[Lookup, ...]:
        """The questions since the last call, in order, each once."""
        taken = tuple(self._lookups)
        self._lookups.clear()
        return taken

    def still_true(self, lookup: Lookup) -> bool:
        """Whether the question would be answered with the same path today."""
        if lookup.kind == "import":
            source = self.python_module(lookup.name, lookup.level, lookup.asker)
        else:
            source = self.include(lookup.name, lookup.asker)
        return (source.path if source is not None else "") == lookup.found

    def _answer(self, kind: str, name: str, level: int, asker: str, real: str, language: str) -> SourceFile | None:
        source = self._read(real, language) if real else None
        self._lookups[Lookup(kind, name, level, asker, source.path if source is not None else "")] = None
        return source

    def _real(self, shown: str) -> str:
        return os.path.normpath(os.path.join(self._working, shown))

    def _find_module(self, module: str, level: int, folder: str) -> str:
        own = package_roots(folder)
        bases = (*own, *self._roots, *(os.path.join(root, "src") for root in self._roots))
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            bases = (folder,)
        parts = [part for part in module.split(".") if part]
        if any(not part.isidentifier() for part in parts):
            return ""
        for base in dict.fromkeys(bases):
            path = os.path.join(base, *parts)
            for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
                if (parts or candidate.endswith("__init__.py")) and _is_inside(candidate, (*self._roots, *own)):
                    return os.path.realpath(candidate)
        return ""

    def _find_include(self, name: str, folder: str) -> str:
        if not name or "\0" in name or os.path.isabs(name):
            return ""
        allowed = (*self._roots, *self._include_paths, folder)
        bases = [folder, *self._include_paths]
        above = folder
        for _ in range(_MAX_ANCESTORS):
            bases += [above, *(os.path.join(above, sub) for sub in _INCLUDE_FOLDERS)]
            if above in self._roots or os.path.dirname(above) == above:
                break
            above = os.path.dirname(above)
        for base in dict.fromkeys(bases):
            candidate = os.path.join(base, name)
            if _is_inside(candidate, allowed):
                return os.path.realpath(candidate)
        return ""

    def _read(self, real: str, language: str) -> SourceFile | None:
        if real not in self._files:
            if len(self._files) >= _CACHED_FILES:
                self._files.pop(next(iter(self._files)))
            self._files[real] = _read_source(real, shown(real, self._working), language)
        return self._files[real]


def shown(real: str, working: str) -> str:
    """Relative to the working directory when inside it, else absolute; forward slashes."""
    if real == working or real.startswith(working.rstrip(os.sep) + os.sep):
        real = os.path.relpath(real, working)
    return real.replace(os.sep, "/")


@lru_cache(maxsize=4096)
def package_roots(folder: str) -> tuple[str, ...]:
    """Where absolute imports of a file in `folder` may start: the folder above its outermost package.

    Folders without `__init__.py` between two that have one (namespace parts of a package) do not end it.
    """
    top = at = folder
    for _ in range(_MAX_ANCESTORS):
        above = os.path.dirname(at)
        if above == at:
            break
        if os.path.isfile(os.path.join(at, "__init__.py")):
            top = above
        elif at != top and not os.path.isfile(os.path.join(above, "__init__.py")):
            break
        at = above
    return (top,)


def _is_inside(candidate: str, roots: Iterable[str]) -> bool:
    """Whether it is a regular file that, links resolved, lies below one of the roots."""
    try:
        if not os.path.isfile(candidate):
            return False
        real = os.path.realpath(candidate)
    except (OSError, ValueError):
        return False
    return any(real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _read_source(real: str, path: str, language: str) -> SourceFile | None:
    try:
        with open(real, "rb") as file:
            data = file.read(_MAX_SIZE + 1)
    except (OSError, ValueError):
        return None
    return SourceFile(path, data, language) if len(data) <= _MAX_SIZE else None
