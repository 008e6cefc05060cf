"""`kernlint explain` and `kernlint rules`, on the installed rules."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kernlint.cli.explain import explain
from kernlint.cli.rules import rules
from kernlint_rules import RULES

RULE = RULES[0]


@pytest.mark.parametrize("name", [RULE.code, RULE.code.lower(), RULE.name])
def test_a_rule_is_found_by_code_or_name(name: str) -> None:
    done = CliRunner().invoke(explain, [name])
    assert done.exit_code == 0
    assert done.output.startswith(f"{RULE.code} {RULE.name}\n")
    assert "\x1b" not in done.output


def test_formats() -> None:
    markdown = CliRunner().invoke(explain, [RULE.code, "--format", "md"]).output
    assert markdown.startswith(f"# {RULE.code} {RULE.name}\n")
    (data,) = json.loads(CliRunner().invoke(explain, [RULE.code, "--format", "json"]).output)
    assert data["code"] == RULE.code
    assert data["flagged"][0]["source"]


def test_all_rules() -> None:
    data = json.loads(CliRunner().invoke(explain, ["--all", "--format", "json"]).output)
    codes = [item["code"] for item in data]
    assert set(codes) >= {rule.code for rule in RULES}
    assert codes == sorted(codes)


def test_an_unknown_rule_is_a_usage_error_with_a_suggestion() -> None:
    done = CliRunner().invoke(explain, [RULE.name[:-1]])
    assert done.exit_code == 2
    assert f"did you mean `{RULE.name}`?" in done.output
    assert CliRunner().invoke(explain, []).exit_code == 2
    assert CliRunner().invoke(explain, [RULE.code, "--all"]).exit_code == 2


def test_color_can_be_forced() -> None:
    assert (
        "\x1b[" in CliRunner(env={"FORCE_COLOR": "1", "NO_COLOR": ""}).invoke(explain, [RULE.code], color=True).output
    )
    assert "\x1b[" not in CliRunner(env={"NO_COLOR": "1", "FORCE_COLOR": "1"}).invoke(explain, [RULE.code]).output


def test_rules_table() -> None:
    lines = CliRunner().invoke(rules).output.splitlines()
    assert lines[0].split() == ["code", "name", "kind", "severity", "frameworks", "shown", "precision"]
    codes = [line.split()[0] for line in lines[1:]]
    assert codes == sorted(codes)
    assert set(codes) >= {rule.code for rule in RULES}


def test_rules_json() -> None:
    rows = json.loads(CliRunner().invoke(rules, ["--json"]).output)
    row = next(row for row in rows if row["code"] == RULE.code)
    assert set(row) == {
        "code", "name", "kind", "severity", "confidence", "frameworks", "precision", "sampled", "since", "summary"
    }  # fmt: skip
