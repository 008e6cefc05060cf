"""Whether the status of a launch is read on the path after it."""

from __future__ import annotations

import pytest

from kernlint.ir.host import Launch
from kernlint.lift.cuda.module import lift_cuda
from kernlint.source.file import NoResolver, SourceFile

PRELUDE = """
__global__ void k(float* x, int n) { }
#define CUDA_TRY(e) do { cudaError_t err_ = (e); if (err_ != cudaSuccess) throw err_; } while (0)
#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), "a tensor on the GPU")
#define LAST_ERROR_CHECK() CUDA_TRY(cudaGetLastError())
#define JUST_CLEAR() cudaGetLastError()
inline void sync_and_check() { auto e = cudaDeviceSynchronize(); if (e != cudaSuccess) abort(); }
inline void download(float* to, const float* from) { CUDA_TRY(cudaMemcpy(to, from, 4, cudaMemcpyDeviceToHost)); }
inline void download_unchecked(float* to, const float* from) { cudaMemcpy(to, from, 4, cudaMemcpyDeviceToHost); }
inline void check_nothing(int n) { printf("%d", n); }
struct Guard { ~Guard() { CUDA_TRY(cudaPeekAtLastError()); } };
"""


def launches(code: str, path: str = "a.cu") -> list[Launch]:
    module = lift_cuda(SourceFile(path, (PRELUDE + code).encode(), "cuda"), NoResolver())
    assert not [region.reason for region in module.unparsed if "internal" in region.reason]
    return module.launches


def status(body: str, returns: str = "void") -> str:
    (launch,) = launches(f"{returns} f(float* x, int n, bool flag) {{ {body} }}")
    return launch.status


CHECKED = {
    "returned": "k<<<1, n>>>(x, n); return cudaGetLastError();",
    "compared": "k<<<1, n>>>(x, n); return cudaGetLastError() == cudaSuccess;",
    "condition": "k<<<1, n>>>(x, n); if (cudaPeekAtLastError() != cudaSuccess) throw 1;",
    "stored": "k<<<1, n>>>(x, n); cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) throw 1;",
    "own macro": "k<<<1, n>>>(x, n); CUDA_TRY(cudaGetLastError());",
    "own macro without arguments": "k<<<1, n>>>(x, n); LAST_ERROR_CHECK();",
    "unknown macro around the call": "k<<<1, n>>>(x, n); SOME_MACRO(cudaGetLastError());",
    "pytorch": "k<<<1, n>>>(x, n); C10_CUDA_KERNEL_LAUNCH_CHECK();",
    "conventional macro": "k<<<1, n>>>(x, n); CUDA_KERNEL_CHECK();",
    "sdk helper": 'k<<<1, n>>>(x, n); getLastCudaError("k failed");',
    "own function": "k<<<1, n>>>(x, n); sync_and_check();",
    "synchronised and looked at": "k<<<1, n>>>(x, n); CUDA_TRY(cudaStreamSynchronize(0));",
    "both branches": "k<<<1, n>>>(x, n); if (flag) LAST_ERROR_CHECK(); else CUDA_TRY(cudaGetLastError());",
    "after the branch": "if (flag) { k<<<1, n>>>(x, n); } LAST_ERROR_CHECK();",
    "after the loop": "for (int i = 0; i < n; ++i) k<<<1, n>>>(x, n); LAST_ERROR_CHECK();",
    "after the switch": "switch (n) { case 1: k<<<1, n>>>(x, n); break; default: return; } LAST_ERROR_CHECK();",
    "after a dispatch": 'AT_DISPATCH_ALL(x, "f", [&] { k<<<1, n>>>(x, n); }); C10_CUDA_KERNEL_LAUNCH_CHECK();',
    "inside a dispatch": 'AT_DISPATCH_ALL(x, "f", [&] { k<<<1, n>>>(x, n); AT_CUDA_CHECK(cudaGetLastError()); });',
    "destructor": "Guard guard; k<<<1, n>>>(x, n);",
    "unrelated throw between": "k<<<1, n>>>(x, n); if (n < 0) throw 1; LAST_ERROR_CHECK();",
    "launch function returned": "void* a[] = {&x, &n}; return cudaLaunchKernel((void*)k, 1, 1, a, 0, 0);",
    "launch function checked": "void* a[] = {&x, &n}; ANY(cudaLaunchKernel((void*)k, 1, 1, a, 0, 0));",
    "launch function stored": "void* a[] = {&x}; auto e = cudaLaunchKernel((void*)k, 1, 1, a, 0, 0); if (e) throw 1;",
    "launch function then last error": "cudaLaunchKernel((void*)k, 1, 1, a, 0, 0); LAST_ERROR_CHECK();",
}
UNCHECKED = {
    "nothing": "k<<<1, n>>>(x, n);",
    "returns something else": "k<<<1, n>>>(x, n); return true;",
    "cleared unread": "k<<<1, n>>>(x, n); cudaGetLastError();",
    "cleared unread, then looked at": "k<<<1, n>>>(x, n); (void)cudaGetLastError(); CUDA_TRY(cudaGetLastError());",
    "macro that clears": "k<<<1, n>>>(x, n); JUST_CLEAR();",
    "synchronised without looking": "k<<<1, n>>>(x, n); cudaDeviceSynchronize();",
    "read before": "CUDA_TRY(cudaGetLastError()); k<<<1, n>>>(x, n);",
    "check of a tensor": "k<<<1, n>>>(x, n); CHECK_CUDA(x);",
    "check of an unrelated call": "k<<<1, n>>>(x, n); check_nothing(n);",
    "helper that drops the status of a copy": "k<<<1, n>>>(x, n); float y; download_unchecked(&y, x);",
    "unrelated assertion": "k<<<1, n>>>(x, n); assert(n > 0);",
    "read in the other branch": "if (flag) { k<<<1, n>>>(x, n); } else { LAST_ERROR_CHECK(); }",
    "device guard": "const at::cuda::CUDAGuard guard(0); k<<<1, n>>>(x, n);",
    "launch function dropped": "void* a[] = {&x, &n}; cudaLaunchKernel((void*)k, 1, 1, a, 0, 0);",
    "launch function cast away": "void* a[] = {&x, &n}; (void)cudaLaunchKernel((void*)k, 1, 1, a, 0, 0);",
}
UNKNOWN = {
    "only when debugging": "k<<<1, n>>>(x, n); if (flag) { LAST_ERROR_CHECK(); }",
    "only in one build": "k<<<1, n>>>(x, n);\n#ifdef DEBUG\nLAST_ERROR_CHECK();\n#endif\n",
    "left before": "k<<<1, n>>>(x, n); if (flag) return; LAST_ERROR_CHECK();",
    "later call may carry the error": "k<<<1, n>>>(x, n); if (cudaMemcpy(x, x, 4, kind) != cudaSuccess) throw 1;",
    "helper that checks a copy": "k<<<1, n>>>(x, n); float y; download(&y, x);",
    "guard of unknown type": "LaunchChecker checker(0); k<<<1, n>>>(x, n);",
}


@pytest.mark.parametrize("name", list(CHECKED))
def test_checked(name: str) -> None:
    assert status(CHECKED[name], "auto") == "checked"


@pytest.mark.parametrize("name", list(UNCHECKED))
def test_unchecked(name: str) -> None:
    assert status(UNCHECKED[name], "auto") == "unchecked"


@pytest.mark.parametrize("name", list(UNKNOWN))
def test_unknown(name: str) -> None:
    assert status(UNKNOWN[name]) == "unknown"


def test_callers_of_the_same_file_decide() -> None:
    launch_only = "static void go(float* x, int n) { k<<<1, n>>>(x, n); }\n"
    checks = "void a(float* x) { go(x, 1); LAST_ERROR_CHECK(); }\n"
    does_not = "void b(float* x) { go(x, 2); }\n"
    assert [launch.status for launch in launches(launch_only + checks)] == ["checked"]
    assert [launch.status for launch in launches(launch_only + does_not)] == ["unchecked"]
    assert [launch.status for launch in launches(launch_only + checks + does_not)] == ["unknown"]


def test_recursive_callers_end() -> None:
    code = "void a(float* x) { k<<<1, 1>>>(x, 1); b(x); }\nvoid b(float* x) { a(x); }\n"
    assert launches(code)[0].status in ("unknown", "unchecked")


def test_a_header_leaves_it_to_its_includers() -> None:
    code = "inline void go(float* x, int n) { k<<<1, n>>>(x, n); }\n"
    assert [launch.status for launch in launches(code, "a.cuh")] == ["unknown"]
    assert [launch.status for launch in launches(code, "a.cu")] == ["unchecked"]


def test_one_read_covers_the_launches_before_it() -> None:
    code = "void f(float* x, int n) { k<<<1, n>>>(x, n); k<<<2, n>>>(x, n); LAST_ERROR_CHECK(); k<<<3, n>>>(x, n); }"
    assert [launch.status for launch in launches(code)] == ["checked", "checked", "unchecked"]


def test_the_reading_place_is_told() -> None:
    (launch,) = launches("cudaError_t f(float* x) { k<<<1, 1>>>(x, 1); return cudaGetLastError(); }")
    assert launch.status_span is not None
    text = PRELUDE + "cudaError_t f(float* x) { k<<<1, 1>>>(x, 1); return cudaGetLastError(); }"
    assert text[launch.status_span.start : launch.status_span.end] == "cudaGetLastError()"
