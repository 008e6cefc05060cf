"""Rule packs: a third-party one is installed and runs; a broken one is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernlint.engine.packs import PackError, load_packs, pack_from_module

_PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "house-rules"
version = "1.2.3"
dependencies = ["kernlint"]

[project.entry-points."kernlint.rules"]
house = "house_rules"

[tool.hatch.build.targets.wheel]
packages = ["house_rules"]
"""

_PACK = """
from kernlint.rule import Example, Rule


class ShortName(Rule):
    code = "HOUSE1"
    name = "short-kernel-name"
    kind = "style"
    summary = "A kernel has a name of one letter."
    why = "Profiles list kernels by name."
    advice = "Name the kernel for what it does."
    flagged = (Example("one letter", "__global__ void k(float* x) {}  //~ HOUSE1\\n"),)
    silent = (Example("a name", "__global__ void scale(float* x) {}\\n"),)

    def check_kernel(self, kernel, context):
        if len(kernel.name) == 1:
            yield self.finding(kernel.span, f"kernel `{kernel.name}` has a short name.", kernel=kernel.name)


RULES = (ShortName,)
"""


def _kernlint(site: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run kernlint with the packages in `site` installed."""
    code = f"import site; site.addsitedir({str(site)!r}); from kernlint.cli.main import main; main({list(arguments)!r})"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the pack from source."""
    source, site = tmp_path_factory.mktemp("house"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(_PYPROJECT)
    (source / "house_rules").mkdir()
    (source / "house_rules" / "__init__.py").write_text(_PACK)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, "--target", site, source], check=True)
    return site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.cu").write_text("__global__ void k(float* x) {}\n// kernlint: ignore-next[HOUSE1]: too late\n")
    return tmp_path


def test_an_installed_pack_runs_beside_the_built_in_one(installed: Path, project: Path) -> None:
    done = _kernlint(installed, "check", ".", "--no-cache", "-o", "concise", folder=project)
    assert done.returncode == 1, done.stderr
    assert "a.cu:1" in done.stdout
    assert "short-kernel-name" in done.stdout
    assert "unused-suppression" in done.stdout


def test_its_rules_are_selected_suppressed_and_listed_like_all_others(installed: Path, project: Path) -> None:
    assert _kernlint(installed, "check", ".", "--no-cache", "--ignore", "HOUSE,KL0", folder=project).returncode == 0
    (project / "a.cu").write_text("__global__ void k(float* x) {}  // kernlint: ignore[short-kernel-name]: a sample\n")
    assert _kernlint(installed, "check", ".", "--no-cache", folder=project).returncode == 0
    assert "HOUSE1" in _kernlint(installed, "rules", folder=project).stdout


def test_kernlint_test_runs_its_examples(installed: Path, project: Path) -> None:
    done = _kernlint(installed, "test", "house", folder=project)
    assert done.returncode == 0, done.stdout
    assert "1 rules, 2 examples, 0 failures" in done.stdout


def test_kernlint_test_reports_examples_that_do_not_behave(tmp_path: Path) -> None:
    (tmp_path / "wrong_rules.py").write_text(
        _PACK.replace('one letter", "__global__ void k', 'x", "__global__ void kk')
    )
    done = _kernlint(tmp_path, "test", "wrong_rules", folder=tmp_path)
    assert done.returncode == 1
    assert "line 1: expected HOUSE1" in done.stdout


def test_without_the_pack_its_rules_are_unknown(project: Path) -> None:
    done = _kernlint(project, "check", ".", "--select", "HOUSE1", folder=project)
    assert done.returncode == 2
    assert "unknown rule `HOUSE1`" in done.stderr


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('no licence')", "cannot be loaded: RuntimeError: no licence"),
        ("import missing_dependency", "missing_dependency"),
        ("X = 1", "has no `RULES`"),
        ("RULES = 5", "is no sequence of rule classes"),
        ("RULES = [int]", "no subclass of kernlint.rule.Rule"),
        ("from kernlint.rule import Rule\nclass R(Rule):\n    code = 'X1'\nRULES = [R]", "rule R lacks name, kind"),
        (_PACK.replace("HOUSE1", "KL001"), "both have a rule called `KL001`"),
        (_PACK.replace("short-kernel-name", "unused-suppression"), "both have a rule called `unused-suppression`"),
    ],
)
def test_a_broken_pack_is_said_with_its_name(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "bad_rules.py").write_text(code)
    information = tmp_path / "bad-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[kernlint.rules]\nbroken = bad_rules\n")
    done = _kernlint(tmp_path, "check", ".", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "broken" in done.stderr
    assert words in done.stderr


def test_the_built_in_pack_comes_through_the_same_door() -> None:
    (builtin,) = [pack for pack in load_packs() if pack.name == "builtin"]
    assert builtin.module == "kernlint_rules"
    assert "KL003" in [rule.code for rule in builtin.rules]


def test_a_module_that_is_missing() -> None:
    with pytest.raises(PackError, match="cannot be imported"):
        pack_from_module("no_such_module_at_all")
