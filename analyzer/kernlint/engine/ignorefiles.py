"""Which paths `.gitignore` files and exclusion patterns keep out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class IgnoreFiles:
    """`.gitignore` rules of a folder tree: the deepest file with an opinion decides, as in git.

    Files are looked for from the repository's root (the nearest folder with `.git` above) down; without a repository
    only from the folder the search began in.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._specs: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = {}

    def ignored(self, path: str, is_folder: bool, top: str) -> bool:
        """Whether the entry at the absolute `path`, found below the absolute folder `top`, is ignored."""
        if not self._enabled:
            return False
        for base, spec in self._rules_of(os.path.dirname(path), top):
            relative = os.path.relpath(path, base).replace(os.sep, "/")
            verdict = spec.check_file(relative + "/" if is_folder else relative).include
            if verdict is not None:
                return verdict
        return False

    def _rules_of(self, folder: str, top: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        """The rule files that apply in `folder`, deepest first."""
        known = self._specs.get(folder)
        if known is None:
            own = tuple((folder, spec) for spec in _specs_in(folder))
            parent = os.path.dirname(folder)
            is_root = os.path.exists(os.path.join(folder, ".git"))
            if is_root or parent == folder or (folder == top and repository_root(folder) is None):
                known = own
            else:
                known = own + self._rules_of(parent, top)
            self._specs[folder] = known
        return known


def _specs_in(folder: str) -> list[GitIgnoreSpec]:
    found = []
    for name in (".gitignore", os.path.join(".git", "info", "exclude")):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                found.append(_spec(file.read().splitlines()))
        except (OSError, ValueError):
            continue  # none there, or a pattern git would refuse as well
    return found


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # not for free, and a lint of one file needs none

    return GitIgnoreSpec.from_lines(lines)


@lru_cache(maxsize=4096)
def repository_root(folder: str) -> str | None:
    """The nearest folder at or above the absolute `folder` that holds `.git`."""
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


class Patterns:
    """Exclusion or inclusion patterns in `.gitignore` syntax, relative to one folder."""

    def __init__(self, patterns: Iterable[str], base: str) -> None:
        self._base = base
        lines = list(patterns)
        self._spec = _spec(lines) if lines else None

    def match(self, path: str, is_folder: bool = False) -> bool:
        """Whether the absolute path matches.  Paths outside the folder are matched by their name alone."""
        if self._spec is None:
            return False
        relative = os.path.relpath(path, self._base).replace(os.sep, "/")
        if relative.startswith("../"):
            relative = os.path.basename(path)
        return self._spec.match_file(relative + "/" if is_folder else relative)
