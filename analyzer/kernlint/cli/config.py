"""`kernlint config`: the configuration in effect, or the schema of its file."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--show", "what", flag_value="show", help="The configuration in effect here, as TOML (the default).")
@click.option("--schema", "what", flag_value="schema", help="JSON Schema of kernlint.toml and [tool.kernlint].")
@click.argument("path", default=".", type=click.Path())
def config(what: str | None, path: str) -> int:
    """Show the configuration that applies at PATH."""
    from kernlint.config import ConfigError, find_config
    from kernlint.config_keys import KEYS, schema

    if what == "schema":
        click.echo(json.dumps(schema(), indent=2))
        return 0
    try:
        found = find_config(path)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"# from {found.path or 'no file: all defaults'}")
    values = found.values()
    for table in (False, True):
        for key in KEYS:
            if isinstance(values[key.name], dict) is not table:
                continue
            click.echo(f"\n# {key.doc}" + ("" if key.name in found.given else " (default)"))
            click.echo(_table(key.name, values[key.name]) if table else f"{key.name} = {_toml(values[key.name])}")
    return 0


def _table(name: str, entries: dict[str, object]) -> str:
    return "\n".join([f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in entries.items())])


def _toml(value: object) -> str:
    """Strings, numbers, booleans and lists read the same in TOML as in JSON."""
    return json.dumps(value, ensure_ascii=False)
