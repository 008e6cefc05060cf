"""Over how many threads a value is the same."""

from __future__ import annotations

from kernlint.analysis.uniformity import Spread, Uniformity, widest
from kernlint.ir import arith
from kernlint.ir.condition import conj, equal, flag, less
from kernlint.ir.expr import Axis, AxisKind, Expr, axis_expr, const, launch_dim, loaded, opaque, param
from kernlint.ir.kernel import Access, AccessKind, Framework, Kernel
from kernlint.ir.types import FLOAT32, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value

HERE = Span("k.cu", 0, 1)
TID = axis_expr(Axis(AxisKind.LANE, "t0", "threadIdx.x", None, 0, True))
BLOCK = axis_expr(Axis(AxisKind.GRID, "g0", "blockIdx.x", None))
X = Buffer("x", Space.GLOBAL, FLOAT32, HERE)


def of(*values: Value) -> Uniformity:
    return Uniformity(Kernel("k", Framework.CUDA, HERE, HERE, (), values=list(values)))


def load(index: Expr) -> Value:
    access = Access(AccessKind.LOAD, Pointer(X, index, FLOAT32), HERE, 1)
    return Value("load", attrs={"access": access})


def number(expr: Expr) -> Value:
    return Value("add", expr=expr)


def test_parameters_blocks_and_launch_dimensions_are_the_same_for_the_block() -> None:
    assert of().of_expr(BLOCK * launch_dim("bd", 0, "blockDim.x") + param("n")) is Spread.BLOCK


def test_anything_with_the_thread_number_is_per_thread() -> None:
    assert of().of_expr(BLOCK + arith.mod(TID, const(4))) is Spread.THREAD


def test_the_warp_number_is_the_same_for_a_warp() -> None:
    assert of().of_expr(arith.floordiv(TID, const(32))) is Spread.WARP
    assert of().of_expr(arith.floordiv(TID, const(16))) is Spread.THREAD


def test_loads_are_as_uniform_as_their_address() -> None:
    assert of().of_expr(loaded(1, "x", (BLOCK,))) is Spread.BLOCK
    assert of().of_expr(loaded(1, "x", (TID,))) is Spread.THREAD
    assert of().of_value(load(BLOCK)) is Spread.BLOCK
    assert of().of_value(load(TID + 1)) is Spread.THREAD


def test_reductions_by_shuffles_are_unknown() -> None:
    x = load(TID)
    turned = Value("shuffle", (x,), attrs={"kind": "xor"})
    assert of().of_value(turned) is None
    assert of().of_value(Value("add", (x, turned))) is None


def test_atomics_differ_votes_do_not_within_a_warp() -> None:
    known = of()
    assert known.of_value(Value("shuffle", (load(TID), number(const(0))), attrs={"kind": "idx"})) is Spread.WARP
    assert known.of_value(Value("atomic")) is Spread.THREAD
    assert known.of_value(Value("vote", (load(TID),), attrs={"kind": "any"})) is Spread.WARP
    assert known.of_value(Value("vote", (load(TID),), attrs={"kind": "block_or"})) is Spread.BLOCK


def test_a_flag_is_as_uniform_as_the_value_behind_it() -> None:
    condition = conj([flag("f"), less(param("n"), const(3))])
    assert of().of_condition(condition) is None
    assert of().of_condition(condition, Value("cmp", (load(TID),))) is Spread.THREAD
    assert of().of_condition(condition, Value("cmp", (load(BLOCK),))) is Spread.BLOCK


def test_a_merge_is_as_uniform_as_its_condition() -> None:
    one, two = number(const(1)), number(const(2))
    assert of().of_value(Value("join", (one, two), attrs={"condition": less(TID, const(3))})) is Spread.THREAD
    assert of().of_value(Value("join", (one, two), attrs={"condition": less(param("n"), const(3))})) is Spread.BLOCK


def test_carried_values_follow_what_goes_into_them() -> None:
    uniform = Value("carry", (number(const(0)),))
    uniform.args = (*uniform.args, Value("add", (uniform, load(BLOCK))))
    assert of().of_value(uniform) is Spread.BLOCK
    scattered = Value("carry", (number(const(0)),))
    following = Value("add", (scattered, load(TID)))
    scattered.args = (*scattered.args, following)
    known = of()
    assert known.of_value(scattered) is Spread.THREAD
    assert known.of_value(following) is Spread.THREAD


def test_opaque_atoms_are_looked_up_in_the_value_graph() -> None:
    name = opaque("v")
    behind = Value("call", (load(BLOCK),), expr=name)
    assert of(behind).of_expr(name + 1) is Spread.BLOCK
    assert of().of_expr(name + 1) is None


def test_unknown_gives_way_only_to_per_thread() -> None:
    assert widest([None, Spread.THREAD]) is Spread.THREAD
    assert widest([None, Spread.BLOCK]) is None
    assert widest([]) is Spread.BLOCK
    assert of().of_condition(equal(TID, const(0))) is Spread.THREAD
