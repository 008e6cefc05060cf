"""Block pointers and tensor descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import Condition, at_least_zero, conj, less
from kernlint.ir.expr import ONE, ZERO, Expr, opaque
from kernlint.ir.expr import param as param_expr
from kernlint.ir.kernel import Access, AccessKind
from kernlint.ir.value import BlockPointer, Pointer, Value
from kernlint.lift.triton.registry import builtin, dtype_of, exprs_of, integer, text
from kernlint.lift.triton.state import lane
from kernlint.lift.triton.things import Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, State


def is_block(value: Value) -> bool:
    return value.block is not None


def _known(state: State, thing: Thing | None, rank: int | None = None) -> tuple[Expr, ...] | None:
    """The integers of a tuple argument, unknown entries opaque; None when the tuple itself is unknown."""
    exprs = exprs_of(thing)
    if exprs is None or (rank is not None and len(exprs) != rank):
        return None
    return tuple(
        e if e is not None else opaque(f"b{state.next_ordinal()}", "unknown block pointer part") for e in exprs
    )


@builtin("make_block_ptr", "make_tensor_descriptor", "_experimental_make_tensor_descriptor")
def make_block_ptr(state: State, call: Call) -> Thing:
    from kernlint.lift.triton.memory import pointers

    base = state.as_value(call.get(0, "base"), call.node)
    bounded = call.name != "make_block_ptr"
    shape = _known(state, call.get(1, "shape"))
    if shape is None:
        return state.opaque("block pointer whose shape is not a tuple", call.node, (base,))
    rank = len(shape)
    strides = _known(state, call.get(2, "strides"), rank)
    if bounded:
        offsets: tuple[Expr, ...] | None = (ZERO,) * rank
        block = _known(state, call.get(3, "block_shape"), rank)
    else:
        offsets = _known(state, call.get(3, "offsets"), rank)
        block = _known(state, call.get(4, "block_shape"), rank)
    if strides is None or offsets is None or block is None or base.expr is None:
        return state.opaque("block pointer whose parts are not understood", call.node, (base,))
    found = pointers(state, base.expr)
    pointer = found[0][1] if len(found) == 1 else Pointer(None, base.expr, None)
    made = state.value("pointer", (base,), node=call.node, polymorphic=True)
    made.block = BlockPointer(pointer, shape, strides, offsets, block, bounded)
    made.pointer = pointer
    made.attrs["order"] = tuple(o for o in (integer(i) for i in _tuple(call.get(5, "order"))) if o is not None)
    return made


def _tuple(thing: Thing | None) -> tuple[Thing, ...]:
    return thing if isinstance(thing, tuple) else ()


@builtin("advance")
def advance(state: State, call: Call) -> Thing:
    source = state.as_value(call.get(0, "base"), call.node)
    written = call.get(1, "offsets")
    if source.block is None and source.op == "param" and isinstance(written, tuple):
        host_descriptor(state, source, len(written), bounded=False)
    block = source.block
    steps = _known(state, call.get(1, "offsets"), len(block.offsets) if block is not None else None)
    if block is None or steps is None:
        return state.opaque("advance of what is not a block pointer", call.node, (source,))
    made = state.value("pointer", (source,), node=call.node, polymorphic=True)
    made.block = moved(block, tuple(a + b for a, b in zip(block.offsets, steps, strict=True)))
    made.pointer = block.pointer
    return made


def moved(block: BlockPointer, offsets: tuple[Expr, ...]) -> BlockPointer:
    return BlockPointer(block.pointer, block.shape, block.strides, offsets, block.block_shape, block.bounded)


def block_access(state: State, kind: AccessKind, address: Value, call: Call, stored: Value | None) -> Thing:
    """An access through a block pointer or descriptor: `tl.load(pointer, mask, other, boundary_check, padding_option)`,
    `tl.store(pointer, value, mask, boundary_check)`."""
    block = address.block
    assert block is not None
    checked = _checked_dims(block, call)
    rank = len(block.offsets)
    lanes = tuple(lane(d - rank, block.block_shape[d]) for d in range(rank))
    coordinates = tuple(block.offsets[d] + lanes[d] for d in range(rank))
    offset = block.pointer.offset
    for d in range(rank):
        offset = offset + coordinates[d] * block.strides[d]
    mask: Condition | None = None
    if checked or block.bounded:
        mask = conj(part for d in checked for part in _in_range(coordinates[d], block.shape[d]))
    padding = text(call.get(4, "padding_option")) if kind is AccessKind.LOAD else None
    fill = None
    if block.bounded:
        fill = state.constant(0, call.node)
    elif padding in ("zero", "nan"):
        fill = state.constant(0 if padding == "zero" else float("nan"), call.node)
    pointer = Pointer(block.pointer.buffer, offset, block.pointer.dtype, coordinates, block.pointer.casts)
    result = stored
    if kind is AccessKind.LOAD:
        result = state.value(
            "load", (address,), node=call.node, dtype=pointer.dtype, shape=block.block_shape,
            polymorphic=pointer.dtype is None,
        )  # fmt: skip
    access = Access(
        kind, pointer, state.span(call.node), state.next_ordinal(), state.path,
        state.both(state.guard, mask) if mask is not None else state.guard,
        mask, None, fill if kind is AccessKind.LOAD else None, result, pointer.dtype, block.block_shape,
        epoch=state.epoch, boundary_check=tuple(checked), block_offsets=coordinates,
        block_shape_bounds=block.shape, inlined_at=state.inlined_at,
    )  # fmt: skip
    access.attrs["address"] = address
    access.attrs["block"] = block
    if padding is not None:
        access.attrs["padding_option"] = padding
    state.emit(access)
    if kind is AccessKind.LOAD and result is not None:
        from kernlint.lift.triton.memory import loaded_meaning

        result.attrs["access"] = access
        result.expr = loaded_meaning(access)
    return result if result is not None else address


def _in_range(coordinate: Expr, bound: Expr) -> list[Condition]:
    upper = less(coordinate, bound)
    if any(coeff < 0 for _, coeff in coordinate.terms):
        return [at_least_zero(coordinate), upper]
    return [upper]


def _checked_dims(block: BlockPointer, call: Call) -> list[int]:
    rank = len(block.offsets)
    if block.bounded:
        return list(range(rank))
    written = call.get(3, "boundary_check")
    items = written if isinstance(written, tuple) else (written,) if isinstance(written, Value) else ()
    dims = {d for d in (integer(item) for item in items) if d is not None and -rank <= d < rank}
    if isinstance(written, Value) and integer(written) is None:
        dims = set(range(rank))  # not readable: taken as checked, so that nothing is claimed about it
    return sorted(d % rank for d in dims)


# ---- tensor descriptors made on the host ---------------------------------------------------------------------------


def host_descriptor(
    state: State, value: Value, rank: int, block_shape: tuple[Expr, ...] | None = None, *, bounded: bool = True
) -> None:
    """Make a parameter a descriptor: its shape, strides and block shape are the host's, the last stride is one.

    A block pointer handed to a helper (`bounded` False) has strides and a place of its own as well.
    """
    from kernlint.lift.triton.memory import buffer_named

    name = str(value.attrs["name"])
    state.descriptors.add(name)
    dims = range(rank)
    strides = tuple(ONE if bounded and d == rank - 1 else param_expr(f"{name}.strides[{d}]") for d in dims)
    offsets = (ZERO,) * rank if bounded else tuple(param_expr(f"{name}.offsets[{d}]") for d in dims)
    value.block = BlockPointer(
        Pointer(buffer_named(state, name), ZERO, None),
        tuple(param_expr(f"{name}.shape[{d}]") for d in dims),
        strides,
        offsets,
        block_shape or tuple(param_expr(f"{name}.block_shape[{d}]") for d in dims),
        bounded,
    )


def _descriptor_at(state: State, desc: Thing | None, offsets: Thing | None, call: Call) -> Value | None:
    source = state.as_value(desc, call.node)
    count = len(offsets) if isinstance(offsets, tuple) else 1
    if source.block is None and source.op == "param" and offsets is not None:
        shape = exprs_of(call.get(2, "block_shape")) if call.name.startswith("_experimental") else None
        known = tuple(e for e in shape if e is not None) if shape is not None and len(shape) == count else None
        host_descriptor(state, source, count, known if known is not None and len(known) == count else None)
    known_offsets = _known(state, offsets, count)
    if source.block is None or known_offsets is None or len(source.block.offsets) != count:
        return None
    made = state.value("pointer", (source,), node=call.node, polymorphic=True)
    made.block = moved(source.block, known_offsets)
    made.pointer = source.block.pointer
    return made


@builtin("load_tensor_descriptor", "_experimental_descriptor_load", "descriptor_load")
def descriptor_load(state: State, call: Call) -> Thing:
    place = _descriptor_at(state, call.get(0, "desc"), call.get(1, "offsets"), call)
    if place is None:
        return state.opaque("descriptor not understood", call.node)
    result = block_access(state, AccessKind.LOAD, place, call, None)
    written = dtype_of(call.get(3, "dtype"))
    if isinstance(result, Value) and written is not None and written.type is not None:
        result.dtype, result.polymorphic = written.type, False
        if written.type.is_float:
            result.expr = None
    return result


@builtin("store_tensor_descriptor", "_experimental_descriptor_store", "descriptor_store")
def descriptor_store(state: State, call: Call) -> Thing:
    offsets, value = call.get(1, "offsets"), call.get(2, "value")
    if call.name.startswith("_experimental"):
        offsets, value = call.get(2, "offsets"), call.get(1, "value")
    place = _descriptor_at(state, call.get(0, "desc"), offsets, call)
    stored = state.as_value(value, call.node)
    if place is None:
        return state.opaque("descriptor not understood", call.node)
    return block_access(state, AccessKind.STORE, place, call, stored)


@builtin("descriptor_atomic")
def descriptor_atomic(state: State, call: Call) -> Thing:
    """`desc.atomic_add(offsets, value)`; `call.name` is `atomic_add` and so on."""
    place = _descriptor_at(state, call.get(0, "desc"), call.get(1, "offsets"), call)
    stored = state.as_value(call.get(2, "value"), call.node)
    if place is None:
        return state.opaque("descriptor not understood", call.node)
    made = block_access(state, AccessKind.ATOMIC, place, call, stored)
    access = state.region.items[-1]
    if isinstance(access, Access):
        access.op = call.name.removeprefix("atomic_")
    return made
