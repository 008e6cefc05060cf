"""How fast linting is, as ratios in one run:  python benchmarks/speed.py [--into DIR] [NAME...]

The files are a pinned sample: of each language the files in the order of a hash of their path, up to `SAMPLE` bytes.
On the same files, one after the other: a bare parse (tree-sitter-cuda for CUDA, `ast` for Python), `kernlint` on one
core and on all, without and with a warm cache; and, when they are installed, `ruff check --select ALL` and semgrep with
three Python rules on the Python files.  CPU seconds (user + system, children included) are the figure to compare: wall
time is noisy.  Also the cold start on one file and the peak memory of a run.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from corpora import Corpus, arguments

_PARSE = """
import ast, gc, sys, warnings
warnings.simplefilter("ignore")
gc.disable()
if sys.argv[1] == "cuda":
    import tree_sitter, tree_sitter_cuda
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
for line in sys.stdin:
    data = open(line.rstrip("\\n"), "rb").read()
    if sys.argv[1] == "cuda":
        parser.parse(data)
    else:
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            pass
"""

_SEMGREP = """
rules:
  - {id: a, languages: [python], severity: INFO, message: load, pattern: tl.load($P)}
  - {id: b, languages: [python], severity: INFO, message: grid, pattern: "$K[$G](...)"}
  - {id: c, languages: [python], severity: INFO, message: dot, pattern: "tl.dot($A, $B)"}
"""


SAMPLE = 3_000_000  # bytes of each language


@dataclass(frozen=True)
class Cost:
    """CPU seconds, wall seconds and peak resident MiB of one command."""

    cpu: float
    wall: float
    peak: float


def cost(command: list[str], stdin: str = "", cwd: Path | None = None) -> Cost:
    """Run a command to its end, whatever its exit code, in a child of its own so that its usage can be told apart."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        start = time.perf_counter()
        subprocess.run(command, input=stdin.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd)
        wall = time.perf_counter() - start
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(writer, f"{usage.ru_utime + usage.ru_stime} {wall} {usage.ru_maxrss / 1024}".encode())
        os._exit(0)
    os.close(writer)
    text = os.read(reader, 200).decode()
    os.close(reader)
    os.waitpid(pid, 0)
    return Cost(*(float(part) for part in text.split()))


def _kernlint(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kernlint", *arguments, "--output", "concise", "--exit-zero"]


def _row(what: str, measured: Cost, base: Cost | None) -> None:
    ratio = f"{measured.cpu / base.cpu:>7.2f}x" if base is not None and base.cpu > 0 else " " * 8
    print(f"  {what:<34} {measured.cpu:>8.2f} {measured.wall:>8.2f} {measured.peak:>7.0f} {ratio}", flush=True)


def _compare(title: str, files: list[Path], language: str) -> None:
    if not files:
        return
    listing = "".join(f"{path}\n" for path in files)
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{title}: {len(files)} files, {size:.1f} MB")
    print(f"  {'':<34} {'cpu s':>8} {'wall s':>8} {'MiB':>7} {'to parse':>8}")
    base = cost([sys.executable, "-c", _PARSE, language], listing)
    _row("bare parse", base, base)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "tree"
        for number, path in enumerate(files):
            copy = work / str(number) / path.name
            copy.parent.mkdir(parents=True)
            shutil.copyfile(path, copy)
        _row("kernlint, one core, no cache", cost(_kernlint("--no-cache", "--jobs", "1", "."), cwd=work), base)
        _row("kernlint, all cores, cold cache", cost(_kernlint("."), cwd=work), base)
        _row("kernlint, unchanged files", cost(_kernlint("."), cwd=work), base)
        ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if language == "python" and ruff:
            _row(
                "ruff check --select ALL",
                cost([ruff, "check", "--isolated", "--no-cache", "--select", "ALL", "."], cwd=work),
                base,
            )
        semgrep = shutil.which("semgrep")
        if language == "python" and semgrep:
            rules = Path(folder) / "rules.yml"
            rules.write_text(_SEMGREP)
            command = [semgrep, "scan", "--metrics=off", "--disable-version-check", "--config", str(rules), "."]
            _row("semgrep, three rules", cost(command, cwd=work), base)


def _files(items: list[Corpus], suffixes: set[str]) -> list[Path]:
    """Files of interest: with a kernel in them for CUDA, with Triton in them for Python."""
    mark = b"triton" if ".py" in suffixes else b"__global__"
    found: dict[str, Path] = {}
    for corpus in items:
        for root in corpus.roots:
            for path in sorted(root.rglob("*")):
                if path.suffix in suffixes and path.is_file() and mark in path.read_bytes():
                    name = path.relative_to(corpus.target).as_posix()
                    found[hashlib.blake2b(name.encode(), digest_size=8).hexdigest()] = path
    chosen, size = [], 0
    for key in sorted(found):
        size += found[key].stat().st_size
        if size > SAMPLE:
            break
        chosen.append(found[key])
    return chosen


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package comes compiled
    _, items = arguments(__doc__ or "")
    items = [corpus for corpus in items if corpus.folder.exists()]
    _compare("Triton", _files(items, {".py"}), "python")
    _compare("CUDA", _files(items, {".cu", ".cuh"}), "cuda")
    print("cold start")
    _row("kernlint --version", cost([sys.executable, "-m", "kernlint", "--version"]), None)
    pairs = Path(__file__).resolve().parent.parent / "fixtures" / "pairs"
    for name in ("layernorm/bad.py", "fliptile/bad.cu"):
        _row(f"one file: {name}", cost(_kernlint("--no-cache", str(pairs / name))), None)


if __name__ == "__main__":
    main()
