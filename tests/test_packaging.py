"""The wheel, installed into a clean environment outside the checkout, works."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("kernlint-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "kernlint/py.typed" in names
    assert "kernlint_rules/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "fixtures/"))]

    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.cu").write_text("// kernlint: ignore-file[KL101]\n__global__ void k(float* x) {}\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [tmp_path / "env" / "bin" / "kernlint", *arguments]
        return subprocess.run(command, cwd=tmp_path / "work", capture_output=True, text=True, check=False)

    assert run("--version").stdout.startswith("kernlint ")
    linted = run(".", "-o", "concise")
    assert linted.returncode == 1, linted.stderr
    assert "suppression-without-reason" in linted.stdout
