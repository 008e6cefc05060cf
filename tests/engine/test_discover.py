"""Which files are linted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernlint.engine.discover import Discovery, FoundFile, MissingPathError, discover, read_file


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(*paths: str, text: str = "") -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def _found(paths: Iterable[str] = (".",), **options: object) -> list[str]:
    return [file.path for file in discover(paths, Discovery(base=os.getcwd(), **options))[0]]  # type: ignore[arg-type]


def test_source_files_by_name_in_path_order() -> None:
    _write("z.cu", "a/k.cuh", "a/b/w.py", "m.cu.h", "n.hpp", "o.cpp", "p.h", "readme.md", "data.json", "Makefile")
    assert _found() == ["a/b/w.py", "a/k.cuh", "m.cu.h", "n.hpp", "o.cpp", "p.h", "z.cu"]


def test_hidden_folders_environments_and_build_output_are_left_out() -> None:
    _write(
        ".git/a.py",
        ".hidden/a.py",
        "env/pyvenv.cfg",
        "env/lib/a.py",
        "node_modules/a.py",
        "build/a.cu",
        "k/__pycache__/a.py",
    )
    _write("src/a.py")
    assert _found() == ["src/a.py"]


def test_gitignore_files_apply_below_them_and_the_deepest_decides() -> None:
    _write(".gitignore", text="generated/\n*.cuh\n/top.cu\n")
    _write("sub/.gitignore", text="!keep.cuh\n")
    _write("generated/a.cu", "sub/generated/a.cu", "sub/keep.cuh", "sub/drop.cuh", "top.cu", "sub/top.cu", "a.py")
    assert _found() == ["a.py", "sub/keep.cuh", "sub/top.cu"]
    assert "top.cu" in _found(gitignore=False)


def test_gitignore_of_the_repository_applies_when_a_folder_inside_is_named() -> None:
    Path(".git").mkdir()
    _write(".gitignore", text="*.cuh\n")
    _write("sub/a.cuh", "sub/a.cu")


def test_what_the_user_names_is_linted_whatever_ignores_it() -> None:
    _write(".gitignore", text="*.cu\n")
    _write("a.cu", ".hidden/b.py")
    assert _found([".", "a.cu", ".hidden/b.py"], exclude=("a.cu",)) == [".hidden/b.py", "a.cu"]


def test_named_files_can_be_excluded_on_request() -> None:
    _write("gen/a.cu", "b.cu")
    named = ["gen/a.cu", "b.cu"]
    assert _found(named, exclude=("gen/",)) == ["b.cu", "gen/a.cu"]
    assert _found(named, exclude=("gen/",), force_exclude=True) == ["b.cu"]


def test_exclude_and_include_are_patterns_relative_to_the_configuration() -> None:
    _write("gen/a.cu", "src/gen/b.cu", "src/c.cu", "src/k.tpl")
    assert _found(exclude=("/gen/", "c.*"), include=("*.tpl",)) == ["src/gen/b.cu", "src/k.tpl"]


def test_a_missing_path_is_an_error() -> None:
    with pytest.raises(MissingPathError, match=r"nowhere\.cu"):
        _found(["nowhere.cu"])


def test_a_folder_called_like_a_file_is_a_folder() -> None:
    _write("pkg.py/inner.py")
    assert _found() == ["pkg.py/inner.py"]


def test_links_in_a_circle_end_and_each_file_comes_once() -> None:
    _write("src/a.cu")
    Path("src/loop").symlink_to("..")
    Path("src/b.cu").symlink_to("a.cu")
    Path("again").symlink_to("src")
    assert _found() == ["src/a.cu"]
    assert _found(["again", "src", "src/b.cu"]) == ["src/a.cu"]


def test_a_link_to_a_folder_elsewhere_is_said_not_followed(tmp_path: Path) -> None:
    _write("outside/a.cu", "project/b.cu")
    Path("project/link").symlink_to(tmp_path / "outside")
    files, notes = discover(["project"], Discovery(base=os.getcwd()))
    assert [file.path for file in files] == ["project/b.cu"]
    assert [(note.level, note.path) for note in notes] == [("note", "project/link")]


def test_links_that_lead_nowhere_and_to_themselves_are_said() -> None:
    Path("gone.cu").symlink_to("missing.cu")
    Path("self.py").symlink_to("self.py")
    files, _ = discover(["."], Discovery(base=os.getcwd()))
    assert [file.path for file in files] == ["gone.cu", "self.py"]
    assert all(read_file(file, 100)[1] for file in files)


def test_a_pipe_is_said_instead_of_waited_for() -> None:
    os.mkfifo("pipe.cu")
    (file,), _ = discover(["."], Discovery(base=os.getcwd()))
    assert read_file(file, 100) == (b"", "it is not a regular file")


def test_a_folder_that_cannot_be_listed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _write("closed/a.cu", "open/b.cu")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("os.scandir", scandir)
    files, _ = discover(["."], Discovery(base=os.getcwd()))
    assert [(file.path, file.problem) for file in files] == [
        ("closed", "the folder cannot be listed: permission denied"),
        ("open/b.cu", ""),
    ]


def test_large_and_unreadable_files_are_said(tmp_path: Path) -> None:
    _write("a.cu", text="x" * 11)
    assert read_file(FoundFile("a.cu"), 11) == (b"x" * 11, "")
    assert "max-file-size" in read_file(FoundFile("a.cu"), 10)[1]
    assert read_file(FoundFile("gone.cu"), 10)[1] == "no such file or directory"
    assert read_file(FoundFile("a.cu", problem="no"), 10) == (b"", "no")


def test_paths_outside_the_working_folder_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write("work/x", "other/a.cu")
    monkeypatch.chdir(tmp_path / "work")
    assert _found(["../other"]) == [f"{os.path.realpath(tmp_path)}/other/a.cu"]


def test_names_that_are_no_unicode_are_found() -> None:
    name = os.fsdecode(b"caf\xe9.cu")
    _write(name)
    assert _found() == [name]
