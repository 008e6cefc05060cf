"""How each IR operation changes what the padded lanes hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kernlint.analysis.padding_fold import BINARY, UNARY, fold_binary, fold_unary, join
from kernlint.analysis.padding_state import (
    DATA,
    OPAQUE,
    UNIFORM,
    UNKNOWN,
    Entry,
    Lane,
    LaneState,
    Padding,
    conditions_of,
    constant,
    excludes,
    holds_outside,
    is_upper_bound,
    lane_dims,
    loop_axes,
    padding,
    renumbered,
)
from kernlint.ir.condition import FALSE, TRUE, Condition, Connective
from kernlint.ir.kernel import Access
from kernlint.ir.value import Value

Lookup = Callable[[Value], Padding]

_BINARY = set(BINARY) | {"cmp", "pow", "shl", "shr", "floordiv", "mod"}
_SAME = {"broadcast", "cast"}
# The block pointer's own padding: undefined by the manual, zero on current hardware paths.
_THREADS = frozenset({"t0", "t1", "t2"})


def state_at(padded: Padding, value: Value | None, entry: Entry) -> LaneState:
    """What the lanes outside `entry.condition` hold in this value."""
    known = padded.entry(entry.condition.key)
    if known is not None:
        return known.state
    if value is not None and value.cond is not None:
        decided = truth_outside(value.cond, entry.condition)
        if decided is not None:
            return constant(float(decided))
    for other in padded.entries:
        if excludes(entry.condition, other.condition):
            return other.state
    if padded.base.kind is not Lane.DATA:
        return padded.base
    if any(other.dims & entry.dims for other in padded.entries):
        # Bounded along the same lanes, but not provably by the same condition.
        return UNKNOWN
    return UNIFORM if entry.dims and not (padded.varies & entry.dims) else DATA


def truth_outside(condition: Condition, outside: Condition) -> bool | None:
    """The truth of `condition` where `outside` is false, when that is settled."""
    if condition.op in (Connective.TRUE, Connective.FALSE):
        return condition.op is Connective.TRUE
    if any(excludes(outside, part) for part in condition.conjuncts()):
        return False
    parts = condition.parts if condition.op is Connective.OR else (condition,)
    return True if any(holds_outside(outside, part) for part in parts) else None


def transfer(value: Value, look: Lookup) -> Padding:
    """The abstract value of `value`, given those of its arguments."""
    op = value.op
    args = value.args
    if op == "const":
        number = value.attrs.get("value")
        return Padding(constant(float(number))) if isinstance(number, int | float) else OPAQUE
    if op == "param":
        return Padding(DATA, lane_dims(value.expr) if value.expr is not None else frozenset())
    if op in ("load", "atomic"):
        return _load(value, look)
    if op == "arange":
        return Padding(DATA, lane_dims(value.expr) if value.expr is not None else frozenset({"-1"}))
    if op == "full":
        return Padding(look(args[0]).base if args else UNKNOWN)
    if op in UNARY and args:
        x = look(args[0])
        return _map(x, lambda state: fold_unary(op, state, value))
    if op == "cast" and args:
        return _cast(value, look(args[0]))
    if op in _SAME and args:
        return look(args[0])
    if op == "fma" and len(args) == 3:
        product = _zip("mul", value, args[0], look(args[0]), args[1], look(args[1]))
        return _zip("add", value, None, product, args[2], look(args[2]))
    if op in _BINARY and len(args) == 2:
        if any(is_exchange(arg) for arg in args):
            return Padding(DATA)  # a reduction across threads, not an elementwise operation
        return _zip(op, value, args[0], look(args[0]), args[1], look(args[1]))
    if op == "where" and len(args) == 3:
        return _select(value, args[0], args[0].cond, args[1], args[2], look)
    if op == "join" and len(args) == 2:
        condition = value.attrs.get("condition")
        return _merge(value, condition if isinstance(condition, Condition) else None, look)
    if op == "expand" and args:
        return _expand(value, look(args[0]))
    if op == "trans" and args:
        return _transpose(value, look(args[0]))
    if op == "reshape" and args:
        return _reshape(value, look(args[0]))
    if op == "reduce" and args:
        return reduced(value, args[0], look(args[0]))
    if op == "dot" and len(args) >= 2:
        return _dot(value, look)
    if op in ("scan", "sort") and args:
        x = look(args[0])
        kept = [e for e in x.entries if e.state.kind is Lane.UNDEFINED]
        return padding(UNKNOWN if op == "sort" else DATA, x.varies | _rank(value), kept)
    if op in ("shuffle", "vote") and args:
        # A finished exchange leaves every lane with the same result.
        return Padding(DATA)
    return _other(value, look)


def is_exchange(value: Value) -> bool:
    """What a butterfly or tree of warp shuffles combines with; a broadcast (`idx`) or prefix (`up`) is not one."""
    while value.op == "cast" and value.args:
        value = value.args[0]
    return value.op == "shuffle" and value.attrs.get("kind") in ("down", "xor", "bfly")


def _rank(value: Value) -> frozenset[str]:
    return frozenset(str(-1 - i) for i, extent in enumerate(reversed(value.shape)) if extent.constant != 1)


def _map(x: Padding, change: Callable[[LaneState], LaneState]) -> Padding:
    return padding(change(x.base), x.varies, (Entry(e.condition, e.dims, change(e.state)) for e in x.entries))


def _cast(value: Value, x: Padding) -> Padding:
    if value.dtype is None or value.dtype.is_float:
        return x

    def narrow(state: LaneState) -> LaneState:
        if state.kind is not Lane.CONST or state.value is None:
            return state
        if state.value in (float("inf"), float("-inf")) or state.value != state.value:
            return UNKNOWN
        if value.dtype is not None and value.dtype.name == "bool":
            return state.with_value(float(state.value != 0), value)
        return state.with_value(float(int(state.value)), value)

    return _map(x, narrow)


def _zip(op: str, value: Value, a: Value | None, x: Padding, b: Value | None, y: Padding) -> Padding:
    entries = list(conditions_of(x, y))
    merged = [Entry(e.condition, e.dims, fold_binary(op, state_at(x, a, e), state_at(y, b, e), value)) for e in entries]
    base = fold_binary(op, x.base, y.base, value)
    if base.kind is Lane.UNIFORM:
        base = DATA
    return padding(base, x.varies | y.varies, merged)


def _load(value: Value, look: Lookup) -> Padding:
    access = value.access
    if access is None:
        return OPAQUE
    varies = _lanes_of_access(value, access)
    unknown = access.pointer.buffer is None or access.index.is_opaque
    base = UNKNOWN if unknown and not value.shape else DATA
    if access.mask is None or value.op == "atomic":
        return Padding(base, varies)
    fill = _fill(value, access, look)
    mask = access.mask_value
    mask_varies = look(mask).varies if mask is not None else frozenset()
    entries = []
    for part in access.mask.conjuncts():
        dims = lane_dims(part) or (mask_varies if part.flags else frozenset())
        if dims or loop_axes(part):
            entries.append(Entry(part, dims, fill))
    return padding(base, varies | mask_varies, entries)


def _fill(value: Value, access: Access, look: Lookup) -> LaneState:
    if access.other is None:
        return LaneState(Lane.UNDEFINED, origin=value, soft=access.boundary_check is not None)
    base = look(access.other).base
    if base.kind is Lane.CONST and base.value is not None:
        return constant(base.value, value)
    return UNKNOWN


def _lanes_of_access(value: Value, access: Access) -> frozenset[str]:
    if access.pointer.buffer is None or access.index.is_opaque:
        return _rank(value) if value.shape else _THREADS
    found = lane_dims(access.index)
    for coordinate in access.block_offsets:
        found |= lane_dims(coordinate)
    return found or _rank(value)


def _merge(value: Value, condition: Condition | None, look: Lookup) -> Padding:
    """After a branch.  A branch on the lane itself (CUDA) selects; one on anything else leaves either arm."""
    then, other = value.args
    if condition is not None and lane_dims(condition):
        return _select(value, None, condition, then, other, look)
    x, y = look(then), look(other)
    merged = []
    for e in conditions_of(x, y):
        first, second = state_at(x, then, e), state_at(y, other, e)
        # An arm without these padded lanes (`EVEN_N`) has nothing to say about them.
        if first.kind in (Lane.DATA, Lane.UNIFORM):
            first = second
        if second.kind in (Lane.DATA, Lane.UNIFORM):
            second = first
        merged.append(Entry(e.condition, e.dims, join(first, second)))
    base = x.base if x.base == y.base else (UNKNOWN if UNKNOWN in (x.base, y.base) else DATA)
    return padding(base, x.varies | y.varies, merged)


def _select(
    value: Value, chooser: Value | None, condition: Condition | None, then: Value, other: Value, look: Lookup
) -> Padding:
    x, y = look(then), look(other)
    chosen = look(chooser) if chooser is not None else Padding(DATA)
    condition = condition if condition is not None else TRUE
    unknown_condition = condition.op is Connective.TRUE and (chooser is None or chooser.cond is None)
    parts = () if unknown_condition else condition.conjuncts()
    merged: list[Entry] = []
    for e in conditions_of(x, y, chosen):
        first, second = state_at(x, then, e), state_at(y, other, e)
        settled = None if unknown_condition else truth_outside(condition, e.condition)
        if settled is None:
            guess = state_at(chosen, chooser, e)
            if guess.kind is Lane.CONST:
                settled = bool(guess.value)
            elif guess.kind is Lane.UNDEFINED and (first.kind, first.value) != (second.kind, second.value):
                merged.append(Entry(e.condition, e.dims, guess))
                continue
        merged.append(Entry(e.condition, e.dims, _arm(e, settled, first, second, condition, chosen)))
    merged += _new_entries(value, parts, merged, y, other)
    base = x.base if x.base == y.base else (UNKNOWN if UNKNOWN in (x.base, y.base) else DATA)
    return padding(base, x.varies | y.varies | chosen.varies | lane_dims(condition), merged)


def _arm(
    e: Entry, settled: bool | None, first: LaneState, second: LaneState, condition: Condition, chosen: Padding
) -> LaneState:
    if settled is not None:
        return first if settled else second
    if first == second or (first.kind is Lane.CONST and second.kind is Lane.CONST and first.value == second.value):
        return first if first.origin is not None else second
    if (lane_dims(condition) | chosen.varies) & e.dims:
        # Another test of the same lanes: it may or may not cover the padding.
        return UNKNOWN
    if not condition.flags and lane_dims(condition):
        # A test of other lanes: where it fails, its own entry speaks.
        return first
    return join(first, second)


def _new_entries(
    value: Value, parts: tuple[Condition, ...], known: list[Entry], y: Padding, other: Value
) -> Iterator[Entry]:
    """`where(cols < n, x, c)` establishes padding by itself: those lanes hold c."""
    have = {entry.condition.key for entry in known}
    for part in parts:
        if part.key in have or part.op is FALSE.op or not is_upper_bound(part):
            continue
        dims = lane_dims(part)
        state = state_at(y, other, Entry(part, dims, DATA))
        if state.kind is Lane.CONST and state.value is not None and state.origin is None:
            yield Entry(part, dims, constant(state.value, value if value.span is not None else other))
        elif state.kind not in (Lane.DATA, Lane.UNIFORM):
            yield Entry(part, dims, state)


def _expand(value: Value, x: Padding) -> Padding:
    """`x[:, None]` and the like; `attrs["dims"]` lists the new dimensions, negative."""
    new = value.attrs.get("dims", value.attrs.get("dim"))
    added = {new} if isinstance(new, int) else set(new) if isinstance(new, tuple | list) else set()
    rank = len(value.shape)
    kept = [dim for dim in range(-rank, 0) if dim not in added]
    source = len(value.args[0].shape)
    if len(kept) != source:
        return _forget(x, value)
    return renumbered(x, _moves({old - source: dim for old, dim in enumerate(kept)}))


def _transpose(value: Value, x: Padding) -> Padding:
    """Result dimension i is source dimension order[i]; a plain transposition swaps the last two."""
    order = value.attrs.get("order")
    rank = len(value.shape)
    if isinstance(order, tuple | list) and len(order) == rank:
        return renumbered(x, _moves({(o if o < 0 else o - rank): i - rank for i, o in enumerate(order)}))
    return renumbered(x, {-1: -2, -2: -1}) if rank == 2 else _forget(x, value)


def _reshape(value: Value, x: Padding) -> Padding:
    """Only unit dimensions come or go, or all is forgotten."""
    old, new = value.args[0].shape, value.shape
    source = [i - len(old) for i, extent in enumerate(old) if extent.constant != 1]
    result = [i - len(new) for i, extent in enumerate(new) if extent.constant != 1]
    if [old[i] for i in source] != [new[i] for i in result]:
        return _forget(x, value)
    return renumbered(x, _moves(dict(zip(source, result, strict=True))))


def _moves(dims: dict[int, int]) -> dict[int, int]:
    return {old: new for old, new in dims.items() if old != new}


def _forget(x: Padding, value: Value) -> Padding:
    return Padding(UNKNOWN if x.entries else x.base, x.varies | _rank(value))


def reduced_dims(value: Value, x: Value) -> frozenset[str] | None:
    """The lane dimensions a reduction combines; None for all of them."""
    dim = value.attrs.get("dim")
    return frozenset({str(dim)}) if isinstance(dim, int) and len(x.shape) > 1 else None


def reduced(value: Value, arg: Value, x: Padding) -> Padding:
    dims = reduced_dims(value, arg)
    operation = str(value.attrs.get("op", ""))
    if dims is None:
        return Padding(DATA)
    kept = [
        Entry(e.condition, e.dims, _reduce_state(operation, e.state)) for e in x.entries if e.dims and not e.dims & dims
    ]
    base = x.base if x.base.is_zero and operation in ("sum", "max", "min") else DATA
    result = padding(base, x.varies - dims, kept)
    (dim,) = (int(d) for d in dims)
    if len(value.shape) < len(arg.shape):
        result = renumbered(result, {index: index + 1 for index in range(dim - 1, -len(arg.shape) - 1, -1)})
    return result


def _reduce_state(operation: str, state: LaneState) -> LaneState:
    """A whole padded row reduced to one padded element."""
    if state.kind is not Lane.CONST or state.is_zero:
        return state if operation in ("sum", "max", "min", "prod") or state.kind is Lane.UNDEFINED else UNKNOWN
    return state if operation in ("max", "min") else UNKNOWN


CONTRACTED = -100  # the name both operands' contracted dimension gets while a dot is examined


def contraction(value: Value, look: Lookup) -> list[tuple[Entry, LaneState, LaneState]]:
    """For every condition on the contracted lanes of a dot: the states of its two operands there."""
    a, b = value.args[0], value.args[1]
    x, y = renumbered(look(a), {-1: CONTRACTED}), renumbered(look(b), {-2: CONTRACTED})
    found = []
    for e in conditions_of(x, y):
        if str(CONTRACTED) in e.dims:
            found.append((e, state_at(x, None, e), state_at(y, None, e)))
    return found


def _dot(value: Value, look: Lookup) -> Padding:
    entries: list[Entry] = []
    for arg, dim, contracted in ((value.args[0], "-2", "-1"), (value.args[1], "-1", "-2")):
        for e in look(arg).entries:
            if e.dims and contracted not in e.dims and dim in e.dims:
                keep = e.state.is_zero or e.state.kind is Lane.UNDEFINED
                entries.append(Entry(e.condition, e.dims, e.state if keep else UNKNOWN))
    product = padding(DATA, frozenset({"-1", "-2"}), entries)
    if len(value.args) > 2:
        return _zip("add", value, None, product, value.args[2], look(value.args[2]))
    return product


def _other(value: Value, look: Lookup) -> Padding:
    """Operations nothing is known about: undefined stays undefined through pure functions, all else is unknown."""
    inputs = [look(arg) for arg in value.args]
    varies = frozenset().union(*(x.varies for x in inputs)) if inputs else frozenset()
    if value.op == "call":
        entries = []
        for e in conditions_of(*inputs):
            states = [state_at(x, arg, e) for x, arg in zip(inputs, value.args, strict=True)]
            undefined = next((s for s in states if s.kind is Lane.UNDEFINED), None)
            entries.append(Entry(e.condition, e.dims, undefined or UNKNOWN))
        base = DATA if all(x.base.kind is not Lane.UNKNOWN for x in inputs) else UNKNOWN
        return padding(base, varies | _rank(value), entries)
    if value.expr is not None and value.op != "opaque":
        return Padding(DATA, lane_dims(value.expr))
    return Padding(UNKNOWN, varies | _rank(value) | (lane_dims(value.expr) if value.expr is not None else frozenset()))
