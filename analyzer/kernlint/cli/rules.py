"""`kernlint rules`: the installed rules with their measured precision."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from kernlint.rule import Rule

_SHOWN = {"high": "default", "medium": "pedantic", "low": "audit"}
_HEADINGS = ("code", "name", "kind", "severity", "frameworks", "shown", "precision")
_FIELDS = ("code", "name", "kind", "severity", "confidence", "frameworks", "precision", "sampled", "since", "summary")


@click.command("rules", short_help="List the installed rules.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def rules(as_json: bool) -> None:
    """List every installed rule, sorted by code.

    Precision is the share of its triaged findings on public packages that were true; n is how many were triaged.
    """
    from kernlint.engine.packs import PackError, load_rules

    try:
        installed = load_rules()
    except PackError as error:
        raise click.UsageError(str(error)) from error
    click.echo(rules_json(installed) if as_json else rules_table(installed), nl=False)


def rules_json(rules: Sequence[type[Rule]]) -> str:
    """A list of objects; `precision` is null for a rule that was not measured."""
    from kernlint.report.documentation import rule_data

    rows = []
    for rule in rules:
        data = rule_data(rule)
        data["summary"] = " ".join(data["summary"])
        rows.append({key: data[key] for key in _FIELDS})
    return json.dumps(rows, indent=2) + "\n"


def rules_table(rules: Sequence[type[Rule]]) -> str:
    """Columns of text, one rule a line."""
    from kernlint.ledger import precision_text
    from kernlint.report.documentation import frameworks_text

    rows = [_HEADINGS] + [
        (
            rule.code,
            rule.name,
            rule.kind,
            rule.severity.label,
            frameworks_text(rule),
            _SHOWN[rule.default_confidence.label],
            precision_text(rule.code),
        )
        for rule in rules
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"
