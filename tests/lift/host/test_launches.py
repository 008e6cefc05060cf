"""The ways host code writes a launch, and the grid it computes."""

from __future__ import annotations

import pytest
from python_project import HEAD, Project, grid_text, launch_in, lifted

from kernlint.ir.arith import as_cdiv
from kernlint.ir.expr import host, param

FORMS = {
    "tuple": "grid = (triton.cdiv(n, 1024),)\n    copy_kernel[grid](x, y, n, BLOCK=1024)",
    "inline tuple": "copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
    "bare index": "copy_kernel[triton.cdiv(n, 1024),](x, y, n, BLOCK=1024)",
    "list": "grid = [triton.cdiv(n, 1024)]\n    copy_kernel[grid](x, y, n, BLOCK=1024)",
    "written out": "copy_kernel[((n + 1023) // 1024,)](x, y, n, BLOCK=1024)",
    "negative floor": "copy_kernel[(-(-n // 1024),)](x, y, n, BLOCK=1024)",
    "math.ceil": "import math\n    copy_kernel[(math.ceil(n / 1024),)](x, y, n, BLOCK=1024)",
    "local helper": "def blocks(a, b):\n        return (a + b - 1) // b\n"
    "    copy_kernel[(blocks(n, 1024),)](x, y, n, BLOCK=1024)",
    "constant variable": "B = 1024\n    copy_kernel[(triton.cdiv(n, B),)](x, y, n, BLOCK=B)",
    "function": "def grid(meta):\n        return (triton.cdiv(n, 1024),)\n    copy_kernel[grid](x, y, n, BLOCK=1024)",
    "run": "copy_kernel.run(x, y, n, BLOCK=1024, grid=(triton.cdiv(n, 1024),), warmup=False)",
    "warmup": "copy_kernel.warmup(x, y, n, BLOCK=1024, grid=(triton.cdiv(n, 1024),))",
    "wrapped": "torch.library.wrap_triton(copy_kernel)[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
    "splat": "cfg = dict()\n    cfg = {'BLOCK': 1024}\n    copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, **cfg)",
    "star": "args = (x, y, n)\n    copy_kernel[(triton.cdiv(n, 1024),)](*args, BLOCK=1024)",
    "returned": "return copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
    "benchmarked": "triton.testing.do_bench(lambda: copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024))",
    "alias": "k = copy_kernel\n    k[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_launch(form: str) -> None:
    launch = launch_in(f"\ndef copy(x, y, n):\n    {FORMS[form]}\n")
    assert launch.kernel is not None
    assert launch.kernel.name == "copy_kernel"
    assert launch.grid is not None
    (dim,) = launch.grid
    assert dim.expr is not None
    ceiling = as_cdiv(dim.expr)
    assert ceiling is not None
    assert ceiling[0] == host("n")
    assert launch.bindings["p:n"] == host("n")
    assert launch.bindings["p:BLOCK"].constant == 1024
    tensor = launch.arguments["x_ptr"].tensor
    assert tensor is not None
    assert tensor.name == "x"


def test_meta_is_the_kernels_own_parameter() -> None:
    launch = launch_in(
        """
def copy(x, y):
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]), meta.get("SPLIT", 1))
    copy_kernel[grid](x, y, n, BLOCK=256)
"""
    )
    assert launch.grid is not None
    columns, splits = launch.grid
    assert columns.expr is not None
    assert as_cdiv(columns.expr) == (host("x.numel()"), param("BLOCK"))
    assert splits.expr == param("SPLIT")


def test_grid_under_a_branch_is_selected() -> None:
    launch = launch_in(
        """
def copy(x, y, n: int, wide):
    if wide:
        grid = (n, 2)
    else:
        grid = (1, 2)
    copy_kernel[grid](x, y, n, BLOCK=256)
"""
    )
    assert grid_text(launch) == ["select(h:wide, n, 1)", "2"]


def test_grid_that_is_a_tuple_or_a_function() -> None:
    launch = launch_in(
        """
def copy(x, y, n: int, tuned):
    if tuned:
        def grid(meta):
            return (triton.cdiv(n, meta["BLOCK"]), 2)
    else:
        grid = (n, 2)
    copy_kernel[grid](x, y, n, BLOCK=256)
"""
    )
    assert grid_text(launch) == ["select(h:tuned, ((n - 1) // BLOCK) + 1, n)", "2"]


def test_grid_of_unknown_arity_is_unknown() -> None:
    launch = launch_in("\ndef copy(x, y, n, grid):\n    copy_kernel[grid](x, y, n, BLOCK=256)\n")
    assert launch.grid is None
    assert launch.kernel is not None


def test_dimension_spans_point_at_what_is_written() -> None:
    source = HEAD + "\ndef copy(x, y, n, m):\n    grid = (n // 128, m)\n    copy_kernel[grid](x, y, n, BLOCK=128)\n"
    (launch,) = lifted(source).launches
    assert launch.grid is not None
    written = [source.encode()[dim.span.start : dim.span.end].decode() for dim in launch.grid]
    assert written == ["n // 128", "m"]


def test_launch_in_loop_and_under_device_guard() -> None:
    launch = launch_in(
        """
def copy(xs, y, n):
    with torch.cuda.device(y.device):
        for i in range(4):
            copy_kernel[(i,)](xs[i], y, n, BLOCK=128, num_warps=8, num_stages=2)
"""
    )
    assert launch.in_loop
    assert launch.device_guarded
    assert (launch.num_warps, launch.num_stages) == (8, 2)
    assert {repr(fact) for fact in launch.facts} == {"0 <= i", "i <= 3"}


def test_kernel_chosen_by_condition_gives_one_launch_each() -> None:
    source = HEAD + (
        "\n@triton.jit\ndef other_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    pass\n"
        "\ndef copy(x, y, n, fast):\n    k = copy_kernel if fast else other_kernel\n    k[(n,)](x, y, n, BLOCK=64)\n"
    )
    assert [launch.kernel_name for launch in lifted(source).launches] == ["copy_kernel", "other_kernel"]


def test_kernel_kept_on_self() -> None:
    launch = launch_in(
        """
class Op:
    def __init__(self):
        self.kernel = copy_kernel

    def __call__(self, x, y):
        self.kernel[(x.shape[0],)](x, y, x.shape[0], BLOCK=64)
"""
    )
    assert launch.kernel is not None
    assert launch.host is not None
    assert (launch.host.class_name, launch.host.name) == ("Op", "__call__")
    assert grid_text(launch) == ["x.shape[0]"]


def test_launcher_is_followed_from_its_callers() -> None:
    module = lifted(
        HEAD
        + """
def launch(kernel, grid, *args, **options):
    kernel[grid](*args, **options)

def copy(x, y):
    rows, n = x.shape
    launch(copy_kernel, (rows,), x, y, n, BLOCK=128)
"""
    )
    (found,) = module.launches
    assert found.host is not None
    assert found.host.name == "copy"
    assert found.kernel is not None
    assert grid_text(found) == ["x.shape[0]"]
    assert repr(found.bindings["p:n"]) == "x.shape[1]"


def test_kernels_in_a_namespace() -> None:
    launch = launch_in(
        """
import types

def build():
    @triton.jit
    def inner(x_ptr, n):
        tl.store(x_ptr, n)
    return types.SimpleNamespace(inner=inner)

def run(x):
    kernels = build()
    if kernels is None:
        return
    kernels.inner[(1,)](x, x.numel())
"""
    )
    assert launch.kernel is not None
    assert launch.kernel.name == "inner"


def test_kernel_wrapped_by_an_unknown_function() -> None:
    launch = launch_in(
        "\ndef copy(x, y, n, tuned):\n    k = tuner(copy_kernel, x.device) if tuned else copy_kernel\n"
        "    k[(n,)](x, y, n, BLOCK=64)\n"
    )
    assert launch.kernel is not None


def test_saved_sizes_are_no_transposes() -> None:
    launch = launch_in(
        "\nclass F:\n    @staticmethod\n    def backward(ctx, x, y):\n        T = ctx.T\n"
        "        copy_kernel[(T,)](x, y, T, BLOCK=64)\n"
    )
    assert grid_text(launch) == ["ctx.T"]


def test_assigned_jit_wrapper() -> None:
    launch = launch_in(
        "\ndef raw_kernel(x_ptr, n):\n    pass\n\nfast = triton.jit(raw_kernel)\n\n"
        "def run(x, n):\n    fast[(n,)](x, n)\n"
    )
    assert launch.kernel is not None
    assert launch.kernel.name == "raw_kernel"


def test_name_reused_for_the_wrapper() -> None:
    launch = launch_in(
        """
@triton.jit
def scale(x_ptr, n):
    pass

scale_kernel = scale

def scale(x):
    scale_kernel[(x.numel(),)](x, x.numel())
"""
    )
    assert launch.kernel is not None
    assert launch.kernel.name == "scale"


def test_module_level_launch() -> None:
    module = lifted(HEAD + "\nx = torch.zeros(64)\ncopy_kernel[(1,)](x, x, 64, BLOCK=64)\n")
    (launch,) = module.launches
    assert launch.host is not None
    assert launch.host.name == "<module>"


def test_indexing_that_is_no_launch() -> None:
    module = lifted(
        HEAD + "\ndef pick(fns, x, i):\n    table = dict[str, int](a=1)\n    return fns[i](x), fns[0](x), table\n"
    )
    assert module.launches == []


def test_imported_launcher_reports_at_the_call() -> None:
    files = {
        "pkg/launcher.py": "def launch(kernel, grid, *args):\n    kernel[grid](*args)\n",
        "pkg/ops.py": HEAD + "\nfrom .launcher import launch\n\n"
        "def copy(x, y, n, grid):\n    copy_kernel[grid](x, y, n, BLOCK=1)\n"
        "    launch(copy_kernel, (n,), x, y, n, 64)\n",
    }
    module = Project(files).lift("pkg/ops.py")
    inlined = [launch for launch in module.launches if "call_span" in launch.attrs]
    assert [grid_text(launch) for launch in inlined] == [["n"]]
    (launch,) = inlined
    assert launch.span.path == "pkg/ops.py"
    assert files["pkg/ops.py"][launch.span.start : launch.span.end] == "launch(copy_kernel, (n,), x, y, n, 64)"
