"""From options to a report: the steps of `kernlint check`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kernlint import __version__
from kernlint.cli.options import (
    Arguments,
    RuleSet,
    chosen_rules,
    confidence_of,
    effective_config,
    file_ignores,
    processes,
    severity_of,
)
from kernlint.cli.terminal import ProgressBar
from kernlint.config import Config
from kernlint.engine import baseline, filters
from kernlint.engine.cache import FOLDER
from kernlint.engine.check import Settings
from kernlint.engine.discover import Discovery, FoundFile, MissingPathError, discover
from kernlint.engine.ignorefiles import repository_root
from kernlint.engine.run import Outcome, Run, Sources, repository_paths, run
from kernlint.finding import Finding
from kernlint.records import dataclass
from kernlint.report_data import Notification, Report

if TYPE_CHECKING:
    from kernlint.engine.changes import Changes

STDIN_NAME = "<stdin>"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided before the first file is read."""

    config: Config
    rules: RuleSet
    filter: filters.Filter


def refuse_contradictions(arguments: Arguments) -> None:
    """Raises click.UsageError for options that exclude each other."""
    if arguments.update_baseline and arguments.init_baseline:
        raise click.UsageError("--update-baseline only shrinks, --init-baseline writes anew: choose one")
    if arguments.since and (arguments.update_baseline or arguments.init_baseline):
        raise click.UsageError("a baseline cannot be written from a partial run (--since)")
    if arguments.config and arguments.no_config:
        raise click.UsageError("--config and --no-config exclude each other")
    if arguments.reads_stdin and any(path != "-" for path in arguments.paths):
        raise click.UsageError("standard input cannot be linted together with files")


def plan(arguments: Arguments) -> Plan:
    """Raises click.UsageError."""
    config = effective_config(arguments)
    if (arguments.update_baseline or arguments.init_baseline) and not config.baseline:
        raise click.UsageError("which baseline? give --baseline FILE")
    rules = chosen_rules(config)
    changes = _changes(arguments.since) if arguments.since else None
    how = filters.Filter(confidence_of(config), severity_of(config), file_ignores(config, rules.known), changes)
    return Plan(config, rules, how)


def _changes(revision: str) -> Changes:
    from kernlint.engine.changes import ChangesError, changes_since

    try:
        return changes_since(revision)
    except ChangesError as error:
        raise click.UsageError(str(error)) from error


def execute(arguments: Arguments, plan: Plan) -> Report:
    """Lint and filter.  Raises click.UsageError for missing paths and unusable baselines."""
    files, texts, notes = _files(arguments, plan.config)
    outcome, sources = _run(plan, files, texts)
    shown, hidden = filters.split(outcome.findings, plan.filter, sources)
    paths = repository_paths(_paths_of(outcome))
    stale: tuple[str, ...] = ()
    known = 0
    if plan.config.baseline:
        others = [finding for reason in hidden.values() for finding in reason]
        compared = _against_baseline(arguments, plan, outcome, (shown, others), sources, paths)
        shown, stale, known = list(compared.new), tuple(str(entry) for entry in compared.stale), compared.known
    counts = {reason: len(found) for reason, found in hidden.items()}
    counts[filters.BASELINED] = known
    counts[filters.SUPPRESSED] = len(filters.split(outcome.suppressed, plan.filter, sources)[0])
    notifications = (*outcome.notifications, *notes)
    return Report(
        findings=tuple(shown),
        sources=sources,
        rules=plan.rules.active,
        notifications=notifications,
        hidden={reason: count for reason, count in counts.items() if count},
        statistics=arguments.statistics,
        files=outcome.files,
        kernels=outcome.kernels,
        version=__version__,
        sarif_category=plan.config.sarif_category,
        execution_successful=not any(note.level == "error" for note in notifications),
        repository_paths=paths,
        stale_baseline=stale,
        security=arguments.security,
    )


def _files(arguments: Arguments, config: Config) -> tuple[list[FoundFile], dict[str, bytes], list[Notification]]:
    """Files to lint, the text of those not on disk, and remarks."""
    if arguments.reads_stdin:
        name = arguments.stdin_filename.replace(os.sep, "/") or STDIN_NAME
        data = sys.stdin.buffer.read(config.max_file_size + 1)
        return [FoundFile(name, explicit=True)], {name: data}, []
    how = Discovery(
        config.base,
        config.exclude,
        config.include,
        config.respect_gitignore,
        force_exclude=arguments.force_exclude,
    )
    try:
        files, notes = discover(arguments.paths, how)
    except MissingPathError as error:
        raise click.UsageError(str(error)) from error
    if not files and not arguments.force_exclude:
        notes.append(Notification("warning", "no CUDA or Python files found under the paths given"))
    return files, {}, notes


def _run(plan: Plan, files: list[FoundFile], texts: dict[str, bytes]) -> tuple[Outcome, Sources]:
    config = plan.config
    how = Run(
        settings=Settings(plan.rules.active, config.targets, dict(config.versions)),
        known=plan.rules.known,
        roots=_roots(files),
        include_paths=tuple(os.path.join(config.base, path) for path in config.include_paths),
        texts=texts,
        jobs=processes(config),
        cache_folder=_cache_folder(config) if config.cache and not texts else None,
        cache_extra=(*plan.rules.packs, *config.include_paths, str(config.max_file_size)),
        max_file_size=config.max_file_size,
    )
    progress = ProgressBar()
    try:
        return run(files, how, progress)
    finally:
        progress.close()


def _roots(files: list[FoundFile]) -> tuple[str, ...]:
    """Where imports and includes may lead: the repositories of the files, or else the folders."""
    folders = sorted({os.path.dirname(os.path.abspath(file.path)) for file in files})
    roots = dict.fromkeys(repository_root(folder) or folder for folder in folders)
    outermost: list[str] = []
    for root in sorted(roots):
        if not outermost or not root.startswith(outermost[-1].rstrip(os.sep) + os.sep):
            outermost.append(root)
    return tuple(outermost)


def _cache_folder(config: Config) -> str:
    return os.path.join(config.base if config.path else os.getcwd(), FOLDER)


def _paths_of(outcome: Outcome) -> list[str]:
    paths = set(outcome.checked)
    for finding in outcome.findings:
        paths.add(finding.span.path)
        paths.update(related.span.path for related in finding.related)
    return sorted(paths)


def _against_baseline(
    arguments: Arguments,
    plan: Plan,
    outcome: Outcome,
    findings: tuple[list[Finding], list[Finding]],
    sources: Sources,
    paths: dict[str, str],
) -> baseline.Compared:
    """Compare with the baseline file, and rewrite it where asked.  `findings` are those shown and those hidden."""
    shown, others = findings
    path = plan.config.baseline
    try:
        if arguments.init_baseline:
            entries = [baseline.entry_of(finding, sources, paths) for finding in shown]
            baseline.write_baseline(path, entries)
        elif arguments.update_baseline and not os.path.exists(path):
            raise baseline.BaselineError(f"there is no baseline `{path}` to update; --init-baseline makes one")
        else:
            entries = baseline.read_baseline(path)
        checked = {paths.get(name, name) for name in outcome.checked}
        active = {rule.code for rule in plan.rules.active}
        root = repository_root(os.getcwd()) or os.getcwd()
        compared = baseline.compare(shown, entries, sources, paths, others, checked, active, root)
        if arguments.update_baseline and compared.stale:
            baseline.write_baseline(path, compared.kept)
    except baseline.BaselineError as error:
        raise click.UsageError(str(error)) from error
    return compared
