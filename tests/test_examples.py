"""Every example of every registered rule runs as a test."""

from __future__ import annotations

import pytest

from kernlint.engine.packs import load_rules
from kernlint.rule import Example, Rule
from kernlint.testing import check_example, example_problems, examples_of

RULES = load_rules()


def _label(item: object) -> str:
    if isinstance(item, Example):
        return item.title
    return item.code if isinstance(item, type) and issubclass(item, Rule) else str(item)


@pytest.mark.parametrize(("rule", "example"), examples_of(RULES), ids=_label)
def test_example_behaves_as_marked(rule: type[Rule], example: Example) -> None:
    assert check_example(rule, example) == []


@pytest.mark.parametrize("rule", RULES, ids=_label)
def test_flagged_examples_are_marked_and_silent_ones_are_not(rule: type[Rule]) -> None:
    assert example_problems(rule) == []
