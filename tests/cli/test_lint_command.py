"""`kernlint PATH...` as a user sees it: exit codes, selection, personas, outputs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from cli_samples import NO_REASON, UNUSED, Kernlint


def _codes(text: str) -> list[str]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [row["code"] for row in rows if "code" in row]


def test_clean_files_exit_with_0(kernlint: Kernlint) -> None:
    Path("a.py").write_text("import triton\n")
    result = kernlint(".")
    assert result.code == 0
    assert "No findings (1 file looked at" in result.out


def test_findings_exit_with_1(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    result = kernlint(".")
    assert result.code == 1
    assert "a.py:4" in result.out
    assert "unused-suppression" in result.out


def test_exit_zero_says_the_same_and_exits_with_0(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    result = kernlint(".", "--exit-zero")
    assert result.code == 0
    assert "unused-suppression" in result.out


def test_the_current_folder_is_linted_without_paths(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    assert kernlint().code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.cu"], "no such file or directory: `missing.cu`"),
        (["--select", "unused-supression", "."], "did you mean `unused-suppression`?"),
        (["--ignore", "XX9", "."], "unknown rule `XX9`"),
        (["--output", "sariff", "."], "did you mean `sarif`?"),
        (["--output", "json", "--output", "full", "."], "several formats go to standard output"),
        (["--output", "json:no/such\0folder", "."], "cannot write"),
        (["--targets", "ampere", "."], "`ampere` does not look like `sm_90`"),
        (["--per-file-ignores", "tests", "."], "PATTERN:RULE"),
        (["--per-file-ignores", "tests:KLX", "."], "unknown rule `KLX`"),
        (["--min-severity", "fatal", "."], "fatal"),
        (["--selekt", "ALL", "."], "--select"),
        (["--update-baseline", "."], "--baseline FILE"),
        (["--baseline", "b.json", "--update-baseline", "--init-baseline", "."], "choose one"),
        (["--baseline", "gone.json", "."], "cannot read baseline"),
        (["--baseline", "gone.json", "--update-baseline", "."], "--init-baseline"),
        (["--config", "gone.toml", "."], "gone.toml"),
        (["--config", "a.toml", "--no-config", "."], "exclude each other"),
        (["-", "."], "standard input cannot be linted together with files"),
        (["--since", "HEAD", "."], "--since"),
        (["--jobs", "0", "."], "0"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(kernlint: Kernlint, arguments: list[str], words: str) -> None:
    Path("a.py").write_text("import triton\n")
    result = kernlint(*arguments)
    assert result.code == 2
    assert words in result.err
    assert result.out == ""


def test_internal_errors_exit_with_3_even_with_exit_zero(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlint_rules.linter.unparsed_region import UnparsedRegion

    def broken(self: object, module: object, context: object) -> None:
        raise ValueError("a fault in the rule")

    monkeypatch.setattr(UnparsedRegion, "check_module", broken)
    Path("a.py").write_text(UNUSED)
    result = kernlint(".", "--exit-zero")
    assert result.code == 3
    assert "unused-suppression" in result.out  # the other rules went on
    assert "`KL001` failed while checking this file (ValueError: a fault in the rule" in result.out


def test_an_unexpected_exception_is_one_line(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("kernlint.cli.flow.plan", broken)
    result = kernlint(".")
    assert result.code == 3
    assert len(result.err.splitlines()) == 1
    assert "RuntimeError: boom" in result.err


def test_select_and_ignore_take_codes_names_prefixes_and_families(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED + "y = 2  # kernlint: ignore[KL101]\n")
    jsonl = ["--output", "jsonl", "."]
    assert _codes(kernlint(*jsonl).out) == ["KL002", "KL002", "KL003"]
    assert _codes(kernlint("--select", "KL101,KL003", *jsonl).out) == ["KL003"]
    assert _codes(kernlint("--select", "KL101", "--select", "suppression-without-reason", *jsonl).out) == ["KL003"]
    assert _codes(kernlint("--ignore", "unused-suppression", *jsonl).out) == ["KL003"]
    assert _codes(kernlint("--select", "KL0,bounds", *jsonl).out) == ["KL002", "KL002", "KL003"]
    assert _codes(kernlint("--ignore", "linter", *jsonl).out) == []
    assert _codes(kernlint("--ignore", "KL0", "--extend-select", "KL003", *jsonl).out) == ["KL003"]


def test_a_suppression_of_a_rule_that_does_not_run_is_not_called_unused(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    assert kernlint("--select", "KL002", ".").code == 0


def test_per_file_ignores(kernlint: Kernlint) -> None:
    for path in ("tests/a.py", "src/a.py"):
        Path(path).parent.mkdir()
        Path(path).write_text(UNUSED)
    result = kernlint("--per-file-ignores", "tests/:KL002", "--output", "full", ".")
    assert "src/a.py" in result.out
    assert "tests/a.py" not in result.out
    assert "ignored for this file (1)" in result.out


EMPTY_GRID = """\
__global__ void k(float* x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] = 1; }
cudaError_t run(float* x, int n) { k<<<(n + 255) / 256, 256>>>(x, n); return cudaGetLastError(); }
"""


def test_the_footer_says_what_is_hidden_and_by_what(kernlint: Kernlint) -> None:
    Path("a.cu").write_text(EMPTY_GRID)  # that the grid may be empty needs --audit
    Path("b.py").write_text("import triton\nx = 1  # kernlint: ignore[KL003]\n")
    result = kernlint(".")
    assert result.code == 0
    assert "Hidden: needs --audit (1), suppressed in the source (1)" in result.out
    assert "grid-limit-exceeded" in kernlint(".", "--audit").out


def test_a_file_of_which_nothing_was_understood_does_not_pass_as_clean(kernlint: Kernlint) -> None:
    Path("a.py").write_text("import triton\nx = (\n")
    result = kernlint(".")
    assert result.code == 1
    assert "unparsed-region" in result.out


def test_several_outputs_in_one_run(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    result = kernlint(".", "-o", "concise", "-o", "json:out/report.json", "-o", "sarif:out/report.sarif")
    assert result.code == 1
    assert "a.py:4" in result.out
    assert [f["code"] for f in json.loads(Path("out/report.json").read_text())["findings"]] == ["KL002"]
    assert json.loads(Path("out/report.sarif").read_text())["version"] == "2.1.0"


def test_with_all_outputs_in_files_a_person_still_hears_the_result(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    result = kernlint(".", "-o", "json:report.json")
    assert result.out == ""
    assert "1 warning in 1 file" in result.err


def test_statistics(kernlint: Kernlint) -> None:
    Path("a.py").write_text(UNUSED)
    assert "unused-suppression" in kernlint(".", "--statistics", "-o", "concise").out.split("\n", 1)[1]


def test_standard_input(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    feed(UNUSED)
    assert "src/a.py:4" in kernlint("--stdin-filename", "src/a.py").out
    feed(UNUSED)
    assert "<stdin>:4" in kernlint("-").out
    feed("// kernlint: ignore-file[KL101]\n__global__ void k();\n")
    assert "k.cu:1" in kernlint("-", "--stdin-filename", "k.cu", "-o", "concise").out
    feed("// nothing known\n")
    assert "neither CUDA nor Python" in kernlint("-").out


def test_color_follows_the_choice_and_the_environment(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(UNUSED)
    assert "\x1b[" not in kernlint(".").out  # not a terminal
    assert "\x1b[" in kernlint(".", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in kernlint(".").out
    assert "\x1b[" not in kernlint(".", "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in kernlint(".").out


def test_dumb_terminals_get_no_color(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlint.cli.terminal import wants_color

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert wants_color("auto", Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color("auto", Terminal())


def test_results_are_the_same_from_the_cache_and_with_more_processes(kernlint: Kernlint) -> None:
    for number in range(30):
        Path(f"f{number}.py").write_text(UNUSED + "# filler\n" * 500)
    plain = kernlint("-o", "json", ".")
    first = kernlint("check", "--jobs", "2", "-o", "json", ".")
    second = kernlint("check", "--jobs", "2", "-o", "json", ".")
    assert Path(".kernlint_cache").is_dir()
    assert plain == first == second
    assert len(json.loads(plain.out)["findings"]) == 30


def test_an_empty_folder_is_said(kernlint: Kernlint) -> None:
    result = kernlint(".")
    assert result.code == 0
    assert "no CUDA or Python files found" in result.out


def test_sarif_of_a_partial_run_needs_a_category(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlint.engine.changes import Changes

    monkeypatch.setattr("kernlint.engine.changes.changes_since", lambda ref: Changes({}))
    Path("a.py").write_text(UNUSED)
    refused = kernlint("--since", "main", "-o", "sarif:x.sarif", ".")
    assert refused.code == 2
    assert "--sarif-category" in refused.err
    assert not Path("x.sarif").exists()
    assert kernlint("--since", "main", "-o", "sarif:x.sarif", "--sarif-category", "partial", ".").code == 0
    assert "kernlint/partial/" in Path("x.sarif").read_text()


def test_github_output_writes_a_job_summary(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("a.py").write_text(UNUSED)
    Path("summary.md").write_text("# before\n")
    assert "::warning" in kernlint(".", "-o", "github").out
    assert Path("summary.md").read_text().startswith("# before\n")
    assert "unused-suppression" in Path("summary.md").read_text()


def test_a_reader_that_goes_away_is_no_error(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    Path("a.py").write_text(UNUSED * 1)
    script = f"{sys.executable} -m kernlint --no-cache . | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_no_reason_can_be_suppressed_itself(kernlint: Kernlint) -> None:
    Path("a.py").write_text(NO_REASON)
    assert kernlint(".").code == 0
