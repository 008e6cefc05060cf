"""`kernlint check`: lint files and folders."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from kernlint.cli.options import Arguments
from kernlint.config_keys import SEVERITIES

FINDINGS, INTERNAL = 1, 3


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--select", multiple=True, metavar="RULES", help="Rules to run: codes, names, KL1, families, ALL.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Rules not to run.")
@click.option("--extend-select", multiple=True, metavar="RULES", help="Rules to run besides, after --ignore.")
@click.option("--per-file-ignores", multiple=True, metavar="PATTERN:RULES", help="Rules not to report in some files.")
@click.option("--pedantic", "persona", flag_value="pedantic", help="Show likely findings too.")
@click.option("--audit", "persona", flag_value="audit", help="Show everything, also what is merely possible.")
@click.option("--min-severity", type=click.Choice(SEVERITIES), help="The least severity to report.")
@click.option("--targets", multiple=True, metavar="ARCHS", help="Architectures, such as sm_80,sm_90.")
@click.option(
    "--output",
    "-o",
    multiple=True,
    metavar="FORMAT[:FILE]",
    help="full, concise, json, jsonl, sarif, github, gitlab, junit, agent; repeatable.",
)
@click.option("--statistics", is_flag=True, help="Count findings per rule.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are findings.")
@click.option("--stdin-filename", metavar="FILE", help="Lint standard input as if it were this file.")
@click.option("--baseline", metavar="FILE", help="Do not report the findings recorded in this file.")
@click.option("--update-baseline", is_flag=True, help="Remove from the baseline what is no longer found.")
@click.option("--init-baseline", is_flag=True, help="Write the baseline anew, with all current findings.")
@click.option("--since", metavar="REF", help="Report only findings on lines changed since a git revision.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes (one per processor by default).")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results in .kernlint_cache/.")
@click.option("--config", metavar="FILE", help="Use this configuration file.")
@click.option("--no-config", is_flag=True, help="Use no configuration file.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("--sarif-category", metavar="NAME", help="Category of the SARIF run.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even when named (for pre-commit).")
@click.option("--security", is_flag=True, help="Give memory-safety rules a security severity in SARIF.")
def check(**options: Any) -> int:
    """Lint CUDA and Triton files and the host code around them.

    PATHS are files, folders, or `-` for standard input.  Without PATHS the current folder is linted.
    """
    given = {name: value for name, value in options.items() if value is not None}
    arguments = Arguments(**given)
    if not arguments.paths and not arguments.stdin_filename:
        from dataclasses import replace

        arguments = replace(arguments, paths=(".",))
    return lint(arguments)


def lint(arguments: Arguments) -> int:
    """Do it all: read, check, filter, report.  Returns the exit code."""
    from kernlint.cli import destinations, flow

    flow.refuse_contradictions(arguments)
    plan = flow.plan(arguments)
    outputs = destinations.parse_destinations(*_output_specs(arguments, plan.config.output, plan.config.base))
    if arguments.since and not plan.config.sarif_category and any(d.format == "sarif" for d in outputs):
        raise click.UsageError(
            "SARIF of a partial run would close all other alerts; give it a --sarif-category of its own, or leave out "
            "--since"
        )
    report = flow.execute(arguments, plan)
    destinations.write_report(report, outputs, arguments.color)
    sys.stdout.flush()
    if not report.execution_successful:
        return INTERNAL
    return FINDINGS if report.findings and not arguments.exit_zero else 0


def _output_specs(arguments: Arguments, configured: tuple[str, ...], base: str) -> tuple[tuple[str, ...], str]:
    return (arguments.output, "") if arguments.output else (configured, os.path.relpath(base))
