from __future__ import annotations

from pathlib import Path

import pytest
from cli_samples import Kernlint, Result

from kernlint.cli.main import run


@pytest.fixture
def kernlint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kernlint:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def go(*arguments: str, cache: bool = False) -> Result:
        quick = ["check", "--jobs", "1", *([] if cache else ["--no-cache"])]
        known = {"check", "config", "test", "print", "explain", "rules", "completions", "--version", "--help"}
        capsys.readouterr()
        code = run([*arguments] if arguments and arguments[0] in known else [*quick, *arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return go
