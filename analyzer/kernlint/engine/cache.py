"""Results of files that have not changed, in `.kernlint_cache/`.

One JSON file per configuration.  JSON because the folder may come with a foreign checkout: loading it must not be able
to execute anything.  An entry holds as long as the file's bytes do, and every question its analysis asked about other
files has the same answer with the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from kernlint import __version__
from kernlint.engine.check import FileResult, Settings
from kernlint.engine.codec import decode_result, encode_result
from kernlint.source.project import Project

FOLDER = ".kernlint_cache"
_KEPT = 6  # configurations whose results are kept


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def settings_key(settings: Settings, extra: Iterable[str]) -> str:
    """Identifies everything besides the sources that results depend on: kernlint's and the rules' own code, the
    configuration, and `extra`."""
    parts = [__version__, sys.version, os.getcwd(), *extra, *settings.targets, *_code_stamp(settings)]
    parts += [f"{name}={value}" for name, value in sorted(settings.versions.items())]
    parts += [rule.code for rule in settings.rules]
    return digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def _code_stamp(settings: Settings) -> list[str]:
    """Size and time of every source file of kernlint and of the packs, so that editing a rule is enough."""
    packages = sorted({"kernlint", *(rule.__module__.partition(".")[0] for rule in settings.rules)})
    stamps: list[str] = []
    for package in packages:
        for folder in _folders(sys.modules.get(package)):
            for path in sorted(Path(folder).rglob("*.py")):
                with contextlib.suppress(OSError):
                    status = path.stat()
                    stamps.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
    return stamps


def _folders(module: ModuleType | None) -> list[str]:
    if module is None:
        return []
    return sorted(getattr(module, "__path__", [])) or [os.path.dirname(module.__file__ or "")]


class Cache:
    """Entries of one configuration.  `path` None keeps nothing.  Reading and writing never raise."""

    def __init__(self, folder: str | None, key: str) -> None:
        self._path = Path(folder) / f"{key}.json" if folder is not None and not os.path.islink(folder) else None
        self._old: Mapping[str, Any] = _load(self._path) if self._path is not None else {}
        self._new: dict[str, Any] = {}
        self._digests: dict[str, str] = {}

    def digest_of(self, path: str) -> str:
        """Digest of a file on disk, '' when it cannot be read; each file is read once."""
        if path not in self._digests:
            try:
                with open(path, "rb") as file:
                    self._digests[path] = digest(file.read())
            except (OSError, ValueError):
                self._digests[path] = ""
        return self._digests[path]

    def remember_digest(self, path: str, value: str) -> None:
        self._digests[path] = value

    def get(self, path: str, launchers: Iterable[str], project: Project) -> FileResult | None:
        """The result kept for the file as it is now, with these launchers, or None."""
        if self._path is None:
            return None
        name = _entry_name(path, launchers)
        entry = self._old.get(name)
        try:
            if entry is None or entry["digests"] != [self.digest_of(p) for p in (path, *sorted(launchers))]:
                return None
            result = decode_result(entry["result"])
            if entry["answers"] != self._answers(result):
                return None
            if not all(project.still_true(lookup) for lookup in result.lookups):
                return None
        except (KeyError, TypeError, ValueError, IndexError):
            return None
        self._new[name] = entry
        return result

    def _answers(self, result: FileResult) -> list[str]:
        """Digests of the other files the result depends on."""
        paths = {lookup.found for lookup in result.lookups} | set(result.dependencies)
        return [self.digest_of(path) for path in sorted(paths - {""})]

    def put(self, path: str, launchers: Iterable[str], result: FileResult) -> None:
        """Keep a result, unless it may be different next time."""
        if self._path is None or result.notifications:
            return
        self._new[_entry_name(path, launchers)] = {
            "digests": [self.digest_of(p) for p in (path, *sorted(launchers))],
            "answers": self._answers(result),
            "result": encode_result(result),
        }

    def save(self) -> None:
        """Write what this run used or found out, if anything changed."""
        if self._path is None or all(self._old.get(name) is entry for name, entry in self._new.items()):
            return
        merged = {**self._old, **self._new}
        with contextlib.suppress(OSError):
            _write(self._path, merged)


def _entry_name(path: str, launchers: Iterable[str]) -> str:
    return "\0".join((path, *sorted(launchers)))


def _load(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _write(path: Path, entries: dict[str, Any]) -> None:
    import tempfile

    folder = path.parent
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(entries, file, separators=(",", ":"))
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    kept = sorted(folder.glob("*.json"), key=lambda p: (p.stat().st_mtime_ns, p.name), reverse=True)
    for old in kept[_KEPT:]:
        old.unlink()
