"""`kernlint print`: what was understood of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_samples import Kernlint

_CUDA = """__global__ void scale(float* x, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) x[i] = 2 * tile[threadIdx.x];
}
void launch(float* x, int n) { scale<<<(n + 63) / 64, 64>>>(x, n); }
"""


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("--ir", ["kernel scale(x, n)", "line 1"]),
        ("--cfg", ["kernel scale"]),
        ("--accesses", ["x[", "tile["]),
        ("--barriers", ["__syncthreads", "line 5"]),
        ("--launches", ["scale", "line 8"]),
    ],
)
def test_each_view_shows_its_part(kernlint: Kernlint, view: str, words: list[str]) -> None:
    Path("k.cu").write_text(_CUDA)
    result = kernlint("print", view, "k.cu")
    assert result.code == 0, result.err
    for word in words:
        assert word in result.out


def test_the_whole_is_shown_by_default(kernlint: Kernlint) -> None:
    Path("k.cu").write_text(_CUDA)
    assert kernlint("print", "k.cu").out == kernlint("print", "--ir", "k.cu").out


@pytest.mark.parametrize(("name", "content"), [("gone.cu", None), ("bin.cu", b"\0"), ("x.txt", b"hello")])
def test_files_that_cannot_be_read_are_an_error(kernlint: Kernlint, name: str, content: bytes | None) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    result = kernlint("print", name)
    assert result.code == 2
    assert name in result.err


def test_a_folder_is_an_error(kernlint: Kernlint) -> None:
    assert kernlint("print", ".").code == 2
