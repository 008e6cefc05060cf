"""`--since REF`: findings on lines changed since a git revision."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cli_samples import UNUSED, Kernlint

from kernlint.engine.changes import parse_diff

SECOND = "y = 2  # kernlint: ignore[KL102]: the same bound\n"


def _git(*arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(kernlint: Kernlint) -> Kernlint:
    """A repository whose main branch has a.py with one finding."""
    _git("init", "-b", "main")
    Path("a.py").write_text(UNUSED)
    _git("add", "a.py")
    _git("commit", "-m", "first")
    return kernlint


def test_unchanged_lines_are_hidden_and_counted(repository: Kernlint) -> None:
    Path("a.py").write_text(UNUSED + SECOND)
    result = repository(".", "--since", "main")
    assert result.code == 1
    assert "a.py:5" in result.out
    assert "a.py:4" not in result.out
    assert "not on changed lines (1)" in result.out


def test_commits_of_the_branch_count_and_those_of_the_other_do_not(repository: Kernlint) -> None:
    _git("checkout", "-b", "work")
    Path("a.py").write_text(UNUSED + SECOND)
    _git("commit", "-am", "mine")
    _git("checkout", "main")
    Path("a.py").write_text(UNUSED.replace("x = 1", "x = 3"))
    _git("commit", "-am", "theirs")
    _git("checkout", "work")
    assert "a.py:4" not in repository(".", "--since", "main").out


def test_new_files_count_as_a_whole_and_so_do_odd_names(repository: Kernlint) -> None:
    for name in ("new file.py", "größe.py", 'quote".py'):
        Path(name).write_text(UNUSED)
    _git("add", "größe.py")
    result = repository(".", "--since", "HEAD", "-o", "concise")
    assert [name for name in ("new file.py", "größe.py", 'quote".py', "a.py") if f"{name}:4" in result.out] == [
        "new file.py",
        "größe.py",
        'quote".py',
    ]


def test_it_works_from_a_folder_inside(repository: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sub").mkdir()
    Path("sub/b.py").write_text(UNUSED)
    monkeypatch.chdir("sub")
    result = repository("..", "--since", "HEAD")
    assert "b.py:4" in result.out
    assert "a.py" not in result.out


@pytest.mark.parametrize("reference", ["nowhere", "--output=/tmp/x", "-p", "HEAD:a.py", ""])
def test_what_is_no_revision_is_an_error(repository: Kernlint, reference: str) -> None:
    result = repository(".", f"--since={reference}")
    if reference:
        assert result.code == 2
        assert "--since" in result.err or "no revision" in result.err
    else:
        assert result.code == 1  # an empty value is none given


def test_nothing_the_repository_configures_is_run(repository: Kernlint) -> None:
    trap = Path("trap.sh").absolute()
    trap.write_text("#!/bin/sh\ntouch sprung\ncat\n")
    trap.chmod(0o755)
    Path(".gitattributes").write_text("*.py diff=trap filter=trap\n")
    for name in ("core.fsmonitor", "diff.external", "diff.trap.command", "diff.trap.textconv", "core.pager"):
        _git("config", name, str(trap))
    Path("a.py").write_text(UNUSED + SECOND)
    assert "a.py:5" in repository(".", "--since", "main").out
    assert not Path("sprung").exists()


def test_diffs_are_read_by_their_counts_not_by_how_lines_look() -> None:
    diff = (
        b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n-- a\n--- b/y.py\n++ b/z.py\n+++ b/z.py\n"
        b"+@@ -1 +9 @@\n@@ -7 +8,0 @@\n-gone\n@@ -20 +20 @@\n-a\n+b\n"
        b'--- a/q\n+++ "b/\\303\\244\\".py"\n@@ -0,0 +1 @@\n+x\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n'
    )
    assert parse_diff(diff) == {
        "x.py": ((1, 4), (8, 10), (20, 21)),
        os.fsdecode("ä".encode()) + '".py': ((1, 2),),
    }
