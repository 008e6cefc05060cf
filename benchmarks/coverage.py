"""How much of the corpora is understood:  python benchmarks/coverage.py [--into DIR] [NAME...]

Per package: functions under `@triton.jit` and `__global__` definitions found in the text, how many of them were lifted
whole, and the share of their memory accesses whose buffer and index are known.  Then what blocks the rest.

The definitions in the text are counted independently of the front ends: jit functions with `ast`, kernels by scanning
the source without comments, strings and preprocessor lines for `__global__` followed by a body.
"""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from corpora import Corpus, arguments

from kernlint.ir.kernel import Framework, Kernel
from kernlint.lift import lift_module
from kernlint.source.file import CUDA, PYTHON, SourceFile
from kernlint.source.project import Project

_JIT = {"triton.jit", "jit", "triton.runtime.jit", "gluon.jit", "triton.experimental.gluon.jit"}
_CUDA_SUFFIXES = {".cu", ".cuh", ".h", ".hpp"}
_NOISE = re.compile(
    rb"""//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|^[ \t]*\#(?:\\\r?\n|[^\n])*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass
class Count:
    written: int = 0
    lifted: int = 0
    accesses: int = 0
    known: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, kernel: Kernel) -> None:
        self.lifted += not kernel.incomplete
        for access in kernel.accesses:
            self.accesses += 1
            self.known += access.index_is_known
        self.reasons.update(kernel.opaque_reasons)
        if kernel.incomplete:
            self.reasons[f"incomplete: {kernel.incomplete}"] += 1

    def row(self, name: str, what: str) -> str:
        share = 100 * self.lifted / self.written if self.written else 100.0
        index = 100 * self.known / self.accesses if self.accesses else 100.0
        return (
            f"{name:<20} {what:<11} {self.written:>6} {self.lifted:>6} {share:>6.1f} %"
            f" {self.accesses:>8} {self.known:>8} {index:>6.1f} %"
        )


def jit_functions(text: bytes) -> int:
    """Functions decorated with `jit`, under any prefix, in a Python file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return 0
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if ast.unparse(target) in _JIT:
                    found += 1
                    break
    return found


def global_definitions(text: bytes) -> int:
    """`__global__` followed by a parameter list and a body, outside comments, strings and macros."""
    clean = _NOISE.sub(lambda m: b" ", text)
    found = 0
    for match in re.finditer(rb"\b__global__\b", clean):
        rest = clean[match.end() : match.end() + 20000]
        body, stop = rest.find(b"{"), rest.find(b";")
        found += body >= 0 and (stop < 0 or body < stop)
    return found


def measure(corpus: Corpus) -> tuple[Count, Count]:
    triton, cuda = Count(), Count()
    resolver = Project([str(root) for root in corpus.roots])
    for root in corpus.roots:
        for path in sorted(p for p in root.rglob("*") if p.suffix in _CUDA_SUFFIXES | {".py"} and p.is_file()):
            _measure_file(path, resolver, triton, cuda)
    return triton, cuda


def _measure_file(path: Path, resolver: Project, triton: Count, cuda: Count) -> None:
    data = path.read_bytes()
    python = path.suffix == ".py"
    if python and b"triton" in data and b"jit" in data:
        triton.written += jit_functions(data)
    elif not python:
        cuda.written += global_definitions(data)
    module = lift_module(SourceFile(str(path), data, PYTHON if python else CUDA), resolver)
    for kernel in module.kernels:
        if kernel.framework is Framework.TRITON:
            triton.add(kernel)
        elif not python:
            cuda.add(kernel)


def main() -> None:
    _, items = arguments(__doc__ or "")
    gc.disable()
    print(
        f"{'package':<20} {'what':<11} {'text':>6} {'lifted':>6} {'share':>8} {'accesses':>8} {'known':>8} {'share':>8}"
    )
    totals = (Count(), Count())
    for corpus in items:
        if not corpus.folder.exists():
            print(f"{corpus.name:<20} not fetched")
            continue
        for count, total, what in zip(measure(corpus), totals, ("@triton.jit", "__global__"), strict=True):
            if count.written or count.lifted:
                print(count.row(corpus.name, what), flush=True)
            total.written += count.written
            total.lifted += count.lifted
            total.accesses += count.accesses
            total.known += count.known
            total.reasons.update(count.reasons)
        gc.collect()
    for total, what in zip(totals, ("@triton.jit", "__global__"), strict=True):
        print(total.row("all", what))
        for reason, times in total.reasons.most_common(12):
            print(f"    {times:>6}  {reason}")


if __name__ == "__main__":
    main()
