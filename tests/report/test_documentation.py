"""Rule documentation: made from the classes, complete, and up to date in docs/rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_sample import RULES as SAMPLE_RULES

from kernlint.report.documentation import (
    example_source,
    paragraphs,
    rule_data,
    rule_markdown,
    rule_pages,
    rule_text,
    write_pages,
)
from kernlint.rule import Example, Rule
from kernlint_rules import RULES

PAGES = Path(__file__).parents[2] / "docs" / "rules"


def test_the_pages_of_the_built_in_rules_are_up_to_date() -> None:
    written = {path.name: path.read_text("utf-8") for path in sorted(PAGES.glob("*.md"))}
    wanted = rule_pages(RULES)
    stale = sorted(name for name in written.keys() | wanted.keys() if written.get(name) != wanted.get(name))
    assert stale == [], "run `make rule-docs`, which is `python -m kernlint.report.documentation docs/rules`"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_has_a_whole_page(rule: type[Rule]) -> None:
    page = rule_markdown(rule)
    for heading in ("What it finds", "Why it matters", "What to do") + ("Flagged", "Not flagged") * bool(rule.flagged):
        assert f"## {heading}\n\n" in page
    assert page.count("```") % 2 == 0
    assert "//~" not in page
    assert "#~" not in page
    assert rule_text(rule).startswith(rule.code)
    assert len(rule_data(rule)["flagged"]) == len(rule.flagged)


def test_markers_become_comments() -> None:
    example = Example("t", "\n    x[i];  //~ KL101, acme-rule\n    y = x  #~ KL103\n    z;\n")
    assert example_source(example) == "x[i];  // <- KL101, acme-rule\ny = x  # <- KL103\nz;"


def test_paragraphs() -> None:
    assert paragraphs("One\n    two.\n\n      Three.\n") == ["One two.", "Three."]


def test_text_is_wrapped_but_code_is_not() -> None:
    lines = rule_text(SAMPLE_RULES[0], width=40).splitlines()
    prose = [line for line in lines if line.startswith("  ") and not line.startswith("    ")]
    assert max(map(len, prose)) <= 40
    assert "        x[blockIdx.x * 256 + threadIdx.x] = 0.f;  // <- KL101" in lines


def test_writing_pages_says_what_changed_and_removes_old_ones(tmp_path: Path) -> None:
    (tmp_path / "KL999-gone.md").write_text("old")
    assert write_pages(SAMPLE_RULES, tmp_path) == [
        "KL101-unguarded-edge-tile.md",
        "KL103-undefined-masked-lanes.md",
        "KL402-bank-conflict.md",
        "KL999-gone.md",
        "README.md",
    ]
    assert not (tmp_path / "KL999-gone.md").exists()
    assert write_pages(SAMPLE_RULES, tmp_path) == []
