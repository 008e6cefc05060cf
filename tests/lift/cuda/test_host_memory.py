"""What memory holds when it is handed to a launch."""

from __future__ import annotations

import pytest

from kernlint.ir.host import TensorFacts
from kernlint.lift.cuda.module import lift_cuda
from kernlint.source.file import NoResolver, SourceFile

PRELUDE = """
#define TRY(x) do { cudaError_t e = (x); if (e != cudaSuccess) return; } while (0)
__global__ void k(float* x, int n) { }
struct Buffer { float* ptr; int n; };
void clear(float* p, int n) { cudaMemset(p, 0, n); }
float* allocate(int n) { float* p = nullptr; cudaMalloc(&p, n * 4); return p; }
"""


def tensor(body: str, argument: str = "p") -> TensorFacts:
    text = (
        f"{PRELUDE}void f(at::Tensor x, float* given, int n, bool flag) {{\n{body}\nk<<<1, 64>>>({argument}, n);\n}}\n"
    )
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    launch = [launch for launch in module.launches if launch.host is not None and launch.host.name == "f"][-1]
    found = launch.arguments["x"].tensor
    assert found is not None
    return found


EMPTY = {
    "plain": "float* p; cudaMalloc(&p, n);",
    "cast": "float* p; cudaMalloc((void**)&p, n);",
    "named cast": "float* p = nullptr; cudaMalloc(reinterpret_cast<void**>(&p), n);",
    "status kept": "float* p = nullptr; cudaError_t err = cudaMalloc(&p, n); if (err != cudaSuccess) return;",
    "status assigned": "float* p; cudaError_t err; err = cudaMalloc(&p, n);",
    "condition": "float* p; if (cudaMalloc(&p, n) != cudaSuccess) return;",
    "macro of the file": "float* p; TRY(cudaMallocManaged(&p, n));",
    "foreign macro": "float* p; CUDA_CHECK(cudaMallocAsync(&p, n, 0));",
    "only when wanted": "float* p = nullptr; if (flag) { cudaMalloc(&p, n); }",
    "another was cleared": "float *p, *q; cudaMalloc(&p, n); cudaMalloc(&q, n); cudaMemset(q, 0, n);",
    "copied from": "float* p; cudaMalloc(&p, n); cudaMemcpy(given, p, n, cudaMemcpyDeviceToDevice);",
    "prefetched": "float* p; cudaMallocManaged(&p, n); cudaMemPrefetchAsync(p, n, 0);",
    "helper that allocates": "float* p = allocate(n);",
    "uninitialised vector": "rmm::device_uvector<float> v(n, stream); float* p = v.data();",
    "torch::empty": "auto t = torch::empty({n}, x.options()); float* p = t.data_ptr<float>();",
    "at::empty_like": "at::Tensor t = at::empty_like(x); auto p = t.mutable_data_ptr<float>();",
    "new_empty": "auto t = x.new_empty({n}); auto p = t.data_ptr<float>();",
}
WRITTEN = {
    "memset": ("float* p; cudaMalloc(&p, n); cudaMemset(p, 0, n);", "zeros"),
    "memset in a macro": ("float* p; TRY(cudaMalloc(&p, n)); TRY(cudaMemsetAsync(p, 0, n, 0));", "zeros"),
    "memset of other bytes": ("float* p; cudaMalloc(&p, n); cudaMemset(p, 0xff, n);", "full"),
    "memset through another name": ("float* p; cudaMalloc(&p, n); float* q = p; cudaMemset(q, 0, n);", "zeros"),
    "copied to": ("float* p; cudaMalloc(&p, n); cudaMemcpy(p, given, n, cudaMemcpyHostToDevice);", "computed"),
    "helper": ("float* p; cudaMalloc(&p, n); clear(p, n);", "computed"),
    "unknown function": ("float* p; cudaMalloc(&p, n); library::init(p);", "computed"),
    "unknown function by address": ("float* p; cudaMalloc(&p, n); library::init(&p);", None),
    "lambda": ("float* p; cudaMalloc(&p, n); auto fill = [&]() { cudaMemset(p, 0, n); }; fill();", "zeros"),
    "stored by the host": ("float* p; cudaMallocManaged(&p, n); p[0] = 0;", "computed"),
    "stored by the host in a loop": ("float* p; cudaMallocManaged(&p, n); for (int i = 0; i < n; ++i) p[i] = 0;", None),
    "stored through *": ("float* p; cudaMallocManaged(&p, n); *p = 1;", "computed"),
    "thrust vector": ("thrust::device_vector<float> v(n); float* p = thrust::raw_pointer_cast(v.data());", "zeros"),
    "thrust vector with a value": ("thrust::device_vector<float> v(n, 3); auto p = v.data().get();", "computed"),
    "filled by iterators": (
        "rmm::device_uvector<float> v(n, s); thrust::fill(v.begin(), v.end(), 0); auto p = v.data();",
        "computed",
    ),
    "torch::zeros": ("auto t = torch::zeros({n}, x.options()); auto p = t.data_ptr<float>();", "zeros"),
    "zero_": ("auto t = torch::empty({n}, x.options()); t.zero_(); auto p = t.data_ptr<float>();", "zeros"),
    "copy_": ("auto t = torch::empty({n}, x.options()); t.copy_(x); auto p = t.data_ptr<float>();", "computed"),
    "out variant": ("auto t = torch::empty({n}, x.options()); at::sum_out(t, x); auto p = t.data_ptr();", "computed"),
    "one of two": ("float* p; cudaMalloc(&p, n); if (flag) { cudaMemset(p, 0, n); }", "given"),
    "given": ("float* p = given;", "given"),
}


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_untouched_allocations_are_empty(name: str) -> None:
    assert tensor(EMPTY[name]).init == "empty"


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_written_allocations_are_not_empty(name: str) -> None:
    body, init = WRITTEN[name]
    if init is None:  # either nothing is known of it, or that it was written
        text = f"{PRELUDE}void f(float* given, int n) {{\n{body}\nk<<<1, 64>>>(p, n);\n}}\n"
        module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
        found = module.launches[-1].arguments["x"].tensor
        assert found is None or found.init == "computed"
        return
    assert tensor(body).init == init


def test_members() -> None:
    assert tensor("Buffer b; cudaMalloc(&b.ptr, n);", "b.ptr").init == "empty"
    assert tensor("Buffer b; cudaMalloc(&b.ptr, n); cudaMemset(b.ptr, 0, n);", "b.ptr").init == "zeros"
    assert tensor("Buffer b; cudaMalloc(&b.ptr, n); library::init(b);", "b.ptr").init == "computed"


def test_allocations_are_called_by_the_variable_that_holds_them() -> None:
    assert tensor("auto t = torch::empty({n}, x.options());", "t.data_ptr<float>()").name == "t"
    assert tensor("float* p = allocate(n);").name == "p"
