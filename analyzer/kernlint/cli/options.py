"""Command line and configuration file, merged into what the engine needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from kernlint.config import Config, ConfigError, find_config, read_config
from kernlint.config_keys import BY_NAME
from kernlint.engine.filters import PERSONAS, Ignores
from kernlint.engine.ignorefiles import Patterns
from kernlint.engine.packs import PackError, load_packs
from kernlint.engine.selection import Selection, UnknownSelectorError
from kernlint.finding import Confidence, Severity
from kernlint.records import dataclass
from kernlint.rule import Rule


@dataclass(frozen=True, slots=True)
class Arguments:
    """The options of `kernlint check` as typed.  Empty means not given."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    persona: str = ""
    min_severity: str = ""
    output: tuple[str, ...] = ()
    baseline: str = ""
    update_baseline: bool = False
    init_baseline: bool = False
    since: str = ""
    stdin_filename: str = ""
    jobs: int = 0
    no_cache: bool = False
    no_config: bool = False
    config: str = ""
    color: str = "auto"
    sarif_category: str = ""
    security: bool = False
    statistics: bool = False
    exit_zero: bool = False
    force_exclude: bool = False

    @property
    def reads_stdin(self) -> bool:
        return bool(self.stdin_filename) or "-" in self.paths


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules to run, all installed ones, and the versions of the packs they come from."""

    active: tuple[type[Rule], ...]
    known: tuple[type[Rule], ...]
    packs: tuple[str, ...]


def split_list(values: Iterable[str]) -> tuple[str, ...]:
    """Repeated options and comma-separated values alike."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def effective_config(arguments: Arguments) -> Config:
    """The configuration file that applies, with the command line's words over it.

    `--select`, `--targets` and single values replace what the file says; `--ignore`, `--extend-select` and
    `--per-file-ignores` add to it.  Raises click.UsageError.
    """
    config = _file_config(arguments)
    changes: dict[str, object] = {
        "ignore": (*config.ignore, *split_list(arguments.ignore)),
        "extend_select": (*config.extend_select, *split_list(arguments.extend_select)),
        "per_file_ignores": (*config.per_file_ignores, *_per_file(arguments.per_file_ignores)),
        "baseline": arguments.baseline or (os.path.join(config.base, config.baseline) if config.baseline else ""),
    }
    if arguments.select:
        changes["select"] = split_list(arguments.select)
    if arguments.targets:
        changes["targets"] = split_list(arguments.targets)
        problem = BY_NAME["targets"].problem(list(split_list(arguments.targets)))
        if problem:
            raise click.UsageError(f"--targets: {problem}")
    for name in ("persona", "min_severity", "sarif_category", "jobs"):
        if value := getattr(arguments, name):
            changes[name] = value
    if arguments.no_cache:
        changes["cache"] = False
    return replace(config, **changes)  # type: ignore[arg-type]


def _file_config(arguments: Arguments) -> Config:
    try:
        if arguments.config:
            return read_config(Path(arguments.config))
        start = _common_folder(arguments)
        return Config(base=start) if arguments.no_config else find_config(start)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def _common_folder(arguments: Arguments) -> str:
    """The folder that holds everything to lint; the configuration is looked for from there up."""
    named = [path for path in arguments.paths if path != "-"]
    if arguments.stdin_filename:
        named.append(arguments.stdin_filename)
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in map(os.path.abspath, named)]
    try:
        return os.path.commonpath(folders) if folders else os.getcwd()
    except ValueError:  # on several drives
        return os.getcwd()


def _per_file(values: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """`PATTERN:RULE,RULE` texts."""
    found = []
    for value in values:
        pattern, colon, rules = value.rpartition(":")
        if not colon or not pattern or not split_list([rules]):
            raise click.UsageError(f"--per-file-ignores takes PATTERN:RULE[,RULE...], not `{value}`")
        found.append((pattern, split_list([rules])))
    return found


def chosen_rules(config: Config) -> RuleSet:
    """Rules the configuration selects.  Raises click.UsageError for unknown selectors and packs that do not load."""
    try:
        packs = load_packs()
        known = tuple(sorted((rule for pack in packs for rule in pack.rules), key=lambda rule: rule.code))
        selection = Selection(known)
        codes = (selection.expand(config.select) - selection.expand(config.ignore)) | selection.expand(
            config.extend_select
        )
    except (PackError, UnknownSelectorError) as error:
        raise click.UsageError(str(error)) from error
    active = tuple(rule for rule in known if rule.code in codes)
    return RuleSet(active, known, tuple(f"{pack.name}={pack.module}@{pack.version}" for pack in packs))


def file_ignores(config: Config, known: Sequence[type[Rule]]) -> Ignores:
    """`per-file-ignores` with selectors expanded.  Raises click.UsageError."""
    selection = Selection(known)
    try:
        return Ignores(
            tuple(
                (Patterns([pattern], config.base), selection.expand(rules))
                for pattern, rules in config.per_file_ignores
            )
        )
    except UnknownSelectorError as error:
        raise click.UsageError(f"per-file-ignores: {error}") from error


def confidence_of(config: Config) -> Confidence:
    return PERSONAS[config.persona]


def severity_of(config: Config) -> Severity:
    return Severity[config.min_severity.upper()]


def processes(config: Config) -> int:
    """How many processes to use."""
    if config.jobs:
        return config.jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
