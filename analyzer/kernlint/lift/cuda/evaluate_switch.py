"""`switch`: each group of cases as a branch of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, disj, equal, flag, negate
from kernlint.ir.kernel import Branch, Frame
from kernlint.ir.value import Value
from kernlint.lift.cuda.control import always, condition_value, either, run_arm, sequence
from kernlint.lift.cuda.device_machine import Left, Machine, Target, Way
from kernlint.lift.cuda.device_state import merge_layers, merge_ways

if TYPE_CHECKING:
    from tree_sitter import Node


def switch_statement(m: Machine, node: Node) -> Left | None:
    """Each group of cases as a branch of its own; the conditions exclude one another."""
    test_node, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    if test_node is None or body is None:
        return None
    saved = m.enter_block()
    test = condition_value(m, test_node)
    if test is None:
        m.scope = saved
        return None
    groups, labelled = _cases(m, body, test)
    anything = disj(labelled)
    total: Left | None = None
    falling: Condition = FALSE
    for condition, nodes in groups:
        condition = negate(anything) if condition is None else condition
        condition = disj((condition, falling))
        if condition.op is Connective.FALSE:
            continue
        left, ended = _case(m, node, test, condition, nodes)
        falling = FALSE if ended or not nodes else condition
        if not nodes:
            falling = condition
        if left is not None and left.returns.op is not Connective.FALSE:
            left = Left(conj((condition, left.returns)), FALSE, test)
            total = left if total is None else either(m, total, left)
            m.push_frame(Frame(negate(left.returns), exit=True, value=test, span=test.span))
            m.pop_frame()
    m.scope = saved
    return total


def _cases(m: Machine, body: Node, test: Value) -> tuple[list[tuple[Condition | None, list[Node]]], list[Condition]]:
    groups: list[tuple[Condition | None, list[Node]]] = []
    labelled: list[Condition] = []
    for child in body.named_children:
        if child.type != "case_statement":
            continue
        value = child.child_by_field_name("value")
        nodes = [item for item in child.named_children if value is None or item.id != value.id]
        condition: Condition | None = None
        if value is not None:
            label = m.eval(value)
            known = test.expr is not None and label.expr is not None
            condition = equal(m.expr_of(test), m.expr_of(label)) if known else flag(f"case#{m.next_ordinal()}")
            labelled.append(condition)
        groups.append((condition, nodes))
    return groups, labelled


def _case(m: Machine, node: Node, test: Value, condition: Condition, nodes: list[Node]) -> tuple[Left | None, bool]:
    """Run one group; whether control does not fall into the next."""
    target = Target("switch", len(m.layers), len(m.frames) + 1)
    m.targets.append(target)
    if condition.op is Connective.TRUE:
        m.push_layer()
        left = sequence(m, nodes)
        writes = m.pop_layer()
    else:
        branch = Branch(condition, test.span or m.span(node), test, path=tuple(m.frames))
        m.emit(branch)
        left, writes = run_arm(m, branch, branch.then, condition, True, nodes)
    m.targets.pop()
    m.push_layer()
    ways = list(target.ways)
    if not always(left):
        ways.append(Way(TRUE, writes))
    merge_ways(m, ways)
    merged = m.pop_layer()
    if left is None or left.returns.op is not Connective.TRUE:
        merge_layers(m, condition, merged, {}, test)
    return left, always(left)
