"""`kernlint explain RULE`: a rule's documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from kernlint.rule import Rule


@click.command("explain", short_help="Show a rule's documentation.")
@click.argument("names", metavar="RULE...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every installed rule.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "md", "json"]),
    default="text",
    show_default=True,
    help="text for the terminal, md for Markdown, json for programs.",
)
def explain(names: tuple[str, ...], everything: bool, format_name: str) -> None:
    """Show what a rule finds, why it matters, what to do, and examples.

    RULE is a code (KL101) or a name (unguarded-edge-tile).
    """
    from kernlint.cli.terminal import terminal_width, wants_color
    from kernlint.engine.packs import PackError, load_rules

    if bool(names) == everything:
        raise click.UsageError("name one or more rules, or give --all; `kernlint rules` lists them")
    try:
        rules = load_rules()
    except PackError as error:
        raise click.UsageError(str(error)) from error
    chosen = rules if everything else [find_rule(name, rules) for name in names]
    click.echo(
        explanation(chosen, format_name, color=wants_color("auto", sys.stdout), width=min(100, terminal_width())),
        nl=False,
    )


def find_rule(name: str, rules: Sequence[type[Rule]]) -> type[Rule]:
    """The rule with this code or name, in any case.  Raises a usage error that suggests the nearest one."""
    from kernlint.engine.selection import nearest_label

    wanted = name.strip().lower()
    for rule in rules:
        if wanted in (rule.code.lower(), rule.name.lower()):
            return rule
    near = nearest_label(name, rules)
    hint = f"did you mean `{near}`?" if near else "`kernlint rules` lists them."
    raise click.UsageError(f"there is no rule `{name}`; {hint}")


def explanation(rules: Sequence[type[Rule]], format_name: str, *, color: bool, width: int) -> str:
    """The documentation of rules in one format; JSON is always a list."""
    from kernlint.report.documentation import rule_data, rule_markdown, rule_text

    if format_name == "json":
        return json.dumps([rule_data(rule) for rule in rules], indent=2) + "\n"
    if format_name == "md":
        return "\n".join(rule_markdown(rule) for rule in rules)
    return "\n\n".join(rule_text(rule, color=color, width=width) for rule in rules)
