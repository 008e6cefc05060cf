"""A second opinion on the SARIF output: Microsoft's Sarif.Multitool, where npm can get it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

from report_sample import sample_report
from sarif_conformance import complaints

from kernlint.report import render

_PACKAGE = "@microsoft/sarif-multitool"
_CACHE = Path(tempfile.gettempdir()) / "kernlint-sarif-multitool"


def multitool() -> list[str] | None:
    """The command that runs the validator; None when npm or the package cannot be had."""
    npm, npx = shutil.which("npm"), shutil.which("npx")
    if npm is None or npx is None:
        return None
    if not (_CACHE / "node_modules" / ".bin" / "sarif-multitool").exists():
        _CACHE.mkdir(exist_ok=True)
        install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(_CACHE), _PACKAGE]
        try:
            subprocess.run(install, check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError):
            return None
    return [npx, "--prefix", str(_CACHE), "--no-install", "sarif-multitool"]


def validator_errors(path: Path) -> list[str] | None:
    """Errors in the validator's own report: its exit code is 0 whatever it finds.  None when it cannot be run."""
    command = multitool()
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
    return [_described(result) for result in run["results"] if result.get("level", "warning") == "error"]


def _described(result: dict[str, Any]) -> str:
    message = result["message"]
    return f"{result.get('ruleId')}: {message.get('text') or message.get('arguments')}"


def test_sarif_multitool_finds_no_errors(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sarif", tmp_path / "bad.sarif"
    text = render("sarif", sample_report())
    good.write_text(text, "utf-8")
    assert complaints(text) == []
    log = json.loads(text)
    del log["runs"][0]["results"][0]["locations"]
    bad.write_text(json.dumps(log), "utf-8")

    errors = validator_errors(good)
    if errors is None:
        warnings.warn("sarif-multitool could not be had; only kernlint's own conformance check was run", stacklevel=1)
        return
    assert errors == []
    assert validator_errors(bad) != []
