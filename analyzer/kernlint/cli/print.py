"""`kernlint print`: what was understood of a file.  A debugging aid for rules, and for readers of findings."""

from __future__ import annotations

import os

import click

_VIEWS = {
    "ir": "Everything: kernels, parameters, values, structure, launches (the default).",
    "cfg": "Control structure: loops, branches, early exits.",
    "accesses": "Memory accesses: index, guard, mask, fill, type.",
    "barriers": "Barriers, and what must hold to reach them.",
    "launches": "Launches: kernel, grid, arguments, facts.",
}


@click.command("print")
@click.option("--ir", "view", flag_value="ir", help=_VIEWS["ir"])
@click.option("--cfg", "view", flag_value="cfg", help=_VIEWS["cfg"])
@click.option("--accesses", "view", flag_value="accesses", help=_VIEWS["accesses"])
@click.option("--barriers", "view", flag_value="barriers", help=_VIEWS["barriers"])
@click.option("--launches", "view", flag_value="launches", help=_VIEWS["launches"])
@click.argument("files", nargs=-1, required=True, type=click.Path())
def print_command(view: str | None, files: tuple[str, ...]) -> int:
    """Show what kernlint understood of FILES."""
    for path in files:
        if len(files) > 1:
            click.echo(f"== {path}")
        click.echo(_shown(path, view or "ir"), nl=False)
    return 0


def _shown(path: str, view: str) -> str:
    """One file in one view.  Raises click.UsageError when it cannot be read."""
    from kernlint.engine.discover import FoundFile, read_file
    from kernlint.engine.ignorefiles import repository_root
    from kernlint.engine.run import MAX_FILE_SIZE
    from kernlint.ir import printing
    from kernlint.lift import lift_module
    from kernlint.source.decode import why_unreadable
    from kernlint.source.file import SourceFile
    from kernlint.source.languages import guessed_language, language_of
    from kernlint.source.project import Project

    if os.path.isdir(path):
        raise click.UsageError(f"`{path}` is a folder; name files")
    data, problem = read_file(FoundFile(path), MAX_FILE_SIZE)
    language = language_of(path) or guessed_language(data)
    problem = problem or why_unreadable(data) or ("" if language else "it is neither CUDA nor Python")
    if problem or language is None:
        raise click.UsageError(f"cannot read `{path}`: {problem}")
    source = SourceFile(path.replace(os.sep, "/"), data, language)
    folder = os.path.dirname(os.path.abspath(path))
    module = lift_module(source, Project((repository_root(folder) or folder,)))
    printers = {
        "ir": printing.print_ir,
        "cfg": printing.print_cfg,
        "accesses": printing.print_accesses,
        "barriers": printing.print_barriers,
        "launches": printing.print_launches,
    }
    return printers[view](module, source.line_of)
