"""Bank conflicts and uncoalesced accesses in whole sources: exact numbers, and what stays silent."""

from __future__ import annotations

import re

import pytest

from kernlint.finding import Confidence, Finding
from kernlint.testing import check_source
from kernlint_rules.memory.bank_conflict import BankConflict
from kernlint_rules.memory.uncoalesced_access import UncoalescedAccess

SHARED = """\
#include <cuda_fp16.h>
__global__ void k(const TYPE* x, TYPE* y, int n) {
    __shared__ TYPE s[4096];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * blockDim.x + tx, lane = t % 32, warp = t / 32;
    s[t] = x[t];
    __syncthreads();
    y[t] = s[INDEX];
}
void launch(const TYPE* x, TYPE* y, int n) { k<<<1, dim3(BLOCK)>>>(x, y, n); }
"""
GLOBAL = """\
__global__ void k(const float* a, float* o, int rows, int cols, int stride) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= rows || y >= cols) return;
    o[0 * rows + (y * rows + x)] = a[INDEX];
}
void launch(const float* a, float* o, int rows, int cols, int stride) {
    k<<<dim3((rows + 31) / 32, (cols + 7) / 8), dim3(BLOCK)>>>(a, o, rows, cols, stride);
}
"""


def conflicts(element: str, index: str, block: str) -> list[Finding]:
    text = SHARED.replace("TYPE", element).replace("INDEX", index).replace("BLOCK", block)
    return check_source(text, rules=[BankConflict])


@pytest.mark.parametrize(
    ("element", "index", "block", "ways"),
    [
        ("float", "lane * 32 + warp", "32, 8", 32),
        ("float", "lane * 2", "256", 2),
        ("float", "lane * 4", "256", 4),
        ("float", "tx * 16 + ty", "16, 16", 8),
        ("double", "lane * 32 + warp", "32, 8", 16),
        ("float4", "lane * 8 + warp", "32, 8", 8),
        ("half", "lane * 64 + warp", "32, 8", 32),
    ],
)
def test_ways(element: str, index: str, block: str, ways: int) -> None:
    (finding,) = conflicts(element, index, block)
    assert finding.evidence["ways"] == ways
    assert (finding.confidence is Confidence.HIGH) == (ways >= 4)


@pytest.mark.parametrize(
    ("element", "index", "block"),
    [
        ("float", "lane * 33 + warp", "32, 8"),
        ("float", "warp * 32 + (lane ^ warp)", "32, 8"),
        ("float", "lane * 3", "256"),
        ("float", "warp", "256"),
        ("half", "lane * 2", "256"),
        ("half", "lane", "256"),
        ("float4", "lane + warp * 32", "256"),
        ("double", "lane", "256"),
        ("float", "tx * 17 + ty", "16, 16"),
    ],
)
def test_free_accesses(element: str, index: str, block: str) -> None:
    if element == "float" and index.startswith("tx * 17"):
        # 16 lanes a row, two rows a warp: padding to 17 leaves at most two lanes a bank.
        assert all(finding.evidence["ways"] <= 2 for finding in conflicts(element, index, block))
        return
    assert conflicts(element, index, block) == []


def sectors(index: str, block: str) -> tuple[int, int] | None:
    text = GLOBAL.replace("INDEX", index).replace("BLOCK", block)
    found = check_source(text, rules=[UncoalescedAccess], confidence=Confidence.MEDIUM)
    for finding in found:
        if "`a`" in finding.message:
            numbers = re.search(r"(\d+) sectors, not (\d+)", finding.message)
            assert numbers is not None
            return int(numbers[1]), int(numbers[2])
    return None


@pytest.mark.parametrize(
    ("index", "block", "expected"),
    [
        ("y * rows + x", "32, 8", None),
        ("x * cols + y", "32, 8", (32, 4)),
        ("x * 8", "256", (32, 4)),
        ("x / 32", "256", None),
        ("x * stride", "256", None),
        ("y * cols + x", "1, 256", (32, 4)),
        ("x * cols + y", "1, 256", None),
    ],
)
def test_sectors_follow_the_block_shape(index: str, block: str, expected: tuple[int, int] | None) -> None:
    assert sectors(index, block) == expected
