"""Shared-memory races in whole sources, with the correct look-alikes beside them."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source, strip_markers
from kernlint_rules.sync.shared_memory_race import SharedMemoryRace

BLOCK_REDUCE = """\
__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}
__device__ float block_sum(float v) {
    __shared__ float sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    FIRST
    if (lane == 0) sums[warp] = v;MARK
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? sums[lane] : 0.0f;
    return warp_sum(v);
}
__global__ void norm(const float* x, float* y, int n) {
    float a = block_sum(x[blockIdx.x * n + threadIdx.x]);
    float b = block_sum(a * x[blockIdx.x * n + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = b;
}
void launch(const float* x, float* y, int rows, int n) { norm<<<rows, 256>>>(x, y, n); }
"""
MATMUL = """\
#define T 16
__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0.0f;
    for (int k = 0; k < n; k += T) {
        as[ty][tx] = a[row * n + k + tx];MARK_A
        bs[ty][tx] = b[(k + ty) * n + col];MARK_B
        __syncthreads();
        for (int i = 0; i < T; ++i) acc += as[ty][i] * bs[i][tx];
        END
    }
    c[row * n + col] = acc;
}
void launch(const float* a, const float* b, float* c, int n) {
    matmul<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
}
"""
BROADCAST = """\
__global__ void scale(const float* x, float* y, int rows) {
    __shared__ float mean;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        if (threadIdx.x == 0) mean = x[r];MARK
        __syncthreads();
        y[r * 128 + threadIdx.x] = mean;
        END
    }
}
void launch(const float* x, float* y, int rows) { scale<<<64, 128>>>(x, y, rows); }
"""
PING_PONG = """\
__global__ void scan(const float* x, float* y) {
    __shared__ float buf[2][256];
    int t = threadIdx.x, from = 0;
    buf[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        buf[1 - from][t] = t >= d ? buf[from][t] + buf[from][t - d] : buf[from][t];
        from = 1 - from;
        __syncthreads();
    }
    y[t] = buf[from][t];
}
void launch(const float* x, float* y) { scan<<<1, 256>>>(x, y); }
"""
IN_PLACE_SCAN = PING_PONG.replace("buf[1 - from][t] =", "buf[0][t] =").replace("buf[from]", "buf[0]")
WARP_PRIVATE = """\
__global__ void rows(const float* x, float* y) {
    __shared__ float s[4][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    s[warp][lane] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[warp][31 - lane];
}
void launch(const float* x, float* y) { rows<<<1, 128>>>(x, y); }
"""
CARVED = """\
__global__ void two(const float* x, float* y, int n) {
    extern __shared__ float memory[];
    float* a = memory;
    float* b = memory + n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { a[i] = x[i]; b[i] = 2.0f * x[i]; }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = a[n - 1 - i] + b[i];
}
void launch(const float* x, float* y, int n) { two<<<1, 256, 2 * n * sizeof(float)>>>(x, y, n); }
"""
NAMED = """\
__global__ void special(const float* x, float* y) {
    __shared__ float s[128];
    if (threadIdx.x < 128) {
        s[threadIdx.x] = x[threadIdx.x];
        asm volatile("bar.arrive 1, 256;");
    } else {
        asm volatile("bar.sync 1, 256;");
        y[threadIdx.x - 128] = s[255 - threadIdx.x];
    }
}
void launch(const float* x, float* y) { special<<<1, 256>>>(x, y); }
"""
SAME_VALUE = """\
__global__ void any_negative(const float* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[threadIdx.x] < 0.0f) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) *y = found;
}
void launch(const float* x, int* y) { any_negative<<<1, 256>>>(x, y); }
"""
HISTOGRAM = """\
__global__ void histogram(const int* x, int* y, int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    y[threadIdx.x] = bins[threadIdx.x];
}
void launch(const int* x, int* y, int n) { histogram<<<1, 256>>>(x, y, n); }
"""
WARP_TAIL = """\
__device__ void finish(volatile float* s, int t) {
    s[t] += s[t + 16];  //~ KL201
    s[t] += s[t + 8];
    s[t] += s[t + 4];
}
__global__ void sum(const float* x, float* y) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) finish(s, threadIdx.x);
    if (threadIdx.x == 0) y[0] = s[0];
}
void launch(const float* x, float* y) { sum<<<1, 64>>>(x, y); }
"""
UNCLEARED = HISTOGRAM.replace("    __syncthreads();\n", "", 1).replace("1);", "1);  //~ KL201")
OVERLAID = """\
__global__ void overlay(const float* x, float* y, int n) {
    extern __shared__ char memory[];
    float* a = reinterpret_cast<float*>(memory);
    float* b = reinterpret_cast<float*>(memory + 128);
    if (threadIdx.x < n) {
        a[threadIdx.x] = x[threadIdx.x];
        b[threadIdx.x] = y[threadIdx.x];
    }
}
void launch(const float* x, float* y, int n) { overlay<<<1, 256, 256>>>(x, y, n); }
"""
REDUNDANT = """\
__global__ void redundant(const float* x, float* y) {
    __shared__ float s[32];
    s[threadIdx.x % 32] = x[blockIdx.x * 32 + threadIdx.x % 32];
    __syncthreads();
    y[threadIdx.x] = s[31 - threadIdx.x % 32];
}
void launch(const float* x, float* y) { redundant<<<1, 128>>>(x, y); }
"""
ASYNC = """\
#include <cuda_pipeline.h>
__global__ void copy(const float* x, float* y) {
    __shared__ float s[256];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);MARK
    __pipeline_commit();
    __pipeline_wait_prior(0);
    SYNC
    y[threadIdx.x] = s[255 - threadIdx.x];
}
void launch(const float* x, float* y) { copy<<<1, 256>>>(x, y); }
"""
LATE = """\
__global__ void late(const float* x, float* y, int n) {
    __shared__ float s[128];
    float v = x[threadIdx.x];
    if (n > 4) {
        s[threadIdx.x] = v;MARK
        if (n > 8) __syncthreads();
    }
    SYNC
    y[threadIdx.x] = s[127 - threadIdx.x];
}
void launch(const float* x, float* y, int n) { late<<<1, 128>>>(x, y, n); }
"""
FLAG = "  //~ KL201"


def fill(text: str, **parts: str) -> str:
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def lines(source: str, confidence: Confidence) -> tuple[list[int], list[int]]:
    text, marks = strip_markers(source)
    found = check_source(text, rules=[SharedMemoryRace], confidence=confidence)
    return sorted({text.encode().count(b"\n", 0, f.span.start) + 1 for f in found}), sorted(marks)


CASES = {
    "reduction helper called twice": fill(BLOCK_REDUCE, FIRST="", MARK=FLAG),
    "reduction helper that synchronises first": fill(BLOCK_REDUCE, FIRST="__syncthreads();", MARK=""),
    "tiled product without the second barrier": fill(MATMUL, MARK_A=FLAG, MARK_B=FLAG, END=""),
    "tiled product": fill(MATMUL, MARK_A="", MARK_B="", END="__syncthreads();"),
    "broadcast overwritten by the next row": fill(BROADCAST, MARK=FLAG, END=""),
    "broadcast": fill(BROADCAST, MARK="", END="__syncthreads();"),
    "scan between two buffers": PING_PONG,
    "scan in place": IN_PLACE_SCAN.replace(": buf[0][t];\n", f": buf[0][t];{FLAG}\n", 1),
    "rows private to a warp": WARP_PRIVATE,
    "two arrays carved from one": CARVED,
    "warps that meet at a named barrier": NAMED,
    "several threads set one flag": SAME_VALUE,
    "histogram": HISTOGRAM,
    "histogram not cleared in time": UNCLEARED,
    "arrays that overlap for large sizes only": OVERLAID,
    "all warps store the same row": REDUNDANT,
    "copy waited for by its own thread only": fill(ASYNC, MARK=FLAG, SYNC=""),
    "copy waited for by all": fill(ASYNC, MARK="", SYNC="__syncthreads();"),
    "barrier on some ways only": fill(LATE, MARK=FLAG, SYNC=""),
    "barrier on all ways": fill(LATE, MARK="", SYNC="__syncthreads();"),
}


@pytest.mark.parametrize("title", CASES)
def test_default_persona(title: str) -> None:
    found, expected = lines(CASES[title], Confidence.HIGH)
    assert found == expected


def test_warp_synchronous_code_is_reported_once_per_array() -> None:
    found, expected = lines(WARP_TAIL, Confidence.HIGH)
    assert found == expected


WARP_SCAN = """\
__global__ void scan(const int* x, int* y, int n) {
    __shared__ int buf[4][64];
    const int lane = threadIdx.x % 32, i = blockIdx.x * 128 + threadIdx.x;
    int* p = buf[threadIdx.x / 32];
    p[lane] = 0;
    p[lane + 32] = i < n ? x[i] : 0;
    SYNC
    for (int d = 1; d < 32; d *= 2) {
        const int v = p[lane + 32 - d];
        SYNC
        p[lane + 32] += v;MARK
        SYNC
    }
    if (i < n) y[i] = p[lane + 32];
}
void launch(const int* x, int* y, int n) { scan<<<(n + 127) / 128, 128>>>(x, y, n); }
"""


@pytest.mark.parametrize(("sync", "mark"), [("", FLAG), ("__syncwarp();", "")])
def test_of_code_that_needs_warp_barriers_the_write_that_meets_most_others_is_reported(sync: str, mark: str) -> None:
    found, expected = lines(fill(WARP_SCAN, SYNC=sync, MARK=mark), Confidence.HIGH)
    assert found == expected


def test_setting_one_flag_from_many_threads_is_shown_with_audit_only() -> None:
    assert lines(SAME_VALUE, Confidence.MEDIUM)[0] == []
    assert lines(SAME_VALUE, Confidence.LOW)[0] == [5]
