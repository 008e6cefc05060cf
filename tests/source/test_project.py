"""Imports and includes lead to files of the project and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernlint.source.project import Lookup, Project


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)


def _write(*paths: str) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(f"# {path}\n")


def _module(module: str, level: int, importer: str, *roots: str) -> str | None:
    found = Project(roots or (".",)).python_module(module, level, importer)
    return found.path if found is not None else None


def _include(name: str, includer: str, *roots: str, include_paths: tuple[str, ...] = ()) -> str | None:
    found = Project(roots or (".",), include_paths).include(name, includer)
    return found.path if found is not None else None


def test_relative_imports() -> None:
    _write("pkg/__init__.py", "pkg/ops/__init__.py", "pkg/ops/kernels.py", "pkg/utils.py", "pkg/ops/deep/__init__.py")
    assert _module("kernels", 1, "pkg/ops/wrapper.py") == "pkg/ops/kernels.py"
    assert _module("utils", 2, "pkg/ops/wrapper.py") == "pkg/utils.py"
    assert _module("deep", 1, "pkg/ops/wrapper.py") == "pkg/ops/deep/__init__.py"
    assert _module("", 1, "pkg/ops/wrapper.py") == "pkg/ops/__init__.py"
    assert _module("missing", 1, "pkg/ops/wrapper.py") is None


def test_absolute_imports_start_above_the_package_or_at_a_root_or_its_src() -> None:
    _write("lib/pkg/__init__.py", "lib/pkg/a.py", "lib/pkg/b.py", "src/other/c.py", "tools/d.py")
    assert _module("pkg.a", 0, "lib/pkg/b.py") == "lib/pkg/a.py"
    assert _module("other.c", 0, "lib/pkg/b.py") == "src/other/c.py"
    assert _module("tools.d", 0, "lib/pkg/b.py") == "tools/d.py"
    assert _module("torch", 0, "lib/pkg/b.py") is None


def test_imports_do_not_climb_out(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("x = 1\n")
    Path("link.py").symlink_to(tmp_path / "secret.py")
    assert _module("secret", 9, "a.py") is None
    assert _module("secret", 2, "a.py") is None
    assert _module("link", 1, "a.py") is None
    assert _module("../secret", 1, "a.py") is None


def test_includes_are_looked_for_beside_above_and_in_include_folders() -> None:
    _write("csrc/k.cu", "csrc/k.cuh", "csrc/common/math.cuh", "include/api.h", "third/x.h")
    assert _include("k.cuh", "csrc/k.cu") == "csrc/k.cuh"
    assert _include("common/math.cuh", "csrc/deep/er.cu") == "csrc/common/math.cuh"
    assert _include("../include/api.h", "csrc/k.cu") == "include/api.h"
    assert _include("api.h", "csrc/k.cu") == "include/api.h"
    assert _include("x.h", "csrc/k.cu") is None
    assert _include("x.h", "csrc/k.cu", include_paths=("third",)) == "third/x.h"


@pytest.mark.parametrize("name", ["/etc/passwd", "../../../../../../etc/passwd", "", "a\0b", "cuda_runtime.h", "."])
def test_includes_do_not_climb_out(name: str) -> None:
    _write("csrc/k.cu")
    assert _include(name, "csrc/k.cu") is None


def test_questions_are_remembered_and_can_be_asked_again() -> None:
    _write("a.py", "b.py")
    project = Project((".",))
    project.python_module("b", 0, "a.py")
    project.include("k.cuh", "a.cu")
    lookups = project.take_lookups()
    assert lookups == (Lookup("import", "b", 0, "a.py", "b.py"), Lookup("include", "k.cuh", 0, "a.cu", ""))
    assert project.take_lookups() == ()
    os.remove("b.py")
    _write("k.cuh")
    assert [Project((".",)).still_true(lookup) for lookup in lookups] == [False, False]


def test_huge_files_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlint.source.project._MAX_SIZE", 4)
    _write("a.py")
    assert _module("a", 0, "b.py") is None
