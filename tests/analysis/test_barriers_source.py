"""Divergent barriers in whole sources, with the correct look-alikes beside them."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source, strip_markers
from kernlint_rules.sync.barrier_divergence import BarrierDivergence

KERNEL = """\
__device__ void meet() { __syncthreads(); }
__global__ void k(const float* x, float* y, const int* lengths, int n, int rows) {
    __shared__ float s[256];
    __shared__ int done;
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
BODY
    y[i] = s[255 - t];
}
void launch(const float* x, float* y, const int* lengths, int n, int rows) {
CHECK
    k<<<(n + 255) / 256, 256>>>(x, y, lengths, n, rows);
}
"""
SILENT = {
    "whole blocks leave": "if (blockIdx.x >= rows) return;\n__syncthreads();",
    "branch on a parameter": "if (n > 100) __syncthreads();",
    "branch that all 256 threads take": "if (t < 256) { s[t] = x[i]; __syncthreads(); }",
    "halving for all": (
        "for (int h = blockDim.x / 2; h > 0; h >>= 1) { if (t < h) s[t] += s[t + h]; __syncthreads(); }"
    ),
    "equal trip counts": "for (int c = t; c < 1024; c += 256) { s[t] = x[c]; __syncthreads(); }",
    "length read at a uniform index": "int len = lengths[blockIdx.x];\nif (len == 0) return;\n__syncthreads();",
    "loop to a uniform length": "for (int c = 0; c < lengths[blockIdx.x]; ++c) { s[t] = x[c]; __syncthreads(); }",
    "rounded up, so that all turn alike": (
        "for (int c = t; c < (n + 255) / 256 * 256; c += 256) { if (c < n) s[t] = x[c]; __syncthreads(); }"
    ),
    "decision made together": (
        "while (true) {\n    if (__syncthreads_or(x[i] > 0.0f)) break;\n    s[t] += 1.0f;\n    __syncthreads();\n}"
    ),
    "flag in shared memory": (
        "if (t == 0) done = n;\n__syncthreads();\nwhile (done > 0) {\n    __syncthreads();\n"
        "    if (t == 0) done -= 1;\n    __syncthreads();\n}"
    ),
    "both arms meet one barrier": "if (t < 128) { s[t] = 1.0f; __syncthreads(); } else { __syncthreads(); }",
    "warp barrier in a thread branch": "if (t < 7) { s[t] = 0.0f; }\n__syncwarp();",
    "work is guarded, not the barrier": "if (i < n) s[t] = x[i];\n__syncthreads();",
    "leaving after the last barrier": "s[t] = x[t];\n__syncthreads();\nif (i >= n) return;",
}
FLAGGED = {
    "early return": "if (i >= n) return;  //~ KL203\n__syncthreads();",
    "nested early return": "if (n > 5) {\n    if (i >= n) return;  //~ KL203\n}\n__syncthreads();",
    "barrier in a branch": "if (t < 128) {\n    s[t] = x[i];\n    __syncthreads();  //~ KL203\n}",
    "guarded block": "if (i < n) {\n    s[t] = x[i];\n    __syncthreads();  //~ KL203\n}",
    "data of each thread decides": "if (x[i] > 0.0f) {\n    __syncthreads();  //~ KL203\n}",
    "leaving a loop one by one": (
        "for (int c = 0; c < n; ++c) {\n    if (x[i * n + c] < 0.0f) break;  //~ KL203\n    __syncthreads();\n}"
    ),
    "halving while the thread takes part": (
        "for (int h = blockDim.x / 2; t < h; h >>= 1) {\n    __syncthreads();  //~ KL203\n    s[t] += s[t + h];\n}"
    ),
    "strided loop": "for (int c = t; c < n; c += 256) {\n    s[t] = x[c];\n    __syncthreads();  //~ KL203\n}",
    "length of each thread": (
        "for (int c = 0; c < lengths[i]; ++c) {\n    s[t] += x[c];\n    __syncthreads();  //~ KL203\n}"
    ),
    "else arm only": "if (t < 32) {\n    s[t] = 1.0f;\n} else {\n    __syncthreads();  //~ KL203\n}",
}


def source(body: str, check: str = "") -> str:
    return KERNEL.replace("BODY", body).replace("CHECK", check)


def flagged_lines(text: str, confidence: Confidence) -> tuple[list[int], list[int]]:
    text, marks = strip_markers(text)
    found = check_source(text, rules=[BarrierDivergence], confidence=confidence)
    return sorted({text.encode().count(b"\n", 0, f.span.start) + 1 for f in found}), sorted(marks)


@pytest.mark.parametrize("title", SILENT)
def test_silent_even_with_audit(title: str) -> None:
    assert flagged_lines(source(SILENT[title]), Confidence.LOW)[0] == []


@pytest.mark.parametrize("title", FLAGGED)
def test_flagged(title: str) -> None:
    found, expected = flagged_lines(source(FLAGGED[title]), Confidence.MEDIUM)
    assert found == expected


def test_a_barrier_in_a_helper_is_reported_at_the_call_under_the_branch() -> None:
    text = source("if (t < 128) {\n    s[t] = x[i];\n    meet();\n}")
    call = next(number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "meet();")
    found, _ = flagged_lines(text, Confidence.HIGH)
    assert found == [call]


def test_a_branch_inside_a_helper_is_reported_there() -> None:
    helper = "__device__ void meet() {\n    if (threadIdx.x < 9)\n        __syncthreads();\n}"
    text = source("meet();\ns[t] = 0.0f;\nmeet();").replace("__device__ void meet() { __syncthreads(); }", helper)
    found, _ = flagged_lines(text, Confidence.HIGH)
    assert found == [3]


def test_sizes_known_to_fill_every_block_make_the_early_return_uniform() -> None:
    text = source("if (i >= n) return;\n__syncthreads();", "    if (n % 256 != 0) return;")
    assert flagged_lines(text, Confidence.LOW)[0] == []


def test_a_barrier_that_protects_no_shared_memory_does_not_wait_for_those_who_left() -> None:
    text = (
        "__global__ void k(float* y, int n) {\n    int i = blockIdx.x * 128 + threadIdx.x;\n"
        "DECLARE    if (i >= n) return;\n    __syncthreads();\n    y[i] = USE;\n}\n"
        "void launch(float* y, int n) { k<<<(n + 127) / 128, 128>>>(y, n); }\n"
    )
    bare = text.replace("DECLARE", "").replace("USE", "1.0f")
    assert flagged_lines(bare, Confidence.HIGH)[0] == []
    assert flagged_lines(bare, Confidence.MEDIUM)[0] == [3]
    filled = text.replace("DECLARE", "    __shared__ float s[128];\n").replace("USE", "s[127 - threadIdx.x]")
    assert flagged_lines(filled, Confidence.HIGH)[0] == [4]


def test_a_strided_loop_whose_launch_is_not_seen_is_less_certain() -> None:
    text = source(FLAGGED["strided loop"])
    unseen = text[: text.index("void launch")]
    assert flagged_lines(unseen, Confidence.HIGH)[0] == []
    assert flagged_lines(unseen, Confidence.MEDIUM) == flagged_lines(text, Confidence.HIGH)
