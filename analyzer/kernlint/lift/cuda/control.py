"""Statements: sequences, branches, switches, jumps and returns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, disj, equal, flag, negate
from kernlint.ir.expr import const
from kernlint.ir.kernel import Branch, Exit, Frame, Region
from kernlint.ir.types import BOOL
from kernlint.ir.value import Value
from kernlint.lift.cuda.device_builtin import record_fact
from kernlint.lift.cuda.device_machine import Left, Machine, Runner, Target, Variable, Way, pointee
from kernlint.lift.cuda.device_resolve import resolve_type
from kernlint.lift.cuda.device_state import merge_layers, merge_ways
from kernlint.lift.cuda.device_types import split_arguments
from kernlint.lift.cuda.evaluate_declare import declaration, local_type
from kernlint.lift.cuda.macros import Expansion

if TYPE_CHECKING:
    from tree_sitter import Node

_MACRO_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)$")  # of text that was blanked


def sequence(m: Machine, nodes: Sequence[Node]) -> Left | None:
    """Statements in order.  After one that may leave, the rest is under the negation of that."""
    frames = len(m.frames)
    total: Left | None = None
    annotated = m.unit.use_span is None and bool(m.unit.original) and m.unit.original is not m.data
    previous: Node | None = None
    for node in nodes:
        header = _loop_header(m, previous, node) if annotated else None
        previous = node
        if header is None:
            left = m.run(node)
        else:
            from kernlint.lift.cuda.evaluate_loops import headed_loop

            left = headed_loop(m, header, node)
        if left is None:
            continue
        total = left if total is None else _either(m, total, left)
        gone = disj((left.returns, left.jumps))
        if gone.op is Connective.TRUE:
            break
        m.push_frame(Frame(negate(gone), exit=True, value=left.value, span=m.span(node)))
    while len(m.frames) > frames:
        m.pop_frame()
    return total


def _loop_header(m: Machine, previous: Node | None, node: Node) -> Expansion | None:
    """The `for (...)` that a macro blanked before this statement stands for, as in `CUDA_1D_KERNEL_LOOP(i, n) {`."""
    parent = node.parent
    if previous is not None:
        start = previous.end_byte
    else:  # behind the opening brace
        start = parent.start_byte + 1 if parent is not None and parent.type == "compound_statement" else node.start_byte
    if start >= node.start_byte:
        return None
    gap = m.unit.original[start : node.start_byte].strip()
    if not gap.endswith(b")") or m.data[start : node.start_byte].strip():
        return None
    written = _MACRO_CALL.search(gap.decode("utf-8", "replace"))
    if written is None or written.group(1) not in m.home.macros:
        return None
    use = m.unit.span_of(start + m.unit.original[start : node.start_byte].find(gap), node.start_byte)
    expansion = m.home.expand(written.group(1), split_arguments(written.group(2)), use)
    if expansion is None or expansion.is_expression or not expansion.nodes:
        return None
    last = expansion.nodes[-1]
    body = last.child_by_field_name("body")
    is_loop = last.type in ("for_statement", "while_statement") and body is not None and body.named_child_count == 0
    return expansion if is_loop else None


def _either(m: Machine, a: Left, b: Left) -> Left:
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
        if child.type == "binary_expression" and _declares(m, child):
            return None
        if child.type == "assignment_expression" and _declares_array_pointer(m, child):
            return None
        m.eval(child)
    return None


def _declares(m: Machine, node: Node) -> bool:
    """`ns::type<32> name = value;` that the grammar took for two comparisons: declare it."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if (
        left is None
        or right is None
        or left.type != "binary_expression"
        or right.type
        not in (
            "assignment_expression",
            "identifier",
            "call_expression",
        )
    ):
        return False
    operators = [side.child_by_field_name("operator") for side in (left, node)]
    if [operator.type if operator is not None else "" for operator in operators] != ["<", ">"]:
        return False
    name_node = right.child_by_field_name("left") if right.type == "assignment_expression" else right
    if right.type == "call_expression":
        name_node = right.child_by_field_name("function")
    if name_node is None or name_node.type != "identifier":
        return False
    ctype = resolve_type(m, m.text(node)[: left.end_byte - node.start_byte] + ">")
    name = m.text(name_node)
    value_node = right.child_by_field_name("right") if right.type == "assignment_expression" else None
    if value_node is not None:
        value = m.eval(value_node)
    else:
        from kernlint.lift.cuda.evaluate_declare import construct
        from kernlint.lift.cuda.evaluate_inline import arguments_of

        value = construct(m, ctype, arguments_of(m, right.child_by_field_name("arguments")), node, name)
    variable = m.new_variable(name, ctype)
    m.write(variable.key, value)
    return True


def _declares_array_pointer(m: Machine, node: Node) -> bool:
    """`float (*p)[4] = a;` that the grammar took for an assignment to a subscripted call: declare `p`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sizes: list[Node] = []
    current = left
    while current is not None and current.type == "subscript_expression":
        indices = current.child_by_field_name("indices")
        sizes[:0] = (
            [child for child in indices.named_children if child.type != "comment"] if indices is not None else []
        )
        current = current.child_by_field_name("argument")
    if not sizes or right is None or current is None or current.type != "call_expression":
        return False
    function, arguments = current.child_by_field_name("function"), current.child_by_field_name("arguments")
    inner = arguments.named_children[0] if arguments is not None and arguments.named_child_count == 1 else None
    if function is None or inner is None or inner.type != "pointer_expression":
        return False
    target = inner.child_by_field_name("argument")
    name = m.text(target) if target is not None and target.type == "identifier" else ""
    if not name or isinstance(m.scope.lookup(m.text(function)), Variable):
        return False
    base = resolve_type(m, m.text(function))
    extents = (const(0), *(m.expr_of(m.eval(size)) for size in sizes))
    value = m.eval(right)
    ctype = replace(base, extents=extents)
    if value.pointer is not None and not pointee(value).extents:
        value = m.typed("cast", (value,), node, pointer=value.pointer, ctype=ctype, attrs={"explicit": True})
    m.write(m.new_variable(name, ctype).key, value)
    return True


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
    then_left, then_writes = _arm(m, branch, branch.then, cond, True, [then_node])
    other_left: Left | None = None
    other_writes: dict[str, Value] = {}
    if else_node is not None:
        other_left, other_writes = _arm(m, branch, branch.otherwise, negate(cond), False, [else_node])
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


def _arm(
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
    if _always(then_left):
        m.write_all(other_writes if not _always(other_left) else {})
    elif _always(other_left):
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


def _always(left: Left | None) -> bool:
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


def _switch(m: Machine, node: Node) -> Left | None:
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
            total = left if total is None else _either(m, total, left)
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
        left, writes = _arm(m, branch, branch.then, condition, True, nodes)
    m.targets.pop()
    m.push_layer()
    ways = list(target.ways)
    if not _always(left):
        ways.append(Way(TRUE, writes))
    merge_ways(m, ways)
    merged = m.pop_layer()
    if left is None or left.returns.op is not Connective.TRUE:
        merge_layers(m, condition, merged, {}, test)
    return left, _always(left)


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
