"""Statements: sequences, branches, switches, jumps and returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlint.ir.condition import TRUE, Condition, Connective, conj, disj, flag, negate
from kernlint.ir.kernel import Branch, Exit, Frame, Region
from kernlint.ir.types import BOOL
from kernlint.ir.value import Value
from kernlint.lift.cuda.device_builtin import record_fact
from kernlint.lift.cuda.device_machine import Left, Machine, Runner, Target, Way
from kernlint.lift.cuda.device_resolve import resolve_type
from kernlint.lift.cuda.device_state import merge_layers
from kernlint.lift.cuda.evaluate_declare import declaration, local_type
from kernlint.lift.cuda.evaluate_misparsed import declares, declares_array_pointer, loop_header

if TYPE_CHECKING:
    from tree_sitter import Node


def sequence(m: Machine, nodes: Sequence[Node]) -> Left | None:
    """Statements in order.  After one that may leave, the rest is under the negation of that."""
    frames = len(m.frames)
    total: Left | None = None
    annotated = m.unit.use_span is None and bool(m.unit.original) and m.unit.original is not m.data
    previous: Node | None = None
    for node in nodes:
        header = loop_header(m, previous, node) if annotated else None
        previous = node
        if header is None:
            left = m.run(node)
        else:
            from kernlint.lift.cuda.evaluate_loops import headed_loop

            left = headed_loop(m, header, node)
        if left is None:
            continue
        total = left if total is None else either(m, total, left)
        gone = disj((left.returns, left.jumps))
        if gone.op is Connective.TRUE:
            break
        m.push_frame(Frame(negate(gone), exit=True, value=left.value, span=m.span(node)))
    while len(m.frames) > frames:
        m.pop_frame()
    return total


def either(m: Machine, a: Left, b: Left) -> Left:
    value = a.value
    if b.value is not None and value is not None and value is not b.value:
        value = m.value("or", (value, b.value), BOOL)
    return Left(disj((a.returns, b.returns)), disj((a.jumps, b.jumps)), value or b.value)


def _compound(m: Machine, node: Node) -> Left | None:
    saved = m.enter_block()
    left = sequence(m, node.named_children)
    m.scope = saved
    return left


def _expression_statement(m: Machine, node: Node) -> Left | None:
    for child in node.named_children:
        if child.type == "comment":
            continue
        if child.type == "binary_expression" and declares(m, child):
            return None
        if child.type == "assignment_expression" and declares_array_pointer(m, child):
            return None
        m.eval(child)
    return None


def _if(m: Machine, node: Node) -> Left | None:
    test_node = node.child_by_field_name("condition")
    then_node, else_node = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    saved = m.enter_block()
    test = condition_value(m, test_node) if test_node is not None else None
    if test is None or then_node is None:
        m.scope = saved
        return None
    cond = m.cond_of(test)
    if cond.op in (Connective.TRUE, Connective.FALSE):
        chosen = then_node if cond.op is Connective.TRUE else else_node
        left = m.run(chosen) if chosen is not None else None
        m.scope = saved
        return left
    branch = Branch(cond, test.span or m.span(node), test, path=tuple(m.frames))
    m.emit(branch)
    then_left, then_writes = run_arm(m, branch, branch.then, cond, True, [then_node])
    other_left: Left | None = None
    other_writes: dict[str, Value] = {}
    if else_node is not None:
        other_left, other_writes = run_arm(m, branch, branch.otherwise, negate(cond), False, [else_node])
    m.scope = saved
    return _after_branch(m, cond, test, (then_left, then_writes), (other_left, other_writes))


def condition_value(m: Machine, node: Node) -> Value | None:
    """The condition of an `if`, `while` or `switch`, with declarations in it."""
    result: Value | None = None
    for child in node.named_children if node.type in ("condition_clause", "parenthesized_expression") else [node]:
        if child.type == "comment":
            continue
        if child.type == "init_statement":
            for inner in child.named_children:
                m.run(inner)
            continue
        if child.type == "declaration":
            declaration(m, child)
            name = child.child_by_field_name("declarator")
            while name is not None and name.type != "identifier":
                name = name.child_by_field_name("declarator")
            value = child.child_by_field_name("value")
            if name is not None and value is not None:
                from kernlint.lift.cuda.device_machine import Variable
                from kernlint.lift.cuda.device_ops import convert

                found = m.scope.lookup(m.text(name))
                if isinstance(found, Variable) and m.read(found.key) is None:
                    m.write(found.key, convert(m, m.eval(value), found.ctype, None, False))
            result = m.eval(name) if name is not None else None
            continue
        result = m.eval(child)
    return result


def run_arm(
    m: Machine, branch: Branch, region: Region, cond: Condition, arm: bool, nodes: Sequence[Node]
) -> tuple[Left | None, dict[str, Value]]:
    m.push_frame(Frame(cond, branch=branch, arm=arm, value=branch.value, span=branch.span))
    m.regions.append(region)
    m.push_layer()
    left = sequence(m, nodes)
    writes = m.pop_layer()
    m.regions.pop()
    m.pop_frame()
    return left, writes


def _after_branch(
    m: Machine,
    cond: Condition,
    test: Value,
    then: tuple[Left | None, dict[str, Value]],
    other: tuple[Left | None, dict[str, Value]],
) -> Left | None:
    (then_left, then_writes), (other_left, other_writes) = then, other
    if always(then_left):
        m.write_all(other_writes if not always(other_left) else {})
    elif always(other_left):
        m.write_all(then_writes)
    else:
        merge_layers(m, cond, then_writes, other_writes, test)
    if then_left is None and other_left is None:
        return None
    a, b = then_left or Left(), other_left or Left()
    returns, jumps = _chosen(cond, a.returns, b.returns), _chosen(cond, a.jumps, b.jumps)
    value: Value | None = test
    for left in (then_left, other_left):
        if left is not None and left.value is not None and value is not None:
            value = m.value("and", (value, left.value), BOOL)
    return Left(returns, jumps, value)


def _chosen(cond: Condition, then: Condition, other: Condition) -> Condition:
    """`then` where `cond` holds and `other` elsewhere, without repeating what one of them says alone."""
    if then.op is Connective.TRUE:
        return disj((cond, other))
    if other.op is Connective.TRUE:
        return disj((negate(cond), then))
    return disj((conj((cond, then)), conj((negate(cond), other))))


def always(left: Left | None) -> bool:
    return left is not None and disj((left.returns, left.jumps)).op is Connective.TRUE


def _else(m: Machine, node: Node) -> Left | None:
    return sequence(m, node.named_children)


def since(m: Machine, target: Target) -> Condition:
    """What held on the way from `target` to here; a flag of its own when that mentions iterations of inner loops."""
    frames = m.frames[target.frame :]
    if any(frame.loop is not None for frame in frames):
        return flag(f"left early#{m.next_ordinal()}")
    return conj(frame.condition for frame in frames)


def _return(m: Machine, node: Node) -> Left | None:
    values = [child for child in node.named_children if child.type != "comment"]
    target = next((t for t in reversed(m.targets) if t.kind == "function"), None)
    result: Value | None = None
    if values:
        result = _returned_value(m, values[0])
    if target is None:
        m.emit(Exit("return", m.span(node), tuple(m.frames), m.guard, m.next_ordinal()))
    else:
        test = m.frames[-1].value if len(m.frames) > target.frame else None
        target.ways.append(Way(since(m, target), m.writes_since(target.layer), test, result))
    return Left(returns=TRUE)


def _returned_value(m: Machine, node: Node) -> Value:
    if node.type == "initializer_list":
        from kernlint.lift.cuda.device_types import CType
        from kernlint.lift.cuda.evaluate_declare import braced

        return braced(m, node, CType(""))
    return m.eval(node)


def _jump(m: Machine, node: Node) -> Left | None:
    kind = "continue" if node.type == "continue_statement" else "break"
    wanted = ("loop",) if kind == "continue" else ("loop", "switch")
    target = None
    for candidate in reversed(m.targets):
        if candidate.kind == "function":
            break
        if candidate.kind in wanted:
            target = candidate
            break
    if target is None:
        return None
    if target.kind == "loop":
        m.emit(Exit(kind, m.span(node), tuple(m.frames), m.guard, m.next_ordinal()))
    test = m.frames[-1].value if len(m.frames) > target.frame else None
    condition = since(m, target)
    way = Way(condition, m.writes_since(target.layer), test)
    if kind == "continue" or target.kind == "switch":
        target.ways.append(way)
    else:
        target.breaks.append(way)
        target.breaks_taken.append(condition)
    return Left(jumps=TRUE)


def _labeled(m: Machine, node: Node) -> Left | None:
    return sequence(m, [child for child in node.named_children if child.type != "statement_identifier"])


def _goto(m: Machine, node: Node) -> Left | None:
    m.reason("goto")
    return None


def _static_assert(m: Machine, node: Node) -> Left | None:
    condition = node.child_by_field_name("condition")
    if condition is not None:
        record_fact(m, m.eval(condition))
    return None


def _type_definition(m: Machine, node: Node) -> Left | None:
    from kernlint.lift.cuda.declarators import declared

    target = node.child_by_field_name("type")
    if target is None:
        return None
    if node.type == "alias_declaration":
        name = node.child_by_field_name("name")
        if name is not None:
            bind_type(m, m.text(name), m.text(target))
        return None
    if target.child_by_field_name("body") is not None:
        local_type(m, target)
    for item in declared(m.unit, node):
        bind_type(m, item.name, m.text(target) + "*" * item.pointer_depth)
    return None


def bind_type(m: Machine, name: str, text: str) -> None:
    m.scope.names[name] = resolve_type(m, text)
    m.scope.types = {}


def _local_struct(m: Machine, node: Node) -> Left | None:
    local_type(m, node)
    return None


def _conditional_text(m: Machine, node: Node) -> Left | None:
    """`#if` inside a body: the first branch is the one read (the one `prepare` left)."""
    skipped = {"preproc_else", "preproc_elif", "preproc_elifdef", "preproc_arg"}
    condition = node.child_by_field_name("condition") or node.child_by_field_name("name")
    nodes = [
        child
        for child in node.named_children
        if child.type not in skipped and (condition is None or child.id != condition.id)
    ]
    return sequence(m, nodes)


def _pragma(m: Machine, node: Node) -> Left | None:
    if b"unroll" in m.data[node.start_byte : node.end_byte]:
        m.unroll = True
    return None


def _children(m: Machine, node: Node) -> Left | None:
    """An ERROR node: what was recognised inside it."""
    m.reason("syntax error")
    return sequence(m, [child for child in node.named_children if child.type in STATEMENTS])


def _switch(m: Machine, node: Node) -> Left | None:
    from kernlint.lift.cuda.evaluate_switch import switch_statement

    return switch_statement(m, node)


def _loop(m: Machine, node: Node) -> Left | None:
    from kernlint.lift.cuda.evaluate_loops import loop_statement

    return loop_statement(m, node)


STATEMENTS: dict[str, Runner] = {
    "compound_statement": _compound,
    "expression_statement": _expression_statement,
    "declaration": declaration,
    "if_statement": _if,
    "else_clause": _else,
    "for_statement": _loop,
    "while_statement": _loop,
    "do_statement": _loop,
    "for_range_loop": _loop,
    "switch_statement": _switch,
    "return_statement": _return,
    "break_statement": _jump,
    "continue_statement": _jump,
    "labeled_statement": _labeled,
    "goto_statement": _goto,
    "static_assert_declaration": _static_assert,
    "alias_declaration": _type_definition,
    "type_definition": _type_definition,
    "struct_specifier": _local_struct,
    "class_specifier": _local_struct,
    "union_specifier": _local_struct,
    "enum_specifier": _local_struct,
    "preproc_if": _conditional_text,
    "preproc_ifdef": _conditional_text,
    "preproc_call": _pragma,
    "attributed_statement": _labeled,
    "declaration_list": _compound,
    "ERROR": _children,
}
