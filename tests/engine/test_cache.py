"""Results are reused while nothing they depend on has changed, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_toys import TOY_RULES, KernelFound, toy_lift

from kernlint.engine.run import Outcome
from kernlint.source.file import SourceFile

Lint = Callable[..., Outcome]
MARK = "triton\n"


@pytest.fixture
def lifted(monkeypatch: pytest.MonkeyPatch, toy_language: None) -> list[str]:
    """Paths of the files lifted, in order."""
    paths: list[str] = []

    def recording(source: SourceFile, resolver=None):  # type: ignore[no-untyped-def]
        paths.append(source.path)
        return toy_lift(source, resolver)

    monkeypatch.setattr("kernlint.engine.check.lift_module", recording)
    monkeypatch.setattr("kernlint.engine.worker.lift_module", recording)
    return paths


def test_unchanged_files_are_not_lifted_again(lint: Lint, lifted: list[str]) -> None:
    Path("a.py").write_text(MARK + "kernel_a # kernlint: ignore[TOY2]: x")
    Path("b.py").write_text(MARK + "kernel_b")
    first = lint(cache=True)
    assert lifted == ["a.py", "b.py"]
    assert lint(cache=True) == first
    assert lifted == ["a.py", "b.py"]
    Path("b.py").write_text(MARK + "kernel_c")
    assert [f.message.split("`")[1] for f in lint(cache=True).findings] == ["kernel_a", "kernel_c"]
    assert lifted == ["a.py", "b.py", "b.py"]


def test_a_changed_file_that_was_looked_up_counts(lint: Lint, lifted: list[str]) -> None:
    Path("a.py").write_text(MARK + "import_helper kernel_a")
    lint(cache=True)
    Path("helper.py").write_text("x = 1\n")  # did not exist when it was asked for
    lint(cache=True)
    Path("helper.py").write_text("x = 2\n")
    lint(cache=True)
    lint(cache=True)
    assert lifted == ["a.py"] * 3


def test_a_changed_launcher_counts(lint: Lint, lifted: list[str]) -> None:
    Path("k.py").write_text(MARK + "kernel_k")
    Path("l.py").write_text(MARK + "launch_k")
    first = lint(cache=True)
    before = len(lifted)
    assert lint(cache=True) == first
    assert len(lifted) == before
    Path("l.py").write_text(MARK + "launch_k launch_k")
    assert [f.message for f in lint(cache=True).findings] == ["`kernel_k` is launched 2 times."]


def test_other_rules_or_targets_do_not_share_results(lint: Lint, lifted: list[str]) -> None:
    Path("a.py").write_text(MARK + "kernel_a")
    assert len(lint(cache=True, rules=(KernelFound,)).findings) == 1
    assert len(lint(cache=True, rules=TOY_RULES).findings) == 1
    assert lifted == ["a.py", "a.py"]


def test_failures_are_not_kept(lint: Lint, lifted: list[str]) -> None:
    Path("a.py").write_text(MARK + "kernel_crash")
    assert lint(cache=True).notifications == lint(cache=True).notifications != ()
    assert lifted == ["a.py", "a.py"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a.py": {}}', '{"a.py": {"digests": 1}}', "[" * 100_000])
def test_a_broken_cache_is_as_good_as_none(lint: Lint, lifted: list[str], content: str) -> None:
    Path("a.py").write_text(MARK + "kernel_a")
    first = lint(cache=True)
    (kept,) = Path(".kernlint_cache").glob("*.json")
    kept.write_text(content)
    assert lint(cache=True) == first


def test_a_cache_folder_that_is_a_link_is_not_written_to(lint: Lint, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(".kernlint_cache").symlink_to(elsewhere)
    Path("a.py").write_text(MARK + "kernel_a")
    assert len(lint(cache=True).findings) == 1
    assert list(elsewhere.iterdir()) == []


def test_the_cache_is_plain_json_and_keeps_itself_out_of_git(lint: Lint) -> None:
    Path("a.py").write_text(MARK + "kernel_a")
    lint(cache=True)
    (kept,) = Path(".kernlint_cache").glob("*.json")
    assert "a.py" in json.loads(kept.read_text())
    assert Path(".kernlint_cache/.gitignore").read_text() == "*\n"
