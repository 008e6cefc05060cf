"""Loads, stores and atomics through pointers, and what an address points to.

Until it is dereferenced, a pointer is just an integer expression in which the pointer parameter occurs once, with
factor one: `x_ptr + row*stride + lane`.  Dereferencing finds that parameter, which is how pointers are told from
scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import TRUE, Condition, negate
from kernlint.ir.expr import ZERO, Atom, AtomKind, Expr, of_atom
from kernlint.ir.kernel import Access, AccessKind, Frame, ParamRole
from kernlint.ir.types import ElementType, Space
from kernlint.ir.value import Buffer, Pointer, Value
from kernlint.lift.triton.arithmetic import truth
from kernlint.lift.triton.blocks import block_access, host_descriptor, is_block
from kernlint.lift.triton.registry import builtin, integer, is_none, text
from kernlint.lift.triton.shapes import Shape, broadcast
from kernlint.lift.triton.things import Base, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, Node, State

MAX_ALTERNATIVES = 4


def buffer_named(state: State, name: str) -> Buffer:
    """The memory a pointer parameter points to."""
    found = state.buffers.get(name)
    if found is None:
        param = state.params.get(name.partition("[")[0])
        span = param.span if param is not None else state.scope.text.span(state.scope.tree.body[0])
        found = state.buffers[name] = Buffer(name, Space.GLOBAL, None, span, is_param=True)
    return found


def pointers(state: State, address: Expr) -> list[tuple[Condition, Pointer]]:
    """Every pointer this address can be, each with the condition under which it is that one."""
    found: list[tuple[Condition, Pointer]] = []
    _collect(state, address, TRUE, found)
    return found


def _collect(state: State, address: Expr, condition: Condition, found: list[tuple[Condition, Pointer]]) -> None:
    base = _base_atom(state, address)
    if base is None and len(found) < MAX_ALTERNATIVES:
        for mono, coeff in address.terms:
            if coeff == 1 and len(mono) == 1 and mono[0].kind is AtomKind.SELECT and _mentions_base(state, mono[0]):
                chosen, then, otherwise = mono[0].args
                if isinstance(chosen, Condition) and isinstance(then, Expr) and isinstance(otherwise, Expr):
                    rest = address - of_atom(mono[0])
                    _collect(state, rest + then, state.both(condition, chosen), found)
                    _collect(state, rest + otherwise, state.both(condition, negate(chosen)), found)
                    return
    found.append((condition, _pointer(state, address, base)))


def _pointer(state: State, address: Expr, base: Atom | None) -> Pointer:
    if base is None:
        return Pointer(None, address, None)
    offset = address - of_atom(base)
    known = state.bases.get(base.key)
    if known is not None:
        return Pointer(known.buffer, known.offset + offset, known.dtype, casts=known.casts)
    if base.kind is not AtomKind.PARAM:
        return Pointer(None, offset, None)
    state.pointer_params.add(base.name)
    buffer = buffer_named(state, base.name)
    return Pointer(buffer, offset, buffer.dtype)


def _base_atom(state: State, address: Expr) -> Atom | None:
    lone = [mono[0] for mono, coeff in address.terms if coeff == 1 and len(mono) == 1]
    for atom in lone:
        if atom.key in state.bases or (atom.kind is AtomKind.PARAM and atom.name in state.pointer_params):
            return atom
    candidates = [atom for atom in lone if atom.kind is AtomKind.PARAM and _may_point(state, atom)]
    if len(candidates) > 1:
        factors = {atom.key for mono, _ in address.terms if len(mono) > 1 for atom in mono}
        candidates.sort(key=lambda atom: _doubt(state, atom, factors))
    if candidates:
        return candidates[0]
    loads = [atom for atom in lone if atom.kind is AtomKind.LOAD]
    return loads[0] if loads else None


def _may_point(state: State, atom: Atom) -> bool:
    param = state.params.get(atom.name)
    if param is None:
        # an element of a parameter that is a tuple
        return atom.name.partition("[")[0] in state.params and atom.name.endswith("]") and "." not in atom.name
    return param.role is not ParamRole.CONSTEXPR and param.dtype is None


def _doubt(state: State, atom: Atom, factors: set[str]) -> tuple[bool, bool, bool, int]:
    """Sorts the likeliest pointer first; the name decides only between parameters that are equally likely."""
    name = atom.name.lower()
    named = name.endswith(("ptr", "pointer", "ptrs")) or name.startswith(("ptr", "p_"))
    param = state.params.get(atom.name)
    position = param.position if param is not None else 0
    return atom.key in factors, atom.name in state.integer_params, not named, position


def _mentions_base(state: State, atom: Atom) -> bool:
    """Whether one arm of a select is a pointer."""
    for arm in atom.args:
        if isinstance(arm, Expr):
            if _base_atom(state, arm) is not None:
                return True
            if any(
                coeff == 1 and len(mono) == 1 and mono[0].kind is AtomKind.SELECT and _mentions_base(state, mono[0])
                for mono, coeff in arm.terms
            ):
                return True
    return False


def mark_pointer(state: State, value: Value) -> None:
    """Note that a value is a pointer (its element type is asked for)."""
    if value.op == "param" and value.expr is not None:
        state.pointer_params.add(str(value.attrs["name"]))


def reinterpreted(state: State, value: Value, dtype: ElementType | None, node: Node) -> Value:
    """`ptr.to(tl.pointer_type(dtype))`."""
    made = state.value("cast", (value,), node=node, shape=value.shape, attrs={"explicit": True, "pointer": True})
    found = pointers(state, value.expr) if value.expr is not None else []
    atom = Atom(AtomKind.PARAM, f"pc:{made.ordinal}", f"cast{made.ordinal}")
    if len(found) == 1:
        old = found[0][1]
        casts = (*old.casts, old.dtype) if old.dtype is not None else old.casts
        offset = old.offset
        if offset.terms:
            if old.dtype is not None and dtype is not None:
                offset = arith.floordiv(offset * old.dtype.bytes, ZERO + dtype.bytes)
            else:
                offset = state.opaque("offset in elements of an unknown type", node).expr or ZERO
        state.bases[atom.key] = Base(old.buffer, dtype, offset, casts)
    else:
        state.bases[atom.key] = Base(None, dtype, ZERO)
    made.expr = of_atom(atom)
    return made


def mask_of(state: State, thing: Thing | None, node: Node) -> tuple[Condition | None, Value | None]:
    if is_none(thing):
        return None, None
    value = state.as_value(thing, node)
    return truth(state, value, node), value


def reach(
    state: State, kind: AccessKind, address: Value, call: Call, *, mask: Thing | None, other: Value | None,
    stored: Value | None, result: Value | None, op: str = "", scope: str = "", order: str = "", cached: str = "",
) -> list[Access]:  # fmt: skip
    """Emit the access, or one access per pointer the address can be."""
    condition, mask_value = mask_of(state, mask, call.node)
    shape: Shape = broadcast(address.shape, mask_value.shape if mask_value is not None else ())
    expr = address.expr
    if expr is None:
        expr = state.opaque("address that is not an integer", call.node).expr or ZERO
    made: list[Access] = []
    path, guard = state.path, state.guard
    for choice, pointer in pointers(state, state.under_guard(expr)):
        if choice is not TRUE:
            state.push(Frame(choice))
        access = Access(
            kind, pointer, state.span(call.node), state.next_ordinal(), state.path,
            state.both(state.guard, condition) if condition is not None else state.guard,
            condition, mask_value, other, stored if stored is not None else result, pointer.dtype, shape,
            op=op, scope=scope, order=order, cached=cached, epoch=state.epoch, inlined_at=state.inlined_at,
        )  # fmt: skip
        access.attrs["address"] = address
        state.emit(access)
        made.append(access)
        state.restore(path, guard)
    address.pointer = made[0].pointer
    return made


def loaded_meaning(access: Access) -> Expr:
    """The integer a load reads: an atom that depends on the lanes its index depends on."""
    name = f"load({access.buffer.name if access.buffer is not None else '?'})"
    offset = access.pointer.offset
    return of_atom(Atom(AtomKind.LOAD, f"ld:{access.ordinal}", name, (offset,), note=access.ordinal))


@builtin("load")
def load(state: State, call: Call) -> Thing:
    address = state.as_value(call.get(0, "pointer"), call.node)
    other = call.get(2, "other")
    checked = call.kwargs.get("boundary_check")
    if isinstance(checked, tuple) and checked and address.op == "param" and not is_block(address):
        host_descriptor(state, address, max(len(checked), 1 + max(integer(c) or 0 for c in checked)), bounded=False)
    if is_block(address):
        return block_access(state, AccessKind.LOAD, address, call, None)
    result = state.value("load", (address,), node=call.node, polymorphic=True)
    fill = None if is_none(other) else state.as_value(other, call.node)
    made = reach(
        state, AccessKind.LOAD, address, call, mask=call.get(1, "mask"), other=fill, stored=None, result=result,
        cached=text(call.get(5, "cache_modifier")) or "",
    )  # fmt: skip
    first = made[0]
    result.shape, result.dtype = first.shape, first.dtype
    result.polymorphic = first.dtype is None
    result.attrs["access"] = first
    if first.dtype is None or not first.dtype.is_float:
        result.expr = loaded_meaning(first)
    if len(made) > 1:
        result.attrs["accesses"] = tuple(made)
    if eviction := text(call.get(6, "eviction_policy")):
        for access in made:
            access.attrs["eviction"] = eviction
    return result


@builtin("store")
def store(state: State, call: Call) -> Thing:
    address = state.as_value(call.get(0, "pointer"), call.node)
    stored = state.as_value(call.get(1, "value"), call.node)
    if is_block(address):
        return block_access(state, AccessKind.STORE, address, call, stored)
    reach(
        state, AccessKind.STORE, address, call, mask=call.get(2, "mask"), other=None, stored=stored, result=None,
        cached=text(call.get(4, "cache_modifier")) or "",
    )  # fmt: skip
    return stored


def _atomic(op: str, *, compares: bool = False) -> None:
    def lift(state: State, call: Call) -> Thing:
        address = state.as_value(call.get(0, "pointer"), call.node)
        position = 2 if compares else 1
        value = state.as_value(call.get(position, "val"), call.node)
        args = (address, state.as_value(call.get(1, "cmp"), call.node), value) if compares else (address, value)
        result = state.value("atomic", args, node=call.node, polymorphic=True)
        made = reach(
            state, AccessKind.ATOMIC, address, call, mask=None if compares else call.get(2, "mask"), other=None,
            stored=value, result=result, op=op,
            order=text(call.get(3, "sem")) or "acq_rel", scope=_scope(text(call.get(4, "scope"))),
        )  # fmt: skip
        result.shape = broadcast(made[0].shape, value.shape)
        for access in made:
            access.shape = result.shape
        result.attrs["access"] = made[0]
        result.expr = loaded_meaning(made[0])
        return result

    builtin(f"atomic_{op}")(lift)


def _scope(written: str | None) -> str:
    return {"cta": "block", "sys": "system"}.get(written or "gpu", "device")


for _op in ("add", "max", "min", "and", "or", "xor", "xchg", "mul"):
    _atomic(_op)
_atomic("cas", compares=True)
