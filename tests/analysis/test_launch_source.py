"""Launch rules on whole sources: what is flagged at which confidence, and what is not."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source
from kernlint_rules.launch.grid_limit_exceeded import GridLimitExceeded
from kernlint_rules.launch.invalid_block_shape import InvalidBlockShape
from kernlint_rules.launch.shared_memory_over_limit import SharedMemoryOverLimit
from kernlint_rules.launch.unchecked_launch import UncheckedLaunch

HOST = """\
#include <cuda_runtime.h>
__global__ void k(float* x, int n, int rows) {
    extern __shared__ float s[];
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    if (threadIdx.x < n) x[blockIdx.y * n + threadIdx.x] = s[threadIdx.x];
}
cudaError_t run(float* x, int n, int rows, int heads, int batch, int threads) {
    BODY
    return cudaGetLastError();
}
"""


def strongest(rule: object, body: str, targets: tuple[str, ...] = ("sm_80",)) -> Confidence | None:
    found = check_source(HOST.replace("BODY", body), rules=[rule], targets=targets)  # type: ignore[list-item]
    return max((finding.confidence for finding in found), default=None)


@pytest.mark.parametrize(
    ("dims", "confidence"),
    [
        ("1, rows", Confidence.HIGH),
        ("1, 1, rows", Confidence.HIGH),
        ("1, batch", Confidence.MEDIUM),
        ("1, heads * batch", Confidence.MEDIUM),
        ("1, heads", Confidence.LOW),
        ("1, 70000", Confidence.HIGH),
    ],
)
def test_grid_dimensions_by_kind_of_size(dims: str, confidence: Confidence) -> None:
    body = (
        f"if (rows < 1 || batch < 1 || heads < 1) return cudaSuccess;\n    k<<<dim3({dims}), 128, 512>>>(x, n, rows);"
    )
    assert strongest(GridLimitExceeded, body) is confidence


@pytest.mark.parametrize(
    "setup",
    [
        "if (rows > 65535) return cudaErrorInvalidValue;",
        "if (rows >= 65536) return cudaErrorInvalidValue;",
        "rows = std::min(rows, 65535);",
        "if (rows > 65535) rows = 65535;",
    ],
)
def test_bounded_rows_are_silent(setup: str) -> None:
    body = f"if (rows < 1) return cudaSuccess;\n    {setup}\n    k<<<dim3(1, rows), 128, 512>>>(x, n, rows);"
    assert strongest(GridLimitExceeded, body) is None


@pytest.mark.parametrize(
    ("block", "confidence"),
    [
        ("n", Confidence.HIGH),
        ("dim3(32, 33)", Confidence.HIGH),
        ("dim3(1, 1, 65)", Confidence.HIGH),
        ("threads", Confidence.LOW),
        ("1024", None),
        ("std::min(n, 1024)", None),
    ],
)
def test_blocks(block: str, confidence: Confidence | None) -> None:
    assert strongest(InvalidBlockShape, f"k<<<1, {block}, 512>>>(x, n, rows);") is confidence


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("k<<<1, 128, 50000>>>(x, n, rows);", Confidence.HIGH),
        ("k<<<1, 128>>>(x, n, rows);", Confidence.HIGH),
        ("k<<<1, 128, 49152>>>(x, n, rows);", None),
        ("k<<<1, 128, 256>>>(x, n, rows);", Confidence.HIGH),
        ("k<<<1, 128, 512>>>(x, n, rows);", None),
        ("k<<<1, 128, n * sizeof(float)>>>(x, n, rows);", Confidence.MEDIUM),
        ("if (n > 1024) return cudaSuccess;\n    k<<<1, 128, n * sizeof(float)>>>(x, n, rows);", None),
    ],
)
def test_shared_memory(body: str, confidence: Confidence | None) -> None:
    assert strongest(SharedMemoryOverLimit, body) is confidence


def test_the_device_limit_counts_for_declared_targets() -> None:
    body = (
        "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 180000);\n"
        "    k<<<1, 128, 180000>>>(x, n, rows);"
    )
    assert strongest(SharedMemoryOverLimit, body, ("sm_90",)) is None
    assert strongest(SharedMemoryOverLimit, body, ("sm_80", "sm_86")) is Confidence.HIGH
    assert strongest(SharedMemoryOverLimit, body) is Confidence.LOW


@pytest.mark.parametrize(
    ("check", "dims", "confidence"),
    [
        ("batch > 65535", "heads, S, batch", Confidence.HIGH),
        ("batch > 65535", "S, heads, batch", Confidence.LOW),
        ("batch > 65535 || S > 65535", "heads, S, batch", None),
        ("batch > 70000", "heads, S, 1", Confidence.MEDIUM),
    ],
)
def test_checking_one_dimension_shows_that_the_other_was_forgotten(
    check: str, dims: str, confidence: Confidence | None
) -> None:
    body = f"if (batch < 1 || heads < 1 || S < 1 || {check}) return cudaErrorInvalidValue;\n    "
    text = HOST.replace("int n, int rows, int heads", "int n, int S, int rows, int heads")
    text = text.replace("BODY", body + f"k<<<dim3({dims}), 128, 512>>>(x, n, rows);")
    found = check_source(text, rules=[GridLimitExceeded])
    assert max((finding.confidence for finding in found), default=None) is confidence


def test_a_tensor_dimension_as_block_size_counts_even_when_the_kernel_reads_block_dim() -> None:
    text = (
        "#include <torch/extension.h>\n"
        "__global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f; }\n"
        "void run(torch::Tensor x) {\n    const int rows = x.size(0), n = x.size(1);\n"
        "    TORCH_CHECK(rows > 0 && n > 0CHECK);\n    k<<<rows, n>>>(x.data_ptr<float>());\n}\n"
    )
    (found,) = check_source(text.replace("CHECK)", ")"), rules=[InvalidBlockShape])
    assert found.confidence is Confidence.HIGH
    assert check_source(text.replace("CHECK)", " && n <= 1024)"), rules=[InvalidBlockShape]) == []


def test_a_status_read_after_the_launch_is_enough() -> None:
    assert strongest(UncheckedLaunch, "k<<<1, 128, 512>>>(x, n, rows);") is None
