"""Which argument is which parameter, in one file and across files."""

from __future__ import annotations

import pytest
from python_project import HEAD, Project, launch_in, lifted

from kernlint.ir.kernel import Module
from kernlint.lift.binding import bind_across

WRAPPER = "\ndef copy(x, y):\n    n = x.numel()\n    copy_kernel[(n,)](x, y, n, BLOCK=64)\n"


@pytest.mark.parametrize(
    "call",
    [
        "x, y, n, 64",
        "x, y, n, BLOCK=64",
        "x_ptr=x, y_ptr=y, n=n, BLOCK=64",
        "x, n=n, BLOCK=64, y_ptr=y",
        "*(x, y), n, 64",
    ],
)
def test_positions_and_names(call: str) -> None:
    launch = launch_in(f"\ndef copy(x, y, n):\n    copy_kernel[(n,)]({call})\n")
    assert list(launch.arguments) == ["x_ptr", "y_ptr", "n", "BLOCK"]
    assert {key: repr(expr) for key, expr in launch.bindings.items()} == {"p:n": "n", "p:BLOCK": "64"}
    tensors = [launch.arguments[name].tensor for name in ("x_ptr", "y_ptr")]
    assert [tensor.name for tensor in tensors if tensor is not None] == ["x", "y"]


def test_booleans_are_numbers_of_compile_time_parameters() -> None:
    launch = launch_in(
        """
@triton.jit
def k(x_ptr, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    pass

def run(x, n, bias):
    k[(n,)](x, n, A=True, B=False, C=bias is not None)
"""
    )
    assert [repr(launch.bindings[f"p:{name}"]) for name in "AB"] == ["1", "0"]
    assert repr(launch.bindings["p:C"]) == "select(not (bias is None), 1, 0)"


def test_defaults_hold_when_nothing_else_can_set_them() -> None:
    head = HEAD + "\n@triton.jit\ndef k(x_ptr, n, SPLIT: tl.constexpr = 2):\n    pass\n"
    assert repr(launch_in("\ndef run(x, n):\n    k[(n,)](x, n)\n", head).bindings["p:SPLIT"]) == "2"
    assert "p:SPLIT" not in launch_in("\ndef run(x, n, **kw):\n    k[(n,)](x, n, **kw)\n", head).bindings


def test_autotuned_parameters_stay_free() -> None:
    launch = launch_in(
        """
@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr, n)

def run(x, n):
    k[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n)
"""
    )
    assert list(launch.bindings) == ["p:n"]


def test_too_many_arguments_are_counted() -> None:
    launch = launch_in("\ndef copy(x, y, n):\n    copy_kernel[(n,)](x, y, n, 64, 5)\n")
    assert launch.attrs["unmatched"] == 1


def test_kernel_knows_its_launches() -> None:
    module = lifted(HEAD + WRAPPER)
    assert module.kernels[0].launches == module.launches


IMPORTS = {
    "from ops.kernels import copy_kernel": "",
    "from .kernels import copy_kernel": "",
    "from .kernels import copy_kernel as copied": "copied",
    "from .kernels import *": "",
    "from . import kernels": "kernels.copy_kernel",
    "import ops.kernels as kk": "kk.copy_kernel",
    "from ops import copy_kernel": "",
}


@pytest.mark.parametrize("statement", IMPORTS)
def test_kernels_of_other_files(statement: str) -> None:
    wrapper = WRAPPER.replace("copy_kernel", IMPORTS[statement] or "copy_kernel")
    project = Project(
        {
            "ops/__init__.py": "from .kernels import copy_kernel\n",
            "ops/kernels.py": HEAD,
            "ops/wrap.py": f"import triton\n{statement}\n{wrapper}",
        }
    )
    kernels, wrap = project.lift("ops/kernels.py"), project.lift("ops/wrap.py")
    (launch,) = wrap.launches
    assert launch.kernel is None
    assert launch.import_from is not None
    bind_across([wrap, kernels])
    assert launch.kernel is kernels.kernels[0]
    assert repr(launch.bindings["p:n"]) == "x.numel()"


class Blind(Project):
    """Finds no file, as when only the dotted names are known."""

    def python_module(self, module: str, level: int, importer: str) -> None:
        return None


def unresolved(statement: str, *paths: str) -> tuple[Module, list[Module]]:
    files = {"ops/wrap.py": f"import triton\n{statement}\n{WRAPPER}", **dict.fromkeys(paths, HEAD)}
    project = Blind(files)
    return project.lift("ops/wrap.py"), [project.lift(path) for path in paths]


def test_dotted_names_find_the_file() -> None:
    wrap, others = unresolved("from ops.kernels import copy_kernel", "ops/kernels.py", "ops/other.py")
    bind_across([wrap, *others])
    assert wrap.launches[0].kernel is others[0].kernels[0]


def test_relative_names_find_the_file_beside() -> None:
    wrap, others = unresolved("from .kernels import copy_kernel", "ops/kernels.py", "old/kernels.py")
    bind_across([wrap, *others])
    assert wrap.launches[0].kernel is others[0].kernels[0]


def test_ambiguous_names_stay_unbound() -> None:
    wrap, others = unresolved("from kernels import copy_kernel", "a/kernels.py", "b/kernels.py")
    bind_across([wrap, *others])
    assert wrap.launches[0].kernel is None
