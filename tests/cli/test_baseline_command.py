"""Baselines hide what is known, shrink on request, and say what is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import UNUSED, Kernlint

SECOND = "y = 2  # kernlint: ignore[KL102]: the same bound\n"


def _entries() -> list[tuple[str, str]]:
    return [(e["path"], e["rule"]) for e in json.loads(Path("base.json").read_text())["findings"]]


@pytest.fixture
def based(kernlint: Kernlint) -> Kernlint:
    """Two known findings in a.py."""
    Path("a.py").write_text(UNUSED + SECOND)
    made = kernlint(".", "--baseline", "base.json", "--init-baseline")
    assert made.code == 0
    assert "in the baseline (2)" in made.out
    return kernlint


def test_known_findings_are_hidden_and_new_ones_are_not(based: Kernlint) -> None:
    assert based(".", "--baseline", "base.json").code == 0
    Path("b.py").write_text("import triton\nz = 1  # kernlint: ignore[KL103]: new\n")
    result = based(".", "--baseline", "base.json")
    assert result.code == 1
    assert "b.py:2" in result.out
    assert "a.py" not in result.out


def test_known_findings_stay_known_when_code_around_them_changes_or_the_file_moves(based: Kernlint) -> None:
    text = Path("a.py").read_text()
    Path("a.py").write_text("import os\n\n\n" + text.replace("x = 1", "x = [1]"))
    assert based(".", "--baseline", "base.json").code == 0
    Path("a.py").rename("renamed.py")
    assert based(".", "--baseline", "base.json").code == 0


def test_a_copy_of_a_known_finding_is_new(based: Kernlint) -> None:
    Path("copy.py").write_text(UNUSED)
    result = based(".", "--baseline", "base.json")
    assert result.code == 1
    assert result.out.count("unused-suppression") == 1


def test_stale_entries_are_said_and_removed_on_request_only(based: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    result = based(".", "--baseline", "base.json")
    assert result.code == 0
    assert "KL102" in result.out
    assert len(_entries()) == 2
    based(".", "--baseline", "base.json", "--update-baseline")
    assert _entries() == [("a.py", "KL002")]
    assert "KL102" not in based(".", "--baseline", "base.json").out


def test_updating_never_adds(based: Kernlint) -> None:
    Path("b.py").write_text("import triton\nz = 1  # kernlint: ignore[KL103]: new\n")
    before = Path("base.json").read_text()
    assert based(".", "--baseline", "base.json", "--update-baseline").code == 1
    assert Path("base.json").read_text() == before


def test_entries_of_files_and_rules_not_looked_at_are_not_stale(based: Kernlint) -> None:
    Path("other.py").write_text("import triton\n")
    for arguments in (["other.py"], [".", "--ignore", "KL002"], [".", "--min-severity", "error"]):
        based(*arguments, "--baseline", "base.json", "--update-baseline")
        assert len(_entries()) == 2


def test_entries_of_deleted_files_are_stale(based: Kernlint) -> None:
    Path("a.py").unlink()
    Path("other.py").write_text("import triton\n")
    based(".", "--baseline", "base.json", "--update-baseline")
    assert _entries() == []


def test_the_baseline_may_be_configured_and_is_relative_to_the_configuration(
    based: Kernlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("kernlint.toml").write_text('baseline = "base.json"\n')
    assert based(".").code == 0
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert based("..").code == 0


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"version": 9, "findings": []}', '{"version": 1, "findings": [1]}']
)
def test_a_broken_baseline_is_an_error(kernlint: Kernlint, content: str) -> None:
    Path("base.json").write_text(content)
    result = kernlint(".", "--baseline", "base.json")
    assert result.code == 2
    assert "base.json" in result.err


def test_the_file_is_sorted_and_the_same_each_time(based: Kernlint) -> None:
    first = Path("base.json").read_text()
    based(".", "--baseline", "base.json", "--init-baseline")
    assert Path("base.json").read_text() == first
    assert "/tmp" not in first
