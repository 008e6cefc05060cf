"""Warp intrinsics that only some lanes reach, on whole sources, with the correct look-alikes beside them."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source, strip_markers
from kernlint_rules.sync.warp_mask_mismatch import WarpMaskMismatch

KERNEL = """\
#define FULL 0xffffffffu
__device__ float total(float v) {
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}
template <int WARPS>
__global__ void k(const float* x, float* y, const int* lengths, int n, int rows) {
    __shared__ float s[256];
    const int t = threadIdx.x, lane = t & 31, warp = t / 32, i = blockIdx.x * 256 + t;
    float v = x[t];
BODY
    y[t] = v;
}
void launch(const float* x, float* y, const int* lengths, int n, int rows) {
CHECK
    k<8><<<(n + 255) / 256, 256>>>(x, y, lengths, n, rows);
}
"""
SILENT = {
    "one warp": "if (t < 32) v = total(v);",
    "half the warps": "if (warp < 4) v = total(v);",
    "a row per warp": "if (blockIdx.x * 8 + warp < rows) v = total(v);",
    "groups of eight, in whole groups": "if (i / 32 < rows) v += __shfl_xor_sync(FULL, v, 4, 8);",
    "only the lanes named": "if (lane < 8) v += __shfl_down_sync(0xff, v, 4, 8);",
    "lanes that are there now": "if (i < n) v += __shfl_down_sync(__activemask(), v, 1);",
    "data decides": "if (v > 0.0f) v = total(v);",
    "a length per block": "for (int c = 0; c < lengths[blockIdx.x]; ++c) v = total(v);",
    "rounded up to whole warps": "for (int c = lane; c < (n + 31) / 32 * 32; c += 32) v = total(c < n ? x[c] : 0.0f);",
    "both arms shuffle": "if (lane < 16) v = __shfl_sync(FULL, v, 0); else v = __shfl_sync(FULL, v, 16);",
    "a barrier after lanes have left": "if (i >= n) return;\n__syncwarp();",
    "the last warps return": "if (t >= 64) return;\nv = total(v);",
}
HIGH = {
    "elements past the end": "if (i < n)\n    v = total(v);  //~ KL204",
    "elements past the end left": "if (i >= n) return;\nv = total(v);  //~ KL204",
    "as many lanes as warps": "if (t < WARPS)\n    v += __shfl_down_sync(FULL, v, 4);  //~ KL204",
    "first lane reads the others": "if (lane == 0)\n    v += __shfl_sync(FULL, v, 5);  //~ KL204",
}
MEDIUM = {
    "last turn of a row": "for (int c = lane; c < n; c += 32)\n    v = total(x[c]);  //~ KL204",
    "vote of some": "if (lane < 8)\n    v += __ballot_sync(FULL, v > 1.0f);  //~ KL204",
    "barrier for some": "if (lane < 8) {\n    s[t] = v;\n    __syncwarp();  //~ KL204\n}",
    "nobody reads an absent lane": "if (lane < 8)\n    v += __shfl_xor_sync(FULL, v, 4);  //~ KL204",
}


def source(body: str, check: str = "") -> str:
    return KERNEL.replace("BODY", body).replace("CHECK", check)


def flagged_lines(text: str, confidence: Confidence) -> tuple[list[int], list[int]]:
    text, marks = strip_markers(text)
    found = check_source(text, rules=[WarpMaskMismatch], confidence=confidence)
    return sorted({text.encode().count(b"\n", 0, f.span.start) + 1 for f in found}), sorted(marks)


@pytest.mark.parametrize("title", SILENT)
def test_silent_even_with_audit(title: str) -> None:
    assert flagged_lines(source(SILENT[title]), Confidence.LOW)[0] == []


@pytest.mark.parametrize("title", HIGH)
def test_flagged_by_default(title: str) -> None:
    found, expected = flagged_lines(source(HIGH[title]), Confidence.HIGH)
    assert found == expected


@pytest.mark.parametrize("title", MEDIUM)
def test_flagged_when_asked_for(title: str) -> None:
    found, expected = flagged_lines(source(MEDIUM[title]), Confidence.MEDIUM)
    assert found == expected
    assert flagged_lines(source(MEDIUM[title]), Confidence.HIGH)[0] == []


def test_sizes_known_to_fill_every_warp_make_the_guard_whole() -> None:
    text = source("if (i < n) v = total(v);", "    if (n % 32 != 0) return;")
    assert flagged_lines(text, Confidence.LOW)[0] == []
