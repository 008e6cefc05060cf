"""Loops: iteration axes, carried variables and their closed forms."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE, TRUE, Connective, flag
from kernlint.ir.expr import AtomKind, Axis, AxisKind, axis_expr, const
from kernlint.ir.kernel import Frame, Loop
from kernlint.ir.value import Value
from kernlint.lift.cuda.device_machine import (
    Left,
    Machine,
    Target,
    TypedValue,
    Way,
)
from kernlint.lift.cuda.device_resolve import within
from kernlint.lift.cuda.device_state import merge_ways
from kernlint.lift.cuda.evaluate_assigned import assigned_names
from kernlint.lift.cuda.evaluate_carry import Body, carry
from kernlint.lift.cuda.evaluate_closed import finish_loop
from kernlint.lift.cuda.macros import Expansion

if TYPE_CHECKING:
    from tree_sitter import Node


def loop_statement(m: Machine, node: Node) -> Left | None:
    unrolled, m.unroll = m.unroll, False
    saved = m.enter_block()
    left = _for_range(m, node) if node.type == "for_range_loop" else _loop(m, node, unrolled)
    m.scope = saved
    return left


def headed_loop(m: Machine, header: Expansion, body: Node) -> Left | None:
    """A loop whose header a macro wrote: `header`'s last statement is the loop, without a body of its own."""
    unrolled, m.unroll = m.unroll, False
    saved = m.enter_block()
    outer = m.unit
    names = assigned_names(m, body)
    with within(m, header.unit, m.scope):
        for node in header.nodes[:-1]:
            m.run(node)
        left = _loop(m, header.nodes[-1], unrolled, Body(body, outer, names))
    m.scope = saved
    return left


def _loop(m: Machine, node: Node, unrolled: bool, elsewhere: Body | None = None) -> Left | None:
    initializer = node.child_by_field_name("initializer")
    if initializer is not None:
        if initializer.type in m.statements:
            m.run(initializer)
        else:
            m.eval(initializer)
    body = node.child_by_field_name("body")
    condition_node = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    axis = Axis(AxisKind.LOOP, f"k{m.loops}", f"k{m.loops}", None)
    m.loops += 1
    header_end = body.start_byte if body is not None and node.type != "do_statement" else node.end_byte
    loop = Loop(axis, m.unit.span_of(node.start_byte, header_end), path=tuple(m.frames), unrolled=unrolled)
    m.emit(loop)
    mark, vid_mark = m.ordinals, m.vids
    carried = carry(m, node, loop, update, body, elsewhere)
    target = Target("loop", len(m.layers) - 1, len(m.frames) + 1)
    m.targets.append(target)
    m.regions.append(loop.body)
    test: Value | None = None
    m.push_frame(Frame(TRUE, loop=loop))
    if condition_node is not None and node.type != "do_statement":
        from kernlint.lift.cuda.control import condition_value

        test = condition_value(m, condition_node)
    cond = m.cond_of(test) if test is not None else TRUE
    m.pop_frame()
    loop.condition = test
    m.push_frame(Frame(cond, loop=loop, value=test, span=loop.span))
    left: Left | None = None
    if elsewhere is not None:
        with within(m, elsewhere.unit, m.scope):
            left = m.run(elsewhere.node)
    elif body is not None and cond.op is not Connective.FALSE:
        left = m.run(body)
    ends = left is not None and (left.returns.op is Connective.TRUE or left.jumps.op is Connective.TRUE)
    _merge_continues(m, target, ends)
    if update is not None:
        m.eval(update)
    if node.type == "do_statement" and condition_node is not None:
        test = m.eval(condition_node)
        loop.condition = test
    m.pop_frame()
    m.regions.pop()
    m.targets.pop()
    loop.breaks = tuple(target.breaks_taken)
    finish_loop(m, loop, carried, target, mark, vid_mark, test if node.type != "do_statement" else None)
    if left is not None and left.returns.op is not Connective.FALSE:
        return Left(flag(f"returned in loop {axis.name}#{m.next_ordinal()}"), FALSE, left.value)
    return None


def _merge_continues(m: Machine, target: Target, ends: bool) -> None:
    """At the end of the body: the states of every `continue` and of falling off the end become one."""
    if not target.ways:
        return
    writes = m.pop_layer()
    m.push_layer()
    ways = list(target.ways)
    if not ends:
        ways.append(Way(TRUE, writes))
    merge_ways(m, ways)


def _for_range(m: Machine, node: Node) -> Left | None:
    """`for (auto& x : array)`: one access per element, by the iteration axis."""
    from kernlint.ir.types import INT32
    from kernlint.lift.cuda import device_places as places
    from kernlint.lift.cuda.declarators import declared
    from kernlint.lift.cuda.device_types import CType

    right, body = node.child_by_field_name("right"), node.child_by_field_name("body")
    if right is None or body is None:
        return None
    base = m.eval(right)
    axis = Axis(AxisKind.LOOP, f"k{m.loops}", f"k{m.loops}", None)
    m.loops += 1
    loop = Loop(axis, m.unit.span_of(node.start_byte, body.start_byte), path=tuple(m.frames))
    ctype = base.ctype if isinstance(base, TypedValue) else None
    if ctype is not None and ctype.extents:
        axis.extent = loop.trip_count = loop.stop = ctype.extents[0]
        loop.start, loop.step = const(0), const(1)
    m.emit(loop)
    mark, vid_mark = m.ordinals, m.vids
    carried = carry(m, node, loop, None, body)
    target = Target("loop", len(m.layers) - 1, len(m.frames) + 1)
    m.targets.append(target)
    m.regions.append(loop.body)
    m.push_frame(Frame(TRUE, loop=loop, span=loop.span))
    index = m.value("carry", (), INT32, None, axis_expr(axis), None, {"loop": loop})
    for item in declared(m.unit, node)[:1]:
        place = places.subscript(m, base, index, right)
        variable = m.new_variable(item.name, CType("auto"))
        if item.is_reference and (place.address is not None or place.key):
            variable.place, variable.ctype = place, place.ctype
        else:
            m.write(variable.key, places.load(m, place, right))
    left = m.run(body)
    ends = left is not None and (left.returns.op is Connective.TRUE or left.jumps.op is Connective.TRUE)
    _merge_continues(m, target, ends)
    m.pop_frame()
    m.regions.pop()
    m.targets.pop()
    loop.breaks = tuple(target.breaks_taken)
    finish_loop(m, loop, carried, target, mark, vid_mark)
    if left is not None and left.returns.op is not Connective.FALSE:
        return Left(flag(f"returned in loop {axis.name}#{m.next_ordinal()}"), FALSE, left.value)
    return None


__all__ = ["AtomKind", "bisect", "loop_statement"]
