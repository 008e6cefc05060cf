"""The padding analysis on value graphs made by hand: what every transfer does to the lanes outside a mask."""

from __future__ import annotations

import itertools
import math

from kernlint.analysis.padding import padding_faults
from kernlint.analysis.padding_judge import Fault
from kernlint.ir.condition import TRUE, Condition, conj, flag, less
from kernlint.ir.expr import ZERO, Axis, AxisKind, Expr, axis_expr, const, param
from kernlint.ir.kernel import Access, AccessKind, Framework, Kernel, Loop
from kernlint.ir.types import FLOAT32, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value

SPAN = Span("k.py", 0, 1)


def lane(dim: int, size: str) -> Expr:
    return axis_expr(Axis(AxisKind.LANE, f"l{dim}:{param(size).key}", f"lane{dim}", param(size), dim))


class Graph:
    """Makes values in program order."""

    def __init__(self) -> None:
        self.kernel = Kernel("k", Framework.TRITON, SPAN, SPAN, ())
        self._ordinals = itertools.count()

    def make(self, kind: str, /, *args: Value, shape: tuple[Expr, ...] | None = None, **attrs: object) -> Value:
        inherited = max((arg.shape for arg in args), key=len, default=())
        at = next(self._ordinals)
        value = Value(
            kind, args, FLOAT32, inherited if shape is None else shape, span=Span("k.py", at, at + 1),
            attrs=dict(attrs), ordinal=at,
        )  # fmt: skip
        self.kernel.values.append(value)
        return value

    def number(self, value: float) -> Value:
        return self.make("const", value=value)

    def load(self, index: Expr, shape: tuple[Expr, ...], mask: Condition | None, fill: float | None = None) -> Value:
        other = self.number(fill) if fill is not None else None
        value = self.make("load", shape=shape)
        pointer = Pointer(Buffer("x", Space.GLOBAL, FLOAT32, SPAN), index, FLOAT32)
        value.attrs["access"] = Access(
            AccessKind.LOAD, pointer, SPAN, value.ordinal, mask=mask, other=other, value=value, shape=shape
        )
        return value

    def select(self, mask: Condition, then: Value, other: Value) -> Value:
        condition = self.make("cmp", shape=then.shape)
        condition.cond = mask
        return self.make("where", condition, then, other)

    def reduce(self, op: str, x: Value, dim: int | None = -1) -> Value:
        return self.make("reduce", x, shape=x.shape[:-1] if dim == -1 else (), op=op, dim=dim)

    def faults(self) -> list[Fault]:
        return [fault.kind for fault in padding_faults(self.kernel)]


COLS, ROWS = lane(-1, "BN"), lane(-2, "BM")
COL_OK, ROW_OK = less(COLS, param("n")), less(ROWS, param("m"))
ROW = (param("BN"),)
TILE = (param("BM"), param("BN"))


def test_an_unfilled_load_into_a_sum() -> None:
    g = Graph()
    g.reduce("sum", g.load(COLS, ROW, COL_OK))
    assert g.faults() == [Fault.UNDEFINED]


def test_an_unmasked_or_always_valid_load_has_no_padding() -> None:
    g = Graph()
    g.reduce("sum", g.load(COLS, ROW, None))
    g.reduce("sum", g.load(COLS, ROW, TRUE))
    g.reduce("sum", g.load(COLS, ROW, less(COLS, param("BN"))))
    assert g.faults() == []


def test_the_softmax_chain_keeps_its_identities() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=-math.inf)
    e = g.make("exp", g.make("sub", x, g.reduce("max", x)))
    g.reduce("sum", e)
    assert g.faults() == []


def test_subtracting_the_mean_moves_zeros_unless_masked_again() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=0.0)
    mean = g.make("div", g.reduce("sum", x), g.make("param", shape=(), name="n"), shape=())
    centred = g.make("sub", x, mean)
    g.reduce("sum", g.make("mul", centred, centred))
    assert g.faults() == [Fault.MOVED]
    masked = g.select(COL_OK, centred, g.number(0.0))
    g.reduce("sum", g.make("mul", masked, masked))
    assert g.faults() == [Fault.MOVED]


def test_a_stronger_mask_also_restores_and_a_weaker_does_not() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK)
    g.reduce("sum", g.select(less(COLS + 1, param("n")), x, g.number(0.0)))
    assert g.faults() == []
    g.reduce("sum", g.select(less(COLS - 1, param("n")), x, g.number(0.0)))
    assert g.faults() == []  # not provably the same mask: nothing is claimed


def test_only_the_reduced_dimension_counts() -> None:
    g = Graph()
    x = g.load(ROWS * param("n") + COLS, TILE, ROW_OK)
    g.reduce("sum", x)
    assert g.faults() == []
    y = g.load(ROWS * param("n") + COLS, TILE, conj((ROW_OK, COL_OK)))
    g.reduce("sum", y)
    assert g.faults() == [Fault.UNDEFINED]


def test_rows_reduced_after_columns_are_followed() -> None:
    g = Graph()
    x = g.load(ROWS * param("n") + COLS, TILE, ROW_OK)
    per_row = g.reduce("sum", x)
    per_row.shape = (param("BM"),)
    g.reduce("sum", per_row, dim=None)
    assert g.faults() == [Fault.UNDEFINED]


def test_a_fill_of_zero_under_a_maximum() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=0.0)
    g.reduce("max", x)
    g.reduce("max", g.make("abs", x))
    assert g.faults() == [Fault.WRONG_IDENTITY]


def matrix_product(g: Graph, fill_a: float | None, fill_b: float | None) -> None:
    k_of_a, k_of_b = less(lane(-1, "BK"), param("k")), less(lane(-2, "BK"), param("k"))
    a = g.load(lane(-1, "BK"), (param("BM"), param("BK")), k_of_a, fill_a)
    b = g.load(lane(-2, "BK"), (param("BK"), param("BN")), k_of_b, fill_b)
    g.make("dot", a, b, shape=TILE)


def test_a_dot_needs_zeros_on_one_side_and_something_defined_on_the_other() -> None:
    for fills, expected in (
        ((0.0, 0.0), []),
        ((0.0, 1.0), []),
        ((None, 0.0), [Fault.ZERO_TIMES_UNDEFINED]),
        ((0.0, None), [Fault.ZERO_TIMES_UNDEFINED]),
        ((None, 1.0), [Fault.UNDEFINED]),
        ((1.0, 1.0), [Fault.WRONG_IDENTITY]),
    ):
        g = Graph()
        matrix_product(g, *fills)
        assert g.faults() == expected, fills


def accumulate(g: Graph, mask: Condition, axis: Axis, fill: float | None) -> Value:
    loop = Loop(axis, SPAN, start=ZERO, stop=param("n"), step=param("BN"))
    carry = g.make("carry", g.make("full", g.number(0.0), shape=ROW), shape=ROW, loop=loop)
    x = g.load(COLS, ROW, mask, fill)
    carry.args = (*carry.args, g.make("add", carry, x))
    return carry


def test_a_running_sum_over_ragged_tiles() -> None:
    axis = Axis(AxisKind.LOOP, "k0", "k0", None)
    ragged = less(axis_expr(axis) * param("BN") + COLS, param("n"))
    g = Graph()
    accumulate(g, ragged, axis, None)
    assert g.faults() == [Fault.UNDEFINED]
    g = Graph()
    g.reduce("sum", accumulate(g, ragged, axis, 0.0))
    assert g.faults() == []


def test_a_running_sum_padded_alike_in_every_turn_is_judged_where_it_is_reduced() -> None:
    axis = Axis(AxisKind.LOOP, "k0", "k0", None)
    g = Graph()
    total = accumulate(g, COL_OK, axis, None)
    assert g.faults() == []
    g.reduce("sum", total)
    assert g.faults() == [Fault.UNDEFINED]


def test_a_prefix_sum_never_sees_what_is_behind_the_end() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK)
    g.make("scan", x, op="sum", dim=-1)
    assert g.faults() == []
    g.make("scan", x, op="sum", dim=-1, reverse=True)
    assert g.faults() == [Fault.UNDEFINED]


def test_what_is_not_understood_is_not_accused() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=0.0)
    g.reduce("max", g.make("add", x, g.make("opaque", shape=ROW)))
    g.reduce("max", g.make("call", x, name="something"))
    assert g.faults() == []


def test_a_long_chain_costs_no_stack() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=0.0)
    for _ in range(5000):
        x = g.make("mul", x, g.number(1.5))
    g.reduce("prod", x)
    assert g.faults() == [Fault.WRONG_IDENTITY]


def test_constant_tiles_are_as_wide_as_they_say() -> None:
    g = Graph()
    width = const(64)
    lanes = axis_expr(Axis(AxisKind.LANE, f"l-1:{width.key}", "lane", width, -1))
    g.reduce("sum", g.load(lanes, (width,), less(lanes, const(64))))
    assert g.faults() == []
    g.reduce("sum", g.load(lanes, (width,), less(lanes, const(63))))
    assert g.faults() == [Fault.UNDEFINED]


def test_the_index_that_comes_along_with_a_maximum_is_not_reduced_itself() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=-math.inf)
    position = g.load(COLS, ROW, COL_OK)
    top, where = g.reduce("max", x), g.reduce("max", position)
    where.span = top.span
    assert g.faults() == []


def test_a_masked_running_mean_is_not_an_accumulation_of_padding() -> None:
    axis = Axis(AxisKind.LOOP, "k0", "k0", None)
    ragged = less(axis_expr(axis) * param("BN") + COLS, param("n"))
    loop = Loop(axis, SPAN, start=ZERO, stop=param("n"), step=param("BN"))
    g = Graph()
    mean = g.make("carry", g.make("full", g.number(0.0), shape=ROW), shape=ROW, loop=loop)
    x = g.load(COLS, ROW, ragged)
    mean.args = (*mean.args, g.select(ragged, g.make("add", mean, g.make("sub", x, mean)), mean))
    assert g.faults() == []


def test_a_shift_of_minus_infinity_moved_in_one_arm_is_reported_and_undone_in_another_is_not() -> None:
    g = Graph()
    x = g.load(COLS, ROW, COL_OK, fill=-math.inf)
    capped = g.make("mul", g.make("tanh", x), g.make("param", shape=(), name="cap"))
    either = g.make("join", capped, x, condition=flag("SOFTCAP"))
    g.reduce("sum", g.make("exp", either))
    assert g.faults() == [Fault.MOVED]
    again = g.make("join", g.select(COL_OK, either, g.number(-math.inf)), either, condition=flag("SOFTCAP"))
    g.kernel.values = [value for value in g.kernel.values if value.op != "reduce"]
    g.reduce("sum", g.make("exp", again))
    assert g.faults() == []
