"""Barriers, shuffles, votes and atomics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.expr import AtomKind, Expr, axes_of, of_atom
from kernlint.ir.kernel import AccessKind, BarrierKind
from kernlint.ir.types import BOOL, INT32, UINT32
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.builtins import ATOMICS, BARRIERS, BLOCK_VOTES, SHUFFLES, VOTES
from kernlint.lift.cuda.device_machine import Machine, TypedValue, pointee
from kernlint.lift.cuda.device_ops import convert, unary
from kernlint.lift.cuda.memory import access

if TYPE_CHECKING:
    from tree_sitter import Node

_WAITS_ON_MBARRIER = ("mbarrier", "try_wait", "arrive_and_wait")
_SCOPES = {"_block": "block", "_system": "system"}


def barrier_call(m: Machine, name: str, args: list[Value], node: Node) -> Value | None:
    """A barrier, fence, commit or wait by function name; None when it is none."""
    kind = BARRIERS.get(name)
    if kind is None:
        return None
    mask = args[0] if kind is BarrierKind.WARP and args else None
    made = m.barrier(kind, node, name, mask)
    made_args = tuple(args)
    if name in BLOCK_VOTES:
        return m.value("vote", made_args, INT32, node, m.opaque_expr("vote"), None, {"kind": BLOCK_VOTES[name]})
    del made
    return m.value("call", made_args, None, node, None, None, {"name": name, "void": True})


def shuffle_call(m: Machine, name: str, args: list[Value], node: Node) -> Value | None:
    """A warp shuffle: `shuffle` with args (x, lane or delta)."""
    kind = SHUFFLES.get(name)
    if kind is None:
        return None
    has_mask = name.endswith("_sync") and len(args) >= 3
    mask = args[0] if has_mask else None
    rest = args[1:] if has_mask else args
    return shuffle(m, kind, rest, mask, name, node)


def shuffle(m: Machine, kind: str, rest: list[Value], mask: Value | None, name: str, node: Node) -> Value:
    meeting = m.barrier(BarrierKind.WARP, node, name, mask)
    dtype = rest[0].dtype if rest else None
    expr = None if dtype is not None and dtype.is_float else shuffled_expr(m, rest[0] if rest else None)
    attrs: dict[str, object] = {"kind": kind, "mask": mask, "name": name, "barrier": meeting}
    if len(rest) > 2:
        attrs["width"] = rest[2]
    return m.value("shuffle", tuple(rest[:2]), dtype, node, expr, None, attrs)


def shuffled_expr(m: Machine, x: Value | None) -> Expr:
    """A value all lanes of a warp share survives a shuffle: one without thread axes, or one that has them only in
    `threadIdx.x / 32` (the idiom that tells the compiler a warp number is uniform)."""
    if x is not None and x.expr is not None and _uniform_in_warp(x.expr):
        return x.expr
    return m.opaque_expr("shuffled")


def _uniform_in_warp(expr: Expr) -> bool:
    for atom in expr.atoms():
        if atom.kind is AtomKind.FLOORDIV:
            divisor = atom.args[1]
            if isinstance(divisor, Expr) and (divisor.constant or 0) % 32 == 0 and divisor.constant:
                continue
        if atom.kind in (AtomKind.OPAQUE, AtomKind.LOAD, AtomKind.CALL):
            return False
        if any(axis.thread for axis in axes_of(of_atom(atom))):
            return False
    return True


def vote_call(m: Machine, name: str, args: list[Value], node: Node) -> Value | None:
    kind = VOTES.get(name)
    if kind is None:
        return None
    has_mask = name.endswith("_sync") and len(args) >= 2
    mask = args[0] if has_mask else None
    if name != "__activemask":
        m.barrier(BarrierKind.WARP, node, name, mask)
    rest = tuple(args[1:] if has_mask else args)
    dtype = UINT32 if kind in ("ballot", "activemask", "match") else INT32
    if kind == "redux" and rest:
        dtype = rest[0].dtype or INT32
    attrs: dict[str, object] = {"kind": kind, "mask": mask, "name": name}
    return m.value("vote", rest, dtype, node, m.opaque_expr("vote"), None, attrs)


def atomic_call(m: Machine, name: str, args: list[Value], node: Node) -> Value | None:
    """`atomicAdd(address, value)` and its kin, with `_block` and `_system` scopes."""
    scope = "device"
    base = name
    for suffix, meaning in _SCOPES.items():
        if name.endswith(suffix):
            base, scope = name[: -len(suffix)], meaning
    op = ATOMICS.get(base)
    if op is None or not args:
        return None
    value = args[-1] if len(args) > 1 else None
    compare = args[1] if op == "cas" and len(args) > 2 else None
    if base == "atomicSub" and value is not None:
        value = unary(m, "-", value, node)
    return atomic(m, op, args[0], value, node, scope=scope, compare=compare, name=name)


def atomic(
    m: Machine,
    op: str,
    address: Value,
    value: Value | None,
    node: Node,
    *,
    scope: str = "device",
    order: str = "",
    compare: Value | None = None,
    name: str = "",
) -> Value:
    """Emit an atomic access and give the old value."""
    ctype = pointee(address)
    if value is not None and ctype.is_scalar:
        value = convert(m, value, ctype, None, False)
    if address.pointer is None:
        address = m.typed("pointer", (address,), node)
        address.pointer = Pointer(None, m.opaque_expr("unknown pointer"), None)
    attrs: dict[str, object] = {"name": name}
    if compare is not None:
        attrs["compare"] = compare
    if isinstance(address, TypedValue) and address.place is not None and address.place.key:
        m.write(address.place.key, m.opaque("atomic on a variable", node, ctype.element))
    element = ctype.element if not ctype.depth else None
    if element is None and value is not None and (value.dtype is None or value.dtype.lanes == 1):
        element = value.dtype
    made = access(
        m, AccessKind.ATOMIC, address, node, element=element, value=value, op=op, scope=scope, order=order, attrs=attrs
    )
    args = (address,) if value is None else (address, value)
    expr = None if element is not None and element.is_float else m.opaque_expr("old value of an atomic")
    from kernlint.ir.expr import loaded

    if expr is not None:
        expr = loaded(made.ordinal, f"{name or op}()", (made.pointer.offset,))
    return m.value("atomic", args, element, node, expr, None, {"access": made})


def wait_name(name: str) -> bool:
    """Whether a wait by this name orders the threads of the block among themselves."""
    return any(word in name for word in _WAITS_ON_MBARRIER)


__all__ = ["BOOL", "atomic", "atomic_call", "barrier_call", "shuffle", "shuffle_call", "vote_call", "wait_name"]
