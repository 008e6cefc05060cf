"""Configuration: where it comes from, what it changes, what is refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from cli_samples import UNUSED, Kernlint

from kernlint.config import Config
from kernlint.config_keys import KEYS, schema


def test_settings_from_pyproject(kernlint: Kernlint) -> None:
    Path("pyproject.toml").write_text('[tool.kernlint]\nignore = ["unused-suppression"]\n')
    Path("src").mkdir()
    Path("src/a.py").write_text(UNUSED)
    assert kernlint("src").code == 0
    assert kernlint("src", "--no-config").code == 1


def test_the_nearest_file_counts_and_kernlint_toml_comes_before_pyproject(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_text('ignore = ["KL002"]\n')
    Path("src").mkdir()
    Path("src/a.py").write_text(UNUSED)
    assert kernlint("src").code == 0
    Path("src/pyproject.toml").write_text("[project]\nname = 'x'\n")  # says nothing about kernlint
    assert kernlint("src").code == 0
    Path("src/pyproject.toml").write_text("[tool.kernlint]\n")
    assert kernlint("src").code == 1
    Path("src/kernlint.toml").write_text('select = ["KL001"]\n')
    assert kernlint("src").code == 0


def test_the_command_line_has_the_last_word(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_text('select = ["KL001"]\npersona = "audit"\n')
    Path("a.py").write_text(UNUSED)
    assert kernlint(".").code == 0
    assert kernlint(".", "--select", "ALL").code == 1
    assert kernlint(".", "--extend-select", "KL002,KL101").code == 1


def test_another_file_can_be_named(kernlint: Kernlint) -> None:
    Path("other").mkdir()
    Path("other/strict.toml").write_text('ignore = ["KL002"]\n')
    Path("a.py").write_text(UNUSED)
    assert kernlint(".", "--config", "other/strict.toml").code == 0


def test_paths_in_the_file_are_relative_to_it(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'exclude = ["gen/"]\noutput = ["full", "json:out/r.json"]\n[per-file-ignores]\n"/src/a.py" = ["KL002"]\n'
    Path("kernlint.toml").write_text(text)
    for path in ("src/a.py", "src/b.py", "gen/c.py"):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(UNUSED)
    monkeypatch.chdir("src")
    result = kernlint("..")
    assert result.code == 1
    assert [f["path"] for f in json.loads(Path("../out/r.json").read_text())["findings"]] != []
    assert "b.py:4" in result.out
    assert "a.py:4" not in result.out
    assert "c.py:4" not in result.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('selct = ["KL1"]', "unknown key `selct`; did you mean `select`?"),
        ("min_severity = 'info'", "did you mean `min-severity`?"),
        ("zzz = 1", "--schema"),
        ('select = "KL1"', "`select` must be a list of strings"),
        ("select = [1]", "`select` must be a list of strings"),
        ('persona = "strict"', "`persona` must be one of default, pedantic, audit, not `strict`"),
        ('targets = ["ampere"]', "`targets` `ampere` does not look like `sm_90`"),
        ('[versions]\ntritn = "3.0"', "`versions` has no entry `tritn`"),
        ('[versions]\ntriton = "three"', "entry `triton`"),
        ("[versions]\ntriton = 3.0", "entry `triton`"),
        ('per-file-ignores = ["x"]', "must be a table"),
        ("max-file-size = -1", "whole number"),
        ("max-file-size = true", "whole number"),
        ('cache = "no"', "true or false"),
        ("select = [", "not valid TOML"),
        ('select = ["KL9999"]', "unknown rule `KL9999`"),
    ],
)
def test_wrong_settings_exit_with_2_and_name_the_key(kernlint: Kernlint, text: str, words: str) -> None:
    Path("kernlint.toml").write_text(text + "\n")
    Path("a.py").write_text(UNUSED)
    result = kernlint(".")
    assert result.code == 2
    assert words in result.err


def test_a_configuration_file_that_is_no_text(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_bytes(b"\xff\xfe\x00")
    result = kernlint(".")
    assert result.code == 2
    assert "not valid TOML" in result.err


def test_excluded_files_that_are_named_are_linted_unless_forced(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_text('exclude = ["a.py"]\n')
    Path("a.py").write_text(UNUSED)
    assert kernlint("a.py").code == 1
    assert kernlint("a.py", "--force-exclude").code == 0


def test_show_prints_valid_toml_with_every_key(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_text('targets = ["sm_90a"]\n[versions]\ntriton = "3.2"\n')
    result = kernlint("config", "--show")
    assert result.code == 0
    shown = tomllib.loads(result.out)
    assert set(shown) == {key.name for key in KEYS}
    assert shown["targets"] == ["sm_90a"]
    assert shown["versions"] == {"triton": "3.2"}
    assert "kernlint.toml" in result.out.splitlines()[0]


def test_show_says_what_is_wrong_with_a_file(kernlint: Kernlint) -> None:
    Path("kernlint.toml").write_text("x = 1\n")
    assert kernlint("config").code == 2


def test_the_schema_accepts_what_is_accepted_and_refuses_what_is_refused(kernlint: Kernlint) -> None:
    printed = json.loads(kernlint("config", "--schema").out)
    assert printed == schema()
    validator = jsonschema.Draft202012Validator(printed)
    validator.check_schema(printed)
    assert validator.is_valid(Config().values())
    for wrong in ({"selct": []}, {"targets": ["ampere"]}, {"versions": {"x": "1"}}, {"persona": "x"}, {"jobs": -1}):
        assert not validator.is_valid(wrong)
