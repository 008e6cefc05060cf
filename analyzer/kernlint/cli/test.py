"""`kernlint test PACK`: run the examples of a rule pack."""

from __future__ import annotations

import click


@click.command()
@click.argument("pack")
def test(pack: str) -> int:
    """Run every example of the rule pack PACK: the name of an installed pack, or of an importable module with `RULES`.

    Rules are code: this imports and runs PACK.
    """
    from kernlint.engine.packs import PackError, load_packs, pack_from_module
    from kernlint.testing import check_example, example_problems, examples_of

    try:
        installed = {known.name: known for known in load_packs()}
        found = installed[pack] if pack in installed else pack_from_module(pack)
    except PackError as error:
        raise click.UsageError(str(error)) from error
    failures = 0
    for rule in found.rules:
        for problem in example_problems(rule):
            failures += 1
            click.echo(f"FAIL {rule.code} `{rule.name}`: {problem}")
    examples = examples_of(found.rules)
    for rule, example in examples:
        problems = check_example(rule, example)
        failures += bool(problems)
        for problem in problems:
            click.echo(f"FAIL {rule.code} `{rule.name}`, {example.title!r}: {problem}")
    click.echo(f"{len(found.rules)} rules, {len(examples)} examples, {failures} failures")
    return 1 if failures else 0
