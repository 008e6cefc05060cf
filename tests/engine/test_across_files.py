"""With the real front ends: a launch in one file and its kernel in another are checked together."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.engine.check import Settings
from kernlint.engine.discover import Discovery, discover
from kernlint.engine.packs import load_rules
from kernlint.engine.run import Run, run

_KERNEL = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2.0 * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)
"""
_WRAPPER = """import torch
{imports}


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    {name}[({tiles},)](x, y, n, BLOCK=256)
    return y
"""
_HEADER = """#pragma once
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
_MAIN = '#include "sub/k.cuh"\nvoid run(const float* x, float* y, int n) {{ scale<<<{tiles}, 256>>>(x, y, n); }}\n'
_SHORT, _FULL = "n // 256", "triton.cdiv(n, 256)"


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def _uncovered() -> list[tuple[str, int]]:
    """Files and lines where the grid leaves the tail out."""
    files, _ = discover(["."], Discovery(base="."))
    rules = tuple(rule for rule in load_rules() if rule.code == "KL108")
    outcome, sources = run(files, Run(Settings(rules), rules))
    assert outcome.notifications == ()
    return [(f.span.path, sources[f.span.path].line_of(f.span.start)) for f in outcome.findings]


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from .kern import scale", "scale"),
        ("from .kern import scale as kernel", "kernel"),
        ("from . import exported", "exported"),
        ("from pkg.kern import scale", "scale"),
    ],
)
def test_triton_through_imports(imports: str, name: str) -> None:
    _write("pkg/__init__.py", "from .kern import scale as exported\n")
    _write("pkg/kern.py", _KERNEL)
    _write("pkg/other.py", _KERNEL)  # the same name elsewhere
    _write("pkg/wrap.py", _WRAPPER.format(imports=imports, name=name, tiles=_SHORT))
    assert _uncovered() == [("pkg/wrap.py", 8)]
    _write("pkg/wrap.py", _WRAPPER.format(imports=f"import triton\n{imports}", name=name, tiles=_FULL))
    assert _uncovered() == []


def test_cuda_through_includes() -> None:
    _write("sub/k.cuh", _HEADER)
    _write("other/k.cuh", _HEADER)
    _write("main.cu", _MAIN.format(tiles="n / 256"))
    assert _uncovered() == [("main.cu", 2)]
    _write("main.cu", _MAIN.format(tiles="(n + 255) / 256"))
    assert _uncovered() == []
