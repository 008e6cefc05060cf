"""The command `kernlint`.  Sub-commands are imported when called, so that `--version` and `--help` are quick."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from kernlint import __version__

FINDINGS, USAGE, INTERNAL, INTERRUPTED = 1, 2, 3, 130
DEFAULT = "check"

# name -> where the click command is, and what it does in a few words
_COMMANDS = {
    "check": ("kernlint.cli.check:check", "Lint files and folders (the default command)."),
    "explain": ("kernlint.cli.explain:explain", "Print the documentation of a rule."),
    "rules": ("kernlint.cli.rules:rules", "List all rules with severity and measured precision."),
    "config": ("kernlint.cli.config:config", "Show the configuration in effect, or its schema."),
    "print": ("kernlint.cli.print:print_command", "Show what was understood of a file: IR, accesses, launches."),
    "test": ("kernlint.cli.test:test", "Run the examples of a rule pack as tests."),
    "completions": ("kernlint.cli.completions:completions", "Print a completion script for a shell."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and takes `check` when none is named."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version", "-V"}
        if args and args[0] not in _COMMANDS and args[0] not in own:
            args = [DEFAULT, *args]
        return super().parse_args(context, args)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in _COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`kernlint PATH...` is `kernlint check PATH...`; `kernlint check --help` lists its options.  "
    "Exit codes: 0 clean, 1 findings, 2 wrong usage or configuration, 3 internal error.",
)
@click.version_option(__version__, "-V", "--version", prog_name="kernlint", message="%(prog)s %(version)s")
def cli() -> None:
    """Find what is wrong in GPU kernels and the host code around them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and exit: 0 clean, 1 findings, 2 wrong usage or configuration, 3 internal error."""
    _use_replacing_streams()
    if arguments is not None:
        sys.exit(run(arguments))
    # The process is this run's own.  What the run leaves behind goes with it, so nobody needs to look for it first.
    gc.disable()
    code = run()
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run and return the exit code."""
    try:
        result: Any = cli.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away, as in `kernlint . | head`: nobody is left to tell anything.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except Exception as error:
        from kernlint.engine.check import internal_error

        click.echo(internal_error("running", error, None, None).message, err=True)
        return INTERNAL


def _use_replacing_streams() -> None:
    """File names and sources may hold what the terminal's encoding cannot show; that must not end the run."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
