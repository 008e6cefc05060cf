"""Sizes by name, bounds at launches, shared memory sums."""

from __future__ import annotations

import pytest

from kernlint.analysis.launch_limits import (
    Size,
    block_threads,
    empty_dims,
    expr_size,
    grid_problems,
    is_data_size,
    static_shared_bytes,
)
from kernlint.ir import arith
from kernlint.ir.condition import Condition, at_most, less
from kernlint.ir.expr import Expr, const, host, param
from kernlint.ir.host import GridDim, Launch
from kernlint.ir.kernel import Framework, Kernel, Param, ParamRole
from kernlint.ir.types import FLOAT32, Space, Span
from kernlint.ir.value import Buffer

HERE = Span("k.cu", 0, 1)
ROWS, N = host("rows"), host("n")


def launch(grid: list[Expr], block: list[Expr] | None = None, facts: tuple[Condition, ...] = ()) -> Launch:
    dims = tuple(GridDim(expr, HERE) for expr in grid)
    threads = tuple(GridDim(expr, HERE) for expr in block or [const(128)])
    return Launch("k", HERE, None, dims, threads, facts=list(facts))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("rows", Size.LARGE),
        ("num_tokens", Size.LARGE),
        ("x.shape[0]", Size.LARGE),
        ("x.size(0)", Size.LARGE),
        ("x.numel()", Size.LARGE),
        ("tensors'[i : i + 4].shape[0]", Size.SMALL),
        ("args.seqLen", Size.LARGE),
        ("batch_size", Size.MIDDLE),
        ("x.shape[2]", Size.MIDDLE),
        ("whatever", Size.SMALL),
        ("num_kv_heads", Size.SMALL),
        ("numSplits", Size.SMALL),
        ("n_experts", Size.SMALL),
    ],
)
def test_what_kind_of_size_a_name_means(name: str, size: Size) -> None:
    assert expr_size(host(name)) is size


def test_products_are_at_least_middling_and_tiles_are_no_plain_size() -> None:
    assert expr_size(host("batch") * host("heads")) is Size.MIDDLE
    assert expr_size(host("heads") * host("rows")) is Size.LARGE
    assert expr_size(host("x.shape[0]") * host("x.shape[1]")) is Size.MIDDLE
    assert expr_size(arith.cdiv(ROWS, const(64))) is None


def test_only_y_and_z_have_the_small_limit() -> None:
    assert [p.axis for p in grid_problems(launch([ROWS, const(1)]))] == []
    assert [p.axis for p in grid_problems(launch([const(1), ROWS]))] == [1]
    assert [p.axis for p in grid_problems(launch([const(1), const(1), ROWS]))] == [2]


def test_clamps_and_checks_bound_a_dimension() -> None:
    assert grid_problems(launch([const(1), arith.minimum(ROWS, const(65535))])) == []
    assert grid_problems(launch([const(1), ROWS], facts=(at_most(ROWS, const(65535)),))) == []
    assert grid_problems(launch([const(1), ROWS], facts=(at_most(ROWS, const(70000)),))) != []


def test_constants_are_decided() -> None:
    (problem,) = grid_problems(launch([const(1), const(65536)]))
    assert problem.size is None
    assert grid_problems(launch([const(1 << 20), const(65535)])) == []


def test_compile_time_parameters_take_the_launchs_values() -> None:
    made = launch([const(1), arith.floordiv(const(1 << 20), param("BLOCK"))])
    made.bindings["p:BLOCK"] = const(8)
    (problem,) = grid_problems(made)
    assert problem.expr.constant == 1 << 17


def test_a_dimension_that_is_never_checked_may_be_empty() -> None:
    assert [p.size for p in empty_dims(launch([arith.cdiv(N, const(256))]))] == [Size.LARGE]
    assert empty_dims(launch([N], facts=(less(const(0), N),))) == []
    assert [p.size for p in empty_dims(launch([const(0)]))] == [None]


def test_threads_are_the_product_of_the_block() -> None:
    total = block_threads(launch([const(1)], [const(32), const(8)]))
    assert total is not None
    assert total.constant == 256


def test_a_size_also_passed_to_the_kernel_is_data() -> None:
    made = launch([const(1)], [N])
    size = Param("n", ParamRole.SCALAR, HERE)
    made.kernel = Kernel("k", Framework.CUDA, HERE, HERE, (size,))
    assert not is_data_size(N, made)
    made.bindings["p:n"] = N
    assert is_data_size(N, made)


def test_static_arrays_add_up_and_dynamic_ones_do_not_count() -> None:
    def shared(name: str, *extents: Expr, dynamic: bool = False) -> Buffer:
        return Buffer(name, Space.SHARED, FLOAT32, HERE, extents, dynamic)

    kernel = Kernel("k", Framework.CUDA, HERE, HERE, ())
    kernel.buffers = {
        "a": shared("a", const(4), const(8)),
        "b": shared("b", param("B")),
        "c": shared("c", dynamic=True),
    }
    assert static_shared_bytes(kernel, None) is None
    made = launch([const(1)])
    made.bindings["p:B"] = const(100)
    known = static_shared_bytes(kernel, made)
    assert known is not None
    assert known[0] == 4 * 32 + 4 * 100
