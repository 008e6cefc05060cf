"""Sizes as host expressions: shapes, strides, element counts, and how checks relate them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies
from python_project import grid_text, launch_in

from kernlint.ir.expr import Expr


def bound(body: str, parameters: str = "x, y") -> Expr:
    """What the kernel's `n` is, in `def copy(x, y): <body>`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    launch = launch_in(f"\ndef copy({parameters}):\n{lines}    copy_kernel[(1,)](x, y, n, BLOCK=64)\n")
    return launch.bindings["p:n"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = x.shape[0]", "x.shape[0]"),
        ("n = x.size(0)", "x.shape[0]"),
        ("n = len(x)", "x.shape[0]"),
        ("n = x.shape[-1]", "x.shape[-1]"),
        ("m, n = x.shape", "x.shape[1]"),
        ("(m, n) = x.size()", "x.shape[1]"),
        ("m, n = x.shape[0], x.shape[1]", "x.shape[1]"),
        ("*rest, n = x.shape", "x.shape[-1]"),
        ("assert x.dim() == 3\nn = x.shape[-1]", "x.shape[2]"),
        ("assert x.ndim == 3\nn = x.size(-2)", "x.shape[1]"),
        ("n = x.shape[1:][0]", "x.shape[1]"),
        ("b, t, h, d = x.shape\nn = x.numel()", "x.shape[0]*x.shape[1]*x.shape[2]*x.shape[3]"),
        ("b, t, h, d, n = *x.shape, y.shape[-1]", "y.shape[-1]"),
        ("b, t, h, d, m = *x.shape, y.shape[-1]\nn = d", "x.shape[3]"),
        ("n = x.stride(0)", "x.stride(0)"),
        ("r, c = x.shape\nx = x.contiguous()\nn = x.stride(0)", "x.shape[1]"),
        ("x = x.contiguous()\nn = x.stride(-1)", "1"),
        ("import math\na, b, c = x.shape\nn = math.prod(x.shape[:-1])", "x.shape[0]*x.shape[1]"),
        ("r, c = x.shape\nn = x[0].numel()", "x.shape[1]"),
        ("r, c = x.shape\nz = x.view(-1)\nn = z.shape[0]", "x.shape[0]*x.shape[1]"),
        ("r, c = x.shape\nn = x.t().shape[0]", "x.shape[1]"),
        ("a, b, c = x.shape\nz = x.reshape(-1, c)\nn = z.shape[0]", "x.shape[0]*x.shape[1]"),
        ("a, b = x.shape\nz = torch.empty(*x.shape, 4)\nn = z.shape[1]", "x.shape[1]"),
        ("n = min(x.shape[0], 16)", "min(x.shape[0], 16)"),
        ("n = triton.next_power_of_2(x.shape[0])", "next_power_of_2(x.shape[0])"),
        ("n = 1 << 10", "1024"),
        ("n = 2 ** 12", "4096"),
        ("n = 8\nn *= 4", "32"),
        ("n = int(x.shape[0] / 4)", "(x.shape[0] // 4)"),
    ],
)
def test_sizes(body: str, expected: str) -> None:
    assert repr(bound(body)) == expected


def test_rows_times_columns_are_the_elements() -> None:
    """`M = x.shape[0]; N = x.numel() // M` divides exactly, whatever the rank."""
    launch = launch_in(
        """
def copy(x, y):
    m = x.shape[0]
    n = x.numel() // m
    copy_kernel[(m,)](x, y, n, BLOCK=64)
"""
    )
    tensor = launch.arguments["x_ptr"].tensor
    assert tensor is not None
    assert launch.grid is not None
    rows = launch.grid[0].expr
    assert rows is not None
    assert rows * launch.bindings["p:n"] == tensor.numel


def test_flattened_rows_times_columns_are_the_elements() -> None:
    launch = launch_in(
        """
def copy(x, y):
    shape = x.shape
    dim = shape[-1]
    x = x.view(-1, dim)
    rows, n = x.shape
    copy_kernel[(rows,)](x, y, n, BLOCK=64)
"""
    )
    tensor = launch.arguments["x_ptr"].tensor
    assert tensor is not None
    assert launch.grid is not None
    rows = launch.grid[0].expr
    assert rows is not None
    assert repr(launch.bindings["p:n"]) == "x.shape[-1]"
    assert rows * launch.bindings["p:n"] == tensor.numel


@pytest.mark.parametrize(
    "check",
    [
        "assert x.shape == y.shape",
        "assert y.size() == x.size()",
        "if x.shape != y.shape:\n    raise ValueError('shapes')",
        "assert y.shape == (x.shape[0], x.shape[1])",
        "assert x.shape[0] == y.shape[0] and x.shape[1] == y.shape[1]",
        "torch._check(x.shape == y.shape, lambda: 'shapes')",
    ],
)
def test_equal_shapes_are_one(check: str) -> None:
    difference = bound(f"r, c = x.shape\ns, d = y.shape\n{check}\nn = c - d")
    assert difference.constant == 0


def test_checks_in_a_branch_do_not_hold_after_it() -> None:
    difference = bound("r, c = x.shape\ns, d = y.shape\nif r == s:\n    print(r)\nn = r - s")
    assert difference.constant is None


def test_reassigned_variables_are_different_values() -> None:
    difference = bound("m = f(x)\nfirst = m\nm = f(y)\nn = first - m")
    assert difference.constant is None


def test_loop_forgets_what_it_changes() -> None:
    assert bound("n = 4\nwhile n < 100:\n    n = n * 2").constant is None
    assert bound("n = 4\nfor i in range(3):\n    m = i").constant == 4


def test_loop_ends_when_its_condition_fails() -> None:
    launch = launch_in(
        "\ndef copy(x, y, n: int):\n    g = 64\n    while n % g:\n        g //= 2\n"
        "    copy_kernel[(n // g,)](x, y, n, BLOCK=64)\n"
    )
    assert [(repr(a), repr(b)) for a, b in launch.divisible] == [("n", "g'3")]
    assert grid_text(launch) == ["(n // g'3)"]


def test_loop_left_by_break_ends_anywhere() -> None:
    launch = launch_in(
        "\ndef copy(x, y, n: int):\n    g = 64\n    while n % g:\n        g //= 2\n        if g < 4:\n"
        "            break\n    copy_kernel[(n // g,)](x, y, n, BLOCK=64)\n"
    )
    assert launch.divisible == []


def test_early_exit_leaves_the_other_branch() -> None:
    assert bound("n = 1\nif m:\n    n = 2\n    return n", "x, y, m").constant == 1


def test_conditional_sizes() -> None:
    assert repr(bound("n = 16 if m >= 16 else m", "x, y, m: int")) == "min(m, 16)"


def test_helper_of_another_function() -> None:
    launch = launch_in(
        """
def settings(n):
    block = triton.next_power_of_2(n)
    if block > 65536:
        raise RuntimeError("too wide")
    warps = 4
    if block >= 8192:
        warps = 16
    return block, warps

def copy(x, y):
    rows, n = x.shape
    block, warps = settings(n)
    copy_kernel[(rows,)](x, y, n, BLOCK=block, num_warps=warps)
"""
    )
    assert repr(launch.bindings["p:BLOCK"]) == "next_power_of_2(x.shape[1])"
    assert "next_power_of_2(x.shape[1]) <= 65536" in [repr(fact) for fact in launch.facts]


def test_method_of_the_same_object() -> None:
    launch = launch_in(
        """
class Op:
    def blocks(self, n):
        return triton.cdiv(n, self.size)

    @staticmethod
    def twice(n):
        return 2 * n

    def run(self, x, y):
        n = x.numel()
        copy_kernel[(self.blocks(n), self.size, self.twice(n))](x, y, n, BLOCK=64)
"""
    )
    assert grid_text(launch) == ["((x.numel() - 1) // self.size) + 1", "self.size", "2*x.numel()"]


def test_arguments_left_out_are_not_equal() -> None:
    difference = bound("def f(a, b):\n    return b\nn = f(1) - f(2)")
    assert difference.constant is None


@pytest.mark.parametrize(
    ("check", "fact"),
    [
        ("assert n <= 65535", "n <= 65535"),
        ("if n > 65535:\n    raise ValueError", "n <= 65535"),
        ("if n > 65535:\n    return None", "n <= 65535"),
        ("assert 0 < n <= 65535", "n <= 65535"),
        ("torch._check(n <= 65535)", "n <= 65535"),
        ("assert not n > 65535", "n <= 65535"),
    ],
)
def test_facts(check: str, fact: str) -> None:
    lines = "".join(f"    {line}\n" for line in check.splitlines())
    launch = launch_in(f"\ndef copy(x, y, n):\n{lines}    copy_kernel[(1,)](x, y, n, BLOCK=64)\n")
    assert fact in [repr(found) for found in launch.facts]


@pytest.mark.parametrize(
    "check",
    ["assert n % 64 == 0", "if n % 64:\n    raise ValueError", "if n % 64 != 0:\n    return", "assert not n % 64"],
)
def test_divisibility(check: str) -> None:
    lines = "".join(f"    {line}\n" for line in check.splitlines())
    launch = launch_in(f"\ndef copy(x, y, n: int):\n{lines}    copy_kernel[(1,)](x, y, n, BLOCK=64)\n")
    assert [(repr(a), repr(b)) for a, b in launch.divisible] == [("n", "64")]


def test_enclosing_branch_is_a_fact() -> None:
    launch = launch_in("\ndef copy(x, y, n: int):\n    if n % 64 == 0:\n        copy_kernel[(1,)](x, y, n, BLOCK=64)\n")
    assert [(repr(a), repr(b)) for a, b in launch.divisible] == [("n", "64")]


@given(
    strategies.integers(1, 6).flatmap(
        lambda rank: strategies.tuples(strategies.just(rank), strategies.integers(0, rank - 1))
    )
)
def test_negative_and_positive_indices_agree(rank_and_index: tuple[int, int]) -> None:
    rank, index = rank_and_index
    difference = bound(f"early = x.shape[{index - rank}]\nassert x.dim() == {rank}\nn = early - x.shape[{index}]")
    assert difference.constant == 0


# The number of items of lists, with `len(...)` passed as an argument.
LISTS = [
    ("items = [t for t in (a, b)]", "2"),
    ("items = []\nitems.append(a)\nitems.append(b)", "2"),
    ("items = [t for t in (a, b) if t is not None]", "len(items)"),
    ("items = {t for t in a.keys()}", "len(items)"),
    ("items = []\nfor t in (a, b):\n    items.append(t)", "len("),
    ("items = [a]\nitems.extend(b)", "len("),
]


@pytest.mark.parametrize(("body", "shown"), LISTS)
def test_lengths_of_lists(body: str, shown: str) -> None:
    """A list is not a tensor: its length is no size of one."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    launch = launch_in(f"\ndef copy(a, b):\n{lines}    copy_kernel[(1,)](items[0], b, len(items), BLOCK=64)\n")
    assert repr(launch.bindings["p:n"]).startswith(shown)
    assert ".shape" not in repr(launch.bindings["p:n"])
