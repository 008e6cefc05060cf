from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from engine_toys import TOY_RULES, toy_bind, toy_lift

from kernlint.engine.check import Settings
from kernlint.engine.discover import Discovery, discover
from kernlint.engine.run import Outcome, Run, run

Lint = Callable[..., Outcome]


@pytest.fixture
def toy_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the front ends by the toy language, in this process and those forked from it."""
    binding = types.ModuleType("kernlint.lift.binding")
    binding.bind = toy_bind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kernlint.lift.binding", binding)
    # Whoever edits kernlint while its tests run must not make them fail.
    monkeypatch.setattr("kernlint.engine.cache._code_stamp", lambda settings: [])
    monkeypatch.setattr("kernlint.engine.check.lift_module", toy_lift)
    monkeypatch.setattr("kernlint.engine.worker.lift_module", toy_lift)


@pytest.fixture
def lint(toy_language: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """Run the engine with the toy rules over the current folder, an empty temporary one."""
    monkeypatch.chdir(tmp_path)

    def go(paths: Iterable[str] = (".",), jobs: int = 1, cache: bool = False, rules=TOY_RULES, **options) -> Outcome:
        files, _ = discover(paths, Discovery(base=str(tmp_path)))
        folder = str(tmp_path / ".kernlint_cache") if cache else None
        how = Run(Settings(tuple(rules)), TOY_RULES, roots=(".",), jobs=jobs, cache_folder=folder, **options)
        return run(files, how)[0]

    return go
