"""A second opinion on the SARIF output: Microsoft's Sarif.Multitool, where npm can get it."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
from report_sample import sample_report
from sarif_conformance import complaints

from kernlint.report import render

_PACKAGE = "@microsoft/sarif-multitool"


def multitool(folder: Path) -> list[str] | None:
    """The command that runs the validator; None when npm or the package cannot be had."""
    npm, npx = shutil.which("npm"), shutil.which("npx")
    if npm is None or npx is None:
        return None
    if not (folder / "node_modules" / ".bin" / "sarif-multitool").exists():
        install = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix", str(folder), _PACKAGE]
        try:
            subprocess.run(install, check=True, capture_output=True, timeout=60)
        except (subprocess.SubprocessError, OSError):
            return None
    return [npx, "--prefix", str(folder), "--no-install", "sarif-multitool"]


def validator_errors(path: Path, folder: Path) -> list[str] | None:
    """Errors in the validator's own report: its exit code is 0 whatever it finds.  None when it cannot be run."""
    command = multitool(folder)
    if command is None:
        return None
    report = path.with_suffix(".report.sarif")
    # The package's launcher hands its arguments to a shell; the semicolons need their own quotes.
    command += ["validate", str(path), "--rule-kind", '"Sarif;Ghas"', "--level", '"Error;Warning;Note"']
    command += ["--output", str(report), "--log", '"ForceOverwrite;PrettyPrint"']
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, cwd=path.parent, text=True)
    except (subprocess.SubprocessError, OSError):
        return None
    if not report.exists():
        return [f"no report: {done.stdout[-500:]} {done.stderr[-500:]}"]
    (run,) = json.loads(report.read_text("utf-8-sig"))["runs"]
    return [_described(result) for result in run["results"] if _level(result, run) == "error"]


def _level(result: dict[str, Any], run: dict[str, Any]) -> str:
    """The result's level, or that of its rule: a level equal to the default may be left out."""
    rules = {rule["id"]: rule for rule in run["tool"]["driver"].get("rules", [])}
    default = rules.get(result.get("ruleId"), {}).get("defaultConfiguration", {}).get("level", "warning")
    return str(result.get("level", default))


def _described(result: dict[str, Any]) -> str:
    message = result["message"]
    return f"{result.get('ruleId')}: {message.get('text') or message.get('arguments')}"


def test_sarif_multitool_finds_no_errors(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    cache = pytestconfig.cache
    folder = cache.mkdir("sarif-multitool") if cache is not None else tmp_path
    good, bad = tmp_path / "good.sarif", tmp_path / "bad.sarif"
    text = render("sarif", sample_report())
    good.write_text(text, "utf-8")
    assert complaints(text) == []
    log = json.loads(text)
    del log["runs"][0]["results"][0]["locations"]
    bad.write_text(json.dumps(log), "utf-8")

    errors = validator_errors(good, folder)
    if errors is None:
        warnings.warn("sarif-multitool could not be had; only kernlint's own conformance check was run", stacklevel=1)
        return
    assert errors == []
    assert validator_errors(bad, folder) != []
