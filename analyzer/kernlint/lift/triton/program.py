"""The program itself: its place in the grid, hints, assertions, prints, assembly, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import TRUE, disj, negate
from kernlint.ir.expr import ZERO, Axis, AxisKind, Expr, axis_expr, launch_dim
from kernlint.ir.kernel import Barrier, BarrierKind
from kernlint.ir.types import FLOAT32, INT32
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import binary, number, truth
from kernlint.lift.triton.elementwise import pure_call
from kernlint.lift.triton.registry import builtin, dtype_of, exprs_of, integer
from kernlint.lift.triton.shapes import broadcast
from kernlint.lift.triton.state import data
from kernlint.lift.triton.things import Callee, DType, Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, State


def grid_axis(index: int) -> Axis:
    return Axis(
        AxisKind.GRID, f"g{index}", f"program_id({index})", launch_dim("gd", index, f"num_programs({index})"), index
    )


@builtin("program_id", "num_programs")
def place(state: State, call: Call) -> Thing:
    thing = call.get(0, "axis")
    index = integer(thing) if thing is not None else 0
    if index is None or not 0 <= index <= 2:
        value = state.as_value(thing, call.node)
        made = state.value(call.name, (value,), node=call.node, dtype=INT32, attrs={"dim": None})
        made.expr = data(call.name, made.ordinal, ())
        return made
    expr = (
        axis_expr(grid_axis(index)) if call.name == "program_id" else launch_dim("gd", index, f"num_programs({index})")
    )
    return state.value(call.name, (), node=call.node, dtype=INT32, expr=expr, attrs={"dim": index})


@builtin("static_assert", "assume", "device_assert", "py.assert")
def assertion(state: State, call: Call) -> Thing:
    condition = truth(state, call.get(0, "cond"), call.node)
    fact = condition if state.guard is TRUE else disj((negate(state.guard), condition))
    if fact is not TRUE:
        state.facts.append(fact)
    return Static(None)


@builtin("multiple_of", "max_contiguous", "max_constancy")
def hint(state: State, call: Call) -> Thing:
    value = state.as_value(call.get(0, "input"), call.node)
    hints = state.attrs.setdefault("hints", [])
    hints.append(
        {
            "kind": call.name,
            "value": value,
            "amounts": exprs_of(call.get(1, "values")),
            "span": state.span(call.node),
            "guard": state.guard,
        }
    )
    return value


@builtin("debug_barrier")
def debug_barrier(state: State, call: Call) -> Thing:
    state.emit(
        Barrier(
            BarrierKind.BLOCK, state.span(call.node), state.next_ordinal(), state.path, state.guard, "tl.debug_barrier",
            inlined_at=state.inlined_at,
        )
    )  # fmt: skip
    state.epoch += 1
    return Static(None)


@builtin("static_print", "device_print", "py.print", "gdc_wait", "gdc_launch_dependents", "prefetch")
def no_effect(state: State, call: Call) -> Thing:
    return Static(None)


@builtin("inline_asm_elementwise")
def inline_asm(state: State, call: Call) -> Thing:
    given = call.get(2, "args")
    operands = given if isinstance(given, tuple) else ()
    values = tuple(state.as_value(item, call.node) for item in operands)
    shape: tuple[Expr, ...] = ()
    for value in values:
        shape = broadcast(shape, value.shape)
    written = call.get(3, "dtype")
    kinds = written if isinstance(written, tuple) else (written,)
    made: list[Value] = []
    for kind in kinds:
        dtype = dtype_of(kind) or DType(None)
        value = state.value(
            "call", values, node=call.node, dtype=dtype.type, shape=shape, attrs={"name": "inline_asm"},
            polymorphic=dtype.type is None,
        )  # fmt: skip
        if dtype.type is None or not dtype.type.is_float:
            value.expr = data("inline_asm", value.ordinal, shape)
        made.append(value)
    return tuple(made) if isinstance(written, tuple) else made[0]


@builtin("map_elementwise")
def map_elementwise(state: State, call: Call) -> Thing:
    function = call.get(0, "func")
    if isinstance(function, Callee):
        state.called.add(id(function.node))
    return pure_call(state, "map_elementwise", _without_first(call))


def _without_first(call: Call) -> Call:
    from kernlint.lift.triton.state import Call as CallClass

    return CallClass(call.name, call.args[1:], call.kwargs, call.node)


@builtin("rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox", "uint_to_uniform_float",
         "pair_uniform_to_normal")  # fmt: skip
def random_numbers(state: State, call: Call) -> Thing:
    count = 4 if call.name.endswith("4x") or call.name == "philox" else 2 if call.name.startswith("pair") else 1
    floating = not call.name.startswith(("randint", "philox"))
    made: list[Value] = []
    for _ in range(count):
        value = pure_call(state, call.name, call)
        value.dtype, value.polymorphic = (FLOAT32 if floating else INT32), False
        value.attrs.pop("constexpr", None)
        value.expr = None if floating else data(call.name, value.ordinal, value.shape)
        made.append(value)
    return tuple(made) if count > 1 else made[0]


@builtin("swizzle2d")
def swizzle2d(state: State, call: Call) -> Thing:
    """Row-major (i, j) of a size_i x size_j grid in groups of size_g rows (triton/language/standard.py)."""
    values = [
        state.as_value(call.get(n, name), call.node) for n, name in enumerate(("i", "j", "size_i", "size_j", "size_g"))
    ]
    i, j, size_i, size_j, size_g = (v.expr if v.expr is not None else ZERO for v in values)
    ij = i * size_j + j
    group_span = size_g * size_j
    first = arith.floordiv(ij, group_span) * size_g
    size = arith.minimum(size_i - first, size_g)
    ij = arith.mod(ij, group_span)
    shape = broadcast(values[0].shape, values[1].shape)
    new_i, new_j = first + arith.mod(ij, size), arith.floordiv(ij, size)
    return tuple(
        state.value(
            "call", tuple(values), node=call.node, dtype=INT32, shape=shape, expr=e, attrs={"name": "swizzle2d"}
        )
        for e in (new_i, new_j)
    )


@builtin("py.len")
def length(state: State, call: Call) -> Thing:
    thing = call.get(0, "obj")
    if isinstance(thing, tuple):
        return state.constant(len(thing), call.node)
    if isinstance(thing, Value) and thing.op == "param":
        from kernlint.ir.expr import param

        return state.integer(param(f"len({thing.attrs['name']})"), call.node)
    if isinstance(thing, Value) and thing.shape:
        return state.integer(thing.shape[0], call.node)
    return state.opaque("len", call.node)


@builtin("py.isinstance", "py.hasattr", "py.callable")
def type_test(state: State, call: Call) -> Thing:
    from kernlint.ir.condition import flag

    return state.value("call", node=call.node, cond=flag(f"{state.code(call.node)}#{state.next_ordinal()}"),
                       attrs={"name": call.name, "constexpr": True})  # fmt: skip


@builtin("py.tuple", "py.list", "py.reversed")
def sequence(state: State, call: Call) -> Thing:
    thing = call.get(0, "x")
    if isinstance(thing, tuple):
        return tuple(reversed(thing)) if call.name == "py.reversed" else thing
    return () if thing is None else thing


@builtin("py.zip", "py.enumerate")
def paired(state: State, call: Call) -> Thing:
    things = [t for t in call.args if isinstance(t, tuple)]
    if len(things) != len(call.args):
        return state.opaque("iteration over what is not a tuple", call.node)
    if call.name == "py.enumerate":
        return tuple((state.constant(n, call.node), item) for n, item in enumerate(things[0]))
    return tuple(zip(*things, strict=False))


@builtin("py.sum")
def python_sum(state: State, call: Call) -> Thing:
    thing = call.get(0, "x")
    total: Thing = state.constant(0, call.node)
    for item in thing if isinstance(thing, tuple) else ():
        total = binary(state, "add", total, item, call.node)
    return total


@builtin("py.round")
def python_round(state: State, call: Call) -> Thing:
    known = number(call.get(0, "x"))
    return state.constant(round(known), call.node) if known is not None else pure_call(state, "round", call)
