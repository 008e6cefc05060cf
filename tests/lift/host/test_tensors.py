"""What host code establishes about tensors: shape, layout, type, initialisation, storage."""

from __future__ import annotations

import pytest
from python_project import launch_in, lifted

from kernlint.ir.host import Launch, TensorFacts
from kernlint.ir.types import BFLOAT16, FLOAT16, FLOAT32, INT32


def facts(body: str, name: str = "x_ptr") -> TensorFacts:
    """The tensor passed as `name` at the end of `def copy(a, b, n): <body>`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    launch = launch_in(f"\ndef copy(a, b, n):\n{lines}    copy_kernel[(1,)](x, b, n, BLOCK=64)\n")
    tensor = launch.arguments[name].tensor
    assert tensor is not None
    return tensor


def sizes(tensor: TensorFacts) -> list[str] | None:
    return None if tensor.shape is None else [repr(size) for size in tensor.shape]


@pytest.mark.parametrize(
    ("expression", "init", "dtype"),
    [
        ("torch.empty((4, n), device=a.device)", "empty", FLOAT32),
        ("torch.empty(4, n, dtype=torch.float16)", "empty", FLOAT16),
        ("torch.zeros([4, n], dtype=torch.int32)", "zeros", INT32),
        ("torch.ones((4, n))", "full", FLOAT32),
        ("torch.full((4, n), 3.0)", "full", None),
        ("a.new_zeros(4, n, dtype=torch.bfloat16)", "zeros", BFLOAT16),
        ("a.new_empty((4, n))", "empty", None),
        ("torch.randn(4, n)", "computed", FLOAT32),
    ],
)
def test_allocations(expression: str, init: str, dtype: object) -> None:
    tensor = facts(f"x = {expression}")
    assert (tensor.init, tensor.dtype, tensor.contiguous) == (init, dtype, True)
    assert sizes(tensor) == ["4", "n"]
    assert [repr(stride) for stride in tensor.strides or ()] == ["n", "1"]
    assert repr(tensor.numel) == "4*n"
    assert tensor.alias_of == ""


@pytest.mark.parametrize(("expression", "value"), [("torch.zeros(8)", 0.0), ("torch.full((8,), -1.5)", -1.5)])
def test_fill_values(expression: str, value: float) -> None:
    fill = facts(f"x = {expression}").fill
    assert fill is not None
    assert fill.attrs["value"] == value


def test_empty_like_follows_its_source() -> None:
    """`empty_like` keeps the order of the strides of a dense source, and makes those of a slice contiguous."""
    unknown = facts("r, c = a.shape\nx = torch.empty_like(a)")
    assert (unknown.init, unknown.contiguous, sizes(unknown)) == ("empty", None, ["a.shape[0]", "a.shape[1]"])
    assert facts("assert a.is_contiguous()\nx = torch.empty_like(a)").contiguous is True
    assert facts("a = a.t()\nx = torch.empty_like(a)").contiguous is None
    assert facts("a = a[:, 1:]\nx = torch.empty_like(a)").contiguous is None
    assert facts("x = torch.empty_like(a.t(), memory_format=torch.contiguous_format)").contiguous is True


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = a.contiguous()", True),
        ("assert a.is_contiguous()\nx = a", True),
        ("if not a.is_contiguous():\n    raise ValueError\nx = a", True),
        ("if not a.is_contiguous():\n    a = a.contiguous()\nx = a", True),
        ("x = a if a.is_contiguous() else a.contiguous()", True),
        ("assert all(t.is_contiguous() for t in (a, b))\nx = a", True),
        ("assert a.is_contiguous() and b.is_contiguous(), 'no'\nx = a", True),
        ("torch._check(a.is_contiguous())\nx = a", True),
        ("x = a", None),
        ("if a.is_contiguous():\n    print(a)\nx = a", None),
        ("x = a.t()", False),
        ("x = a.transpose(0, 1)", False),
        ("x = a.contiguous().t()", False),
        ("x = a.t().contiguous()", True),
        ("x = a.expand(4, n)", False),
        ("x = a[:, 1:]", False),
        ("x = a.contiguous()[:, 1:]", False),
        ("x = a.contiguous()[..., :n]", False),
        ("x = a.contiguous()[::2]", False),
        ("x = a.contiguous()[:, 0]", False),
        ("for i in range(4):\n    x = a.contiguous()[:, i]", False),
        ("for i in range(4):\n    x = a.contiguous()[i]", True),
        ("x = a.contiguous()[0, 1:, :]", True),
        ("x = a.contiguous()[0, :, 1:]", False),
        ("x = a.contiguous()[:, None]", True),
        ("x = a.contiguous()[b]", None),
        ("x = a.contiguous().permute(0, 2, 1)", False),
        ("assert a.dim() == 3\nx = a.contiguous().permute(0, 1, 2)", True),
        ("x = torch.broadcast_to(a.contiguous(), (4, n))", False),
        ("x, y = a.contiguous().chunk(2, dim=-1)", False),
        ("x, y = torch.chunk(a.contiguous(), 2, dim=1)", False),
        ("x, y = a.contiguous().chunk(2)", True),
        ("x, y = a.contiguous().split([3, 5], dim=-1)", False),
        ("x, y, z = a.contiguous().split(n, -1)", False),
        ("x, y = a.contiguous().unbind(0)", True),
        ("x = a.contiguous().unbind(dim=1)[0]", False),
        ("x = a.contiguous().narrow(1, 0, 4)", False),
        ("x = a.contiguous().narrow(0, 0, 4)", True),
        ("x = a.contiguous().select(1, 0)", False),
        ("x = a.contiguous()[2:]", True),
        ("x = a.contiguous().view(-1)", True),
        ("x = a.view(-1, n)", None),
        ("x = a.reshape(-1)", None),
    ],
)
def test_contiguity(body: str, expected: bool | None) -> None:
    assert facts(body).contiguous is expected


@pytest.mark.parametrize(
    ("body", "root"),
    [
        ("x = a", "a"),
        ("x = a.view(-1)", "a"),
        ("y = a.view(-1)\nx = y[0]", "a"),
        ("x = a.detach()", "a"),
        ("x = a.contiguous()", "a"),  # the same memory when it was contiguous already
        ("x = a.t().contiguous()", ""),
        ("x = a.clone()", ""),
        ("x = a.to(torch.float32)", ""),
        ("x = torch.empty_like(a)", ""),
    ],
)
def test_storage(body: str, root: str) -> None:
    assert facts(body).alias_of == root


def test_pieces_of_a_tensor_share_no_memory() -> None:
    launch = launch_in(
        "\ndef split(a, n):\n    x, y = a.chunk(2, dim=-1)\n    copy_kernel[(1,)](x, y, n, BLOCK=64)\n",
    )
    x, y = launch.arguments["x_ptr"].tensor, launch.arguments["y_ptr"].tensor
    assert x is not None
    assert y is not None
    assert (x.alias_of or x.name) != (y.alias_of or y.name)
    assert "a" in x.alias_of
    assert x.numel == y.numel


def test_two_arguments_of_one_tensor() -> None:
    launch = launch_in(
        "\ndef step(p, n):\n    out = p\n    copy_kernel[(1,)](p, out, n, BLOCK=64)\n",
    )
    first, second = launch.arguments["x_ptr"].tensor, launch.arguments["y_ptr"].tensor
    assert first is not None
    assert second is not None
    assert (first.alias_of or first.name) == (second.alias_of or second.name) == "p"


@pytest.mark.parametrize(
    "check",
    [
        "assert a.dtype == torch.bfloat16",
        "assert torch.bfloat16 == a.dtype",
        "assert b.dtype == a.dtype == torch.bfloat16",
        "if a.dtype != torch.bfloat16:\n    raise TypeError",
        "assert a.dtype in (torch.bfloat16,)",
        "a = a.to(torch.bfloat16)",
        "a = a.bfloat16()",
        "a = a.to(dtype=torch.bfloat16)",
        "assert a.dtype == b.dtype\nassert b.dtype == torch.bfloat16",
        "assert b.dtype == torch.bfloat16\nassert a.dtype == b.dtype",
        "assert a.dtype == b.dtype == torch.bfloat16",
        "assert b.dtype == torch.bfloat16\na = a.to(b.dtype)",
        "a = torch.empty(n, dtype=b.dtype)\nassert b.dtype == torch.bfloat16",
        "dtype = torch.bfloat16\na = torch.empty(n, dtype=dtype)",
        "assert b.dtype == torch.bfloat16\na = torch.empty_like(b)",
        "assert b.dtype == torch.bfloat16\na = b.new_empty(4)",
    ],
)
def test_element_types(check: str) -> None:
    assert facts(f"{check}\nx = a").dtype == BFLOAT16


@pytest.mark.parametrize("cast", ["a.to(dtype)", "a.to(dtype=dtype)", "a.type(dtype)"])
def test_cast_to_an_unknown_type(cast: str) -> None:
    assert facts(f"a = a.float()\ndtype = pick(n)\nx = {cast}").dtype is None


def test_moving_to_a_device_keeps_the_type() -> None:
    assert facts("a = a.float()\nx = a.to(b.device)").dtype == FLOAT32
    assert facts("a = a.float()\nx = a.to('cuda', non_blocking=True)").dtype == FLOAT32


def test_unchecked_element_type_is_unknown() -> None:
    assert facts("assert a.dtype in (torch.float16, torch.bfloat16)\nx = a").dtype is None


def test_launch_initialises() -> None:
    """Memory handed to a kernel is no longer known to be empty at the next launch."""
    module = lifted(
        """
import torch, triton

@triton.jit
def k(y_ptr, n):
    pass

def twice(n):
    y = torch.empty(n)
    k[(1,)](y, n)
    k[(2,)](y, n)
"""
    )

    def init(launch: Launch) -> str:
        tensor = launch.arguments["y_ptr"].tensor
        return tensor.init if tensor is not None else "?"

    assert [init(launch) for launch in module.launches] == ["empty", "computed"]


def test_zeroed_in_place() -> None:
    assert facts("x = torch.empty(n)\nx.zero_()").init == "zeros"
    assert facts("x = torch.empty(n)\nx[0] = 1").init == "computed"


def test_decorator_that_makes_arguments_contiguous() -> None:
    launch = launch_in(
        """
import functools

def on_device(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        args = [arg.contiguous() if isinstance(arg, torch.Tensor) else arg for arg in args]
        with torch.cuda.device(args[0].device):
            return fn(*args)
    return wrapper

@on_device
def copy(x, y, n):
    copy_kernel[(1,)](x, y, n, BLOCK=64)
"""
    )
    tensor = launch.arguments["x_ptr"].tensor
    assert tensor is not None
    assert tensor.contiguous is True
    assert launch.device_guarded


OPTIONAL = {
    "branch": "if b is None:\n    b = torch.{made}(n)\nx = b",
    "conditional expression": "x = torch.{made}(n) if b is None else b",
    "the other way round": "x = b if b is not None else torch.{made}(n)",
    "disjunction": "x = b or torch.{made}(n)",
}


@pytest.mark.parametrize("body", OPTIONAL.values(), ids=OPTIONAL.keys())
def test_outputs_allocated_unless_given(body: str) -> None:
    """What the wrapper itself allocates is what counts: the caller may be told to clear what it passes."""
    empty, zeros = facts(body.format(made="empty")), facts(body.format(made="zeros"))
    assert (empty.init, zeros.init) == ("empty", "computed")
    assert empty.span is not None


def test_written_in_one_branch() -> None:
    assert facts("x = torch.empty(n)\nif n > 4:\n    x.zero_()").init == "computed"


# A conversion or copy of ... is contiguous (True), is not (False), or may be either (None).
COPIES = [
    ("torch.empty(4, n).expand(2, 4, n).to(torch.float16)", True),  # another type: a copy without gaps
    ("torch.empty(4, n)[:, 1:].half()", True),
    ("torch.empty(4, n)[:, 1:].clone()", True),
    ("torch.empty(4, n).narrow(1, 0, 2).to(torch.float32)", False),  # the type it has: the view itself
    ("a.expand(2, n).to(torch.float16)", None),  # the type of `a` and its layout are not known
    ("a.expand(2, n).clone()", None),
    ("torch.empty(4, n).t().to(torch.float16)", False),  # copies keep the order of the strides
    ("torch.empty(4, n).t().clone()", False),
    ("torch.empty(4, n).t().contiguous()", True),
    ("torch.empty(4, n).chunk(2, dim=1)[0].clone()", True),
]


@pytest.mark.parametrize(("expression", "contiguous"), COPIES)
def test_copies_of_views(expression: str, contiguous: bool | None) -> None:
    assert facts(f"x = {expression}").contiguous is contiguous


def test_transposed_strides() -> None:
    def strides(body: str) -> list[str]:
        return [repr(stride) for stride in facts(body).strides or ()]

    assert strides("x = torch.empty(4, n).t()") == ["1", "n"]
    assert strides("x = torch.empty(4, 8, n).transpose(0, 1)") == ["n", "8*n", "1"]
    assert strides("x = torch.empty(4, 8, n).transpose(0, 1).transpose(0, 1)") == ["8*n", "n", "1"]
    assert strides("x = a.permute(1, 0, 2)") == ["a.stride(1)", "a.stride(0)", "a.stride(2)"]
    assert strides("x = a.permute((1, 0))") == ["a.stride(1)", "a.stride(0)"]
    assert strides("x = torch.empty(4, n).t().contiguous()") == ["4", "1"]
