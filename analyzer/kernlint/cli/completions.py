"""`kernlint completions SHELL`: a completion script."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completions(shell: str) -> int:
    """Print a completion script for SHELL, to be sourced from its start-up file."""
    from click.shell_completion import get_completion_class

    from kernlint.cli.main import cli

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, "kernlint", "_KERNLINT_COMPLETE").source())
    return 0
