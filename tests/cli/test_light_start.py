"""`kernlint --version` and `--help` load nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "networkx",
    "z3",
    "rich",
    "tree_sitter",
    "tree_sitter_cuda",
    "sarif_om",
    "pathspec",
    "torch",
    "triton",
)


def _loaded(*arguments: str) -> set[str]:
    """Top-level modules loaded by the command."""
    code = (
        "import sys\n"
        "from kernlint.cli.main import run\n"
        f"run({list(arguments)!r})\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_load_nothing_heavy(arguments: list[str]) -> None:
    loaded = _loaded(*arguments)
    assert "click" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "kernlint_rules" not in loaded


def test_linting_loads_no_framework(tmp_path: object) -> None:
    assert _loaded("check", "--no-cache", str(tmp_path)).isdisjoint({"torch", "triton", "jax"})
