"""Configuration: `kernlint.toml`, or `[tool.kernlint]` in `pyproject.toml`, from the nearest folder upwards.

Unknown keys and wrong values are errors; a mistyped key must not silently change what is linted.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

from kernlint.config_keys import BY_NAME, KEYS
from kernlint.records import dataclass

FILE_NAME = "kernlint.toml"


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file, the key and the reason."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings as given.  `path` is the file they come from ('' for defaults), `base` the folder that patterns and
    paths are relative to.  `given` names the keys the file sets."""

    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    respect_gitignore: bool = True
    targets: tuple[str, ...] = ("sm_80",)
    versions: tuple[tuple[str, str], ...] = ()
    persona: str = "default"
    min_severity: str = "info"
    output: tuple[str, ...] = ()
    baseline: str = ""
    include_paths: tuple[str, ...] = ()
    max_file_size: int = 2 * 1024 * 1024
    cache: bool = True
    jobs: int = 0
    sarif_category: str = ""
    path: str = ""
    base: str = "."
    given: tuple[str, ...] = ()

    def values(self) -> dict[str, Any]:
        """Every key with its value, as it would be written in TOML."""
        return {key.name: _thawed(getattr(self, _attribute(key.name)), key.default) for key in KEYS}


def find_config(start: str) -> Config:
    """The configuration that applies at a file or folder; the default one when there is none.  Raises ConfigError."""
    folder = Path(start).absolute()
    if not folder.is_dir():
        folder = folder.parent
    for place in (folder, *folder.parents):
        own = place / FILE_NAME
        if _is_readable(own):
            return read_config(own)
        project = place / "pyproject.toml"
        if _is_readable(project) and (table := _project_table(project)) is not None:
            return config_from(table, project)
    return Config(base=str(Path(start).absolute() if Path(start).is_dir() else folder))


def _is_readable(path: Path) -> bool:
    """Whether it is a file; False where the folder may not be entered."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_config(path: Path) -> Config:
    """A given `kernlint.toml` or `pyproject.toml`.  Raises ConfigError."""
    if path.name == "pyproject.toml":
        return config_from(_project_table(path) or {}, path)
    return config_from(_load(path), path)


def config_from(table: Any, path: Path) -> Config:
    """Check a table of settings read from `path`.  Raises ConfigError for the first thing wrong."""
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.kernlint` must be a table")
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = BY_NAME.get(name)
        if key is None:
            raise ConfigError(f"{path}: unknown key `{name}`{_suggestion(name)}")
        problem = key.problem(value)
        if problem:
            raise ConfigError(f"{path}: `{name}` {problem}")
        values[_attribute(name)] = _frozen(value)
    return Config(**values, path=str(path), base=str(path.parent), given=tuple(sorted(table)))


def _suggestion(name: str) -> str:
    near = difflib.get_close_matches(name.replace("_", "-"), sorted(BY_NAME), n=1)
    return f"; did you mean `{near[0]}`?" if near else "; `kernlint config --schema` lists them all"


def _project_table(path: Path) -> Any:
    tool = _load(path).get("tool", {})
    return tool.get("kernlint") if isinstance(tool, dict) else None


def _load(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _attribute(name: str) -> str:
    return name.replace("-", "_")


def _frozen(value: Any) -> Any:
    """Lists as tuples, tables as sorted tuples of pairs."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return tuple((name, _frozen(value[name])) for name in sorted(value))
    return value


def _thawed(value: Any, default: Any) -> Any:
    if isinstance(default, dict):
        return {name: list(item) if isinstance(item, tuple) else item for name, item in value}
    return list(value) if isinstance(value, tuple) else value
