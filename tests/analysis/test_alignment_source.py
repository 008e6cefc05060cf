"""Alignment of vector accesses on whole sources: which sizes count as known."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source
from kernlint_rules.memory.misaligned_vector_access import MisalignedVectorAccess

KERNEL = """\
template <typename Traits, typename T>
__global__ void copy(const float* x, float* y, int n, int dim) {
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * LENGTH);
    float4 v = row[threadIdx.x];
    y[blockIdx.x * 128 + threadIdx.x] = v.x + v.y + v.z + v.w;
}
template <typename Traits, typename T>
void launch(const float* x, float* y, int rows, int n) {
    copy<Traits, T><<<rows, 128>>>(x, y, n, HEAD_DIM);
}
"""


@pytest.mark.parametrize(
    ("length", "confidence"),
    [
        ("n", Confidence.HIGH),
        ("33", Confidence.HIGH),
        ("36", None),
        # constants whose value is not seen: whoever chose them may have chosen well
        ("Traits::kDim", None),
        ("dim", Confidence.LOW),
        ("sizeof(T)", None),
    ],
)
def test_only_sizes_that_run_time_decides_are_certain(length: str, confidence: Confidence | None) -> None:
    found = check_source(KERNEL.replace("LENGTH", length), rules=[MisalignedVectorAccess])
    assert max((finding.confidence for finding in found), default=None) is confidence
