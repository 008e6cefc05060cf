"""Which variables a loop assigns, found by one query per function instead of a walk per loop."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from kernlint.ir.expr import Expr, const
from kernlint.lift.cuda import builtins as known
from kernlint.lift.cuda.device_machine import Machine, Variable, object_of
from kernlint.lift.cuda.evaluate_inline import Lambda
from kernlint.lift.cuda.parser import query
from kernlint.lift.cuda.unit import FunctionDefinition

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNMENTS = """
(assignment_expression left: (_) @target)
(update_expression argument: (_) @target)
(argument_list (identifier) @argument)
(argument_list (pointer_expression argument: (_) @target))
(argument_list (field_expression) @argument)
(argument_list (subscript_expression) @argument)
(gnu_asm_output_operand value: (_) @target)
(call_expression function: (field_expression argument: (_) @argument))
(call_expression function: (identifier) @callee)
(init_declarator declarator: (reference_declarator) value: (_) @argument)
(init_declarator value: (cast_expression value: (pointer_expression argument: (_) @argument)))
"""
_PURE = frozenset(known.UNARY) | frozenset(known.BINARY) | known.CASTS | frozenset(known.CONVERSIONS) | known.FMA
_PURE |= (
    frozenset(known.SHUFFLES)
    | frozenset(known.LOADS)
    | known.IGNORED
    | frozenset(known.BITCASTS)
    | frozenset(known.PAIRS)
)
_WRITERS = frozenset({"swap", "divmod", "fast_divmod", "sincosf", "__sincosf", "sincospif", "frexpf", "exchange"})
_STEPS = {"+=": 1, "-=": -1}


def _first(node: Node) -> Node | None:
    return node.named_children[0] if node.named_child_count else None


def _root(node: Node) -> tuple[Node | None, bool]:
    """The identifier at the bottom of an lvalue (`a` in `a[i].x`, `(*a)`), and whether it is reached without going
    through memory."""
    current: Node | None = node
    direct = True
    for _ in range(60):
        if current is None or current.type == "identifier":
            return current, direct
        if current.type in ("subscript_expression", "field_expression", "pointer_expression", "cast_expression"):
            direct = direct and current.type == "field_expression"
            current = current.child_by_field_name("argument") or current.child_by_field_name("value")
        elif current.type in ("parenthesized_expression", "comma_expression"):
            current = _first(current)
        elif current.type == "call_expression":
            arguments = current.child_by_field_name("arguments")
            current = _first(arguments) if arguments is not None else None
        else:
            return None, False
    return None, False


def _keeps_arguments(m: Machine, node: Node) -> bool:
    """Whether the call whose argument `node` is certainly leaves it alone: a cast, a known pure function, a helper that
    takes its parameters by value."""
    listed = node.parent
    called = listed.parent if listed is not None else None
    function = called.child_by_field_name("function") if called is not None else None
    if function is None:
        return False
    if function.type == "primitive_type":
        return True
    name = m.text(function)
    if function.type == "template_function":
        named = function.child_by_field_name("name")
        name = m.text(named) if named is not None else name
    elif function.type == "field_expression":
        named = function.child_by_field_name("field")
        name = m.text(named) if named is not None else name
        name = name.split("<")[0].split()[-1]
    name = name.split("<")[0].rpartition("::")[2]
    if name in _PURE:
        return True
    candidates = m.home.functions.get(name)
    if not candidates:
        return name not in _WRITERS and not isinstance(m.scope.lookup(name), Variable)
    assert listed is not None
    given = [child.start_byte for child in listed.named_children if child.type != "comment"]
    position = given.index(node.start_byte) if node.start_byte in given else 0
    return not any(_takes_reference(f, position) for f in candidates)


def _takes_reference(function: FunctionDefinition, position: int) -> bool:
    parameters = function.parameters
    if position < len(parameters):
        return parameters[position].is_reference and not parameters[position].const
    return any(p.pack for p in parameters)


def _dereferenced(node: Node) -> bool:
    """Whether the node is the `p` of a `*p` (and not the `x` of an `&x`)."""
    parent = node.parent
    operator = parent.child_by_field_name("operator") if parent is not None else None
    return parent is not None and parent.type == "pointer_expression" and operator is not None and operator.type == "*"


def _table(m: Machine, node: Node) -> list[tuple[int, str, str]]:
    """(position, name, how) of everything assigned within `node`, by position."""
    from tree_sitter import QueryCursor

    found: list[tuple[int, str, str]] = []
    for how, nodes in QueryCursor(query(_ASSIGNMENTS)).captures(node).items():
        for item in nodes:
            root, direct = _root(item)
            if root is None or (how == "argument" and _keeps_arguments(m, item)):
                continue
            if direct and how == "target" and _dereferenced(item):
                direct = False
            found.append((item.start_byte, m.text(root), how if direct or how == "callee" else "memory"))
    found.sort()
    return found


def assigned_names(m: Machine, node: Node) -> dict[str, bool]:
    """Names of variables that may be assigned within a loop, in order of first appearance; False for those through
    which only memory is written (`a[i] = x`)."""
    table = m.assignments.get(id(m.data), {}).get(_function_start(m, node))
    if table is None:
        top = _function_of(m, node)
        table = _table(m, top)
        m.assignments.setdefault(id(m.data), {})[top.start_byte] = table
    first = bisect.bisect_left(table, (node.start_byte, "", ""))
    names: dict[str, bool] = {}
    for position, name, how in table[first:]:
        if position >= node.end_byte:
            break
        if how == "callee":
            _add_lambda(m, name, names)
        else:
            names[name] = names.get(name, False) or how != "memory"
    return names


def _function_of(m: Machine, node: Node) -> Node:
    current = node
    for _ in range(200):
        if current.type in ("function_definition", "translation_unit"):
            break
        parent = current.parent
        if parent is None:
            break
        current = parent
    return current


def _function_start(m: Machine, node: Node) -> int:
    return _function_of(m, node).start_byte


def _add_lambda(m: Machine, name: str, names: dict[str, bool]) -> None:
    """Calling a lambda assigns what its body assigns."""
    found = m.scope.lookup(name)
    if not isinstance(found, Variable):
        return
    held = m.read(found.key)
    obj = object_of(held) if held is not None else None
    if obj is not None and isinstance(obj.function, Lambda) and obj.function.unit.data is m.data:
        for _, inner, how in _table(m, obj.function.node):
            if how != "callee":
                names[inner] = True


def loop_step(m: Machine, update: Node, body: Node | None, names: dict[str, bool]) -> tuple[str, Expr] | None:
    """(variable, step) when the update clause is `i += step` with a step the loop does not change, and the body leaves
    `i` alone."""
    current = update
    while current.type == "comma_expression":
        first = current.child_by_field_name("left")
        if first is None:
            return None
        current = first
    found = _step_of(m, current, names)
    if found is None or body is None:
        return None
    for position, name, how in m.assignments[id(m.data)][_function_start(m, body)]:
        if name == found[0] and how != "memory" and body.start_byte <= position < body.end_byte:
            return None
    variable = m.scope.lookup(found[0])
    if not isinstance(variable, Variable) or variable.place is not None:
        return None
    return found


def _step_of(m: Machine, node: Node, names: dict[str, bool]) -> tuple[str, Expr] | None:
    if node.type == "update_expression":
        argument, operator = node.child_by_field_name("argument"), node.child_by_field_name("operator")
        if argument is None or operator is None or argument.type != "identifier":
            return None
        return m.text(argument), const(1 if operator.type == "++" else -1)
    if node.type != "assignment_expression":
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None or left.type != "identifier":
        return None
    name, sign = m.text(left), _STEPS.get(operator.type)
    if operator.type == "=" and right.type == "binary_expression":
        first, second = right.child_by_field_name("left"), right.child_by_field_name("right")
        inner = right.child_by_field_name("operator")
        if first is None or second is None or inner is None or m.text(first) != name:
            return None
        sign, right = {"+": 1, "-": -1}.get(inner.type), second
    if sign is None or not _invariant(m, right, names):
        return None
    return name, m.expr_of(m.eval(right)) * sign


def _invariant(m: Machine, node: Node, names: dict[str, bool]) -> bool:
    """Whether an expression reads no memory, calls nothing and names no variable of the loop."""
    pending = [node]
    count = 0
    while pending:
        item = pending.pop()
        count += 1
        if count > 60 or item.type in ("subscript_expression", "pointer_expression", "update_expression"):
            return False
        if item.type == "call_expression" and item.children and item.children[0].type == "identifier":
            return False
        if item.type == "identifier" and m.text(item) in names:
            return False
        pending.extend(item.named_children)
    return True
