"""Symbolic evaluation of host expressions: integers in normal form, dim3s, kernel names, tensors.

Everything not understood is `UNKNOWN`, locally.  Calls, launches and lambdas are handled by `host_calls`; statements by
`host_walk`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition, compare, conj, disj, equal, flag, negate
from kernlint.ir.expr import ONE, ZERO, Expr, const
from kernlint.ir.host import GridDim
from kernlint.lift.cuda.host_memory import named_allocation, touch_below
from kernlint.lift.cuda.host_names import identifier_value, qualified_value, template_value
from kernlint.lift.cuda.host_types import element_type, is_floating, is_integer, size_of
from kernlint.lift.cuda.host_values import UNKNOWN, Known, Lambda, State, fresh, host_part
from kernlint.lift.cuda.parser import first_named

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker

MAX_DEPTH = 120
_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": arith.bitand,
    "|": arith.bitor,
    "^": arith.xor,
    "<<": arith.shl,
    ">>": arith.shr,
}
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_SPELLED = {"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^"}


def evaluate(w: Walker, node: Node | None, state: State) -> Known:
    """The value of an expression; launches and calls inside it take place (see `host_calls`)."""
    if node is None or w.budget <= 0 or w.depth > MAX_DEPTH:
        return UNKNOWN
    w.budget -= 1
    w.depth += 1
    try:
        handler = _HANDLERS.get(node.type)
        found = handler(w, node, state) if handler is not None else _children(w, node, state)
    finally:
        w.depth -= 1
    return found if found.span is not None else found.at(w.unit.span(node), found.text or w.text(node))


def _children(w: Walker, node: Node, state: State) -> Known:
    """Evaluate the parts of an expression that is not understood, for the launches in it."""
    for child in node.named_children:
        evaluate(w, child, state)
    return UNKNOWN


def truth(w: Walker, known: Known, node: Node | None) -> Condition:
    """The value as a condition; an opaque one unique to the place when not understood."""
    if known.cond is not None:
        return known.cond
    if known.expr is not None and not known.floating and not known.expr.is_opaque:
        return negate(equal(known.expr, ZERO))
    return flag(f"host@{w.unit.span(node).start if node is not None else 0}:{known.text[:60]}")


def _number(w: Walker, node: Node, state: State) -> Known:
    text = w.text(node).replace("'", "")
    value = integer_literal(text)
    if value is not None:
        return Known(expr=const(value), literal=value, is_literal=True)
    try:
        number = float(text.rstrip("fFlL"))
    except ValueError:
        return Known(floating=True)
    whole = const(int(number)) if number == int(min(max(number, -1e18), 1e18)) and abs(number) < 1e15 else None
    return Known(expr=whole, literal=number, is_literal=True, floating=True)


def integer_literal(text: str) -> int | None:
    """The value of a C++ integer literal, or None."""
    clean = text.replace("'", "").lower()
    digits = clean.rstrip("ulz")
    try:
        if digits.startswith("0x"):
            return int(digits, 16)
        if digits.startswith("0b"):
            return int(digits, 2)
        if len(digits) > 1 and digits.startswith("0") and digits.isdigit():
            return int(digits, 8)
        return int(digits) if digits.isdigit() and len(digits) < 40 else None
    except ValueError:
        return None


def _boolean(w: Walker, node: Node, state: State) -> Known:
    value = node.type == "true"
    return Known(expr=const(int(value)), literal=value, is_literal=True, cond=compare(">=", const(int(value)), ONE))


def _null(w: Walker, node: Node, state: State) -> Known:
    return Known(literal=None, is_literal=True)


def _string(w: Walker, node: Node, state: State) -> Known:
    return Known(literal=w.text(node).strip('"'), is_literal=True)


def _parenthesized(w: Walker, node: Node, state: State) -> Known:
    inner = first_named(node)
    return evaluate(w, inner, state) if node.named_child_count == 1 else _children(w, node, state)


def cast(known: Known, type_text: str) -> Known:
    """A value converted to a type by name: integers stay as they are, floats stop being integers."""
    if is_floating(type_text):
        return replace(known, floating=True, dtype=element_type(type_text), span=None)
    if type_text.split()[-1:] == ["bool"] or type_text == "bool":
        return known
    if is_integer(type_text):
        if known.ratio is not None:
            return Known(expr=arith.floordiv(*known.ratio), text=known.text)
        if known.floating and not (known.expr is not None and known.is_literal):
            return Known(expr=known.expr, text=known.text) if known.expr is not None else UNKNOWN
        return replace(known, floating=False, dtype=element_type(type_text), span=None)
    return replace(known, span=None)


def _cast(w: Walker, node: Node, state: State) -> Known:
    kind = node.child_by_field_name("type")
    value = evaluate(w, node.child_by_field_name("value"), state)
    return cast(value, w.text(kind) if kind is not None else "")


def _unary(w: Walker, node: Node, state: State) -> Known:
    operator = node.child_by_field_name("operator")
    sign = w.text(operator) if operator is not None else ""
    sign = _SPELLED.get(sign, sign)
    argument = node.child_by_field_name("argument")
    value = evaluate(w, argument, state)
    if sign == "!":
        return Known(cond=negate(truth(w, value, argument)))
    if value.expr is None:
        return Known(floating=value.floating)
    if sign == "-":
        literal = -value.literal if isinstance(value.literal, (int, float)) and value.is_literal else None
        return Known(expr=-value.expr, floating=value.floating, literal=literal, is_literal=literal is not None)
    if sign == "+":
        return value
    return Known(expr=-value.expr - 1) if sign == "~" and not value.floating else UNKNOWN


def _pointer(w: Walker, node: Node, state: State) -> Known:
    operator = node.child_by_field_name("operator")
    argument = node.child_by_field_name("argument")
    value = evaluate(w, argument, state)
    if operator is not None and w.text(operator) == "&":
        if value.kernels:
            return value
        return Known(address_of=w.text(argument) if argument is not None else "", items=value.items)
    if value.kernels:
        return value
    text = w.text(node)
    return Known(expr=host_part(text), root=text) if argument is not None and argument.type == "identifier" else UNKNOWN


def _binary(w: Walker, node: Node, state: State) -> Known:
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = w.text(operator) if operator is not None else ""
    sign = _SPELLED.get(sign, sign)
    a = evaluate(w, left, state)
    b = evaluate(w, right, state)
    if sign in ("&&", "||"):
        parts = [truth(w, a, left), truth(w, b, right)]
        return Known(cond=conj(parts) if sign == "&&" else disj(parts))
    return binary(sign, a, b)


def binary(sign: str, a: Known, b: Known) -> Known:
    """`a sign b` for integers, exact quotients of floats, and comparisons."""
    floating = a.floating or b.floating
    if sign in _COMPARISONS:
        if a.expr is None or b.expr is None or floating:
            return UNKNOWN
        return Known(cond=compare(sign, a.expr, b.expr))
    if sign == "/" and floating and a.expr is not None and b.expr is not None:
        return Known(ratio=(a.expr, b.expr), floating=True)
    if a.expr is None or b.expr is None:
        return Known(floating=floating)
    if sign in _ARITHMETIC:
        return Known(expr=_ARITHMETIC[sign](a.expr, b.expr), floating=floating)
    if floating or sign not in ("/", "%") or b.expr == ZERO:
        return Known(floating=floating)
    return Known(expr=arith.floordiv(a.expr, b.expr) if sign == "/" else arith.mod(a.expr, b.expr))


def _conditional(w: Walker, node: Node, state: State) -> Known:
    test = node.child_by_field_name("condition")
    condition = truth(w, evaluate(w, test, state), test)
    then_node, else_node = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    then, otherwise = evaluate(w, then_node, state), evaluate(w, else_node, state)
    if then.kernels or otherwise.kernels:
        refs = [replace(ref, condition=condition) for ref in then.kernels]
        refs += [replace(ref, condition=negate(condition)) for ref in otherwise.kernels]
        return Known(kernels=tuple(refs))
    if then.expr is None or otherwise.expr is None or then.floating or otherwise.floating:
        return Known(floating=then.floating or otherwise.floating)
    return Known(expr=arith.select(condition, then.expr, otherwise.expr))


def _field(w: Walker, node: Node, state: State) -> Known:
    argument, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if argument is None or name is None:
        return UNKNOWN
    base, member = evaluate(w, argument, state), w.text(name)
    path = f"{w.text(argument)}.{member}"
    if path in state.variables:
        return state.variables[path]
    if base.dims is not None and member in ("x", "y", "z"):
        index = "xyz".index(member)
        return Known(expr=base.dims[index].expr if index < len(base.dims) else ONE)
    if not base.root:
        return UNKNOWN
    text = f"{base.root}{'->' if '->' in w.text(node)[len(w.text(argument)) :][:3] else '.'}{member}"
    return Known(expr=host_part(text), root=text, text=w.text(node))


def _subscript(w: Walker, node: Node, state: State) -> Known:
    base = evaluate(w, node.child_by_field_name("argument"), state)
    indices = node.child_by_field_name("indices")
    values = [evaluate(w, child, state) for child in indices.named_children] if indices is not None else []
    if len(values) != 1 or values[0].expr is None:
        return UNKNOWN
    index = values[0].expr
    if base.items is not None and index.constant is not None and 0 <= index.constant < len(base.items):
        return base.items[index.constant]
    if base.root and index.constant is not None:
        root = base.root
        if root.endswith((".sizes()", ".shape()")):
            root, text = root.rpartition(".")[0], "size"
            return Known(expr=host_part(f"{root}.{text}({index.constant})"))
        text = f"{root}[{index.constant}]"
        return Known(expr=host_part(text), root=text)
    return UNKNOWN


def _sizeof(w: Walker, node: Node, state: State) -> Known:
    kind = node.child_by_field_name("type")
    what = kind if kind is not None else node.child_by_field_name("value")
    if what is None:
        return UNKNOWN
    text = " ".join(w.text(what).split())
    text = text.strip("() ") if kind is None else text
    size = size_of(text) or size_of(w.program.aliases.get(text, ""))
    return Known(expr=const(size)) if size is not None else Known(expr=host_part(f"sizeof({text})"), text=w.text(node))


def _compound_literal(w: Walker, node: Node, state: State) -> Known:
    """`dim3{a, b}`, `int{n}`."""
    kind, value = node.child_by_field_name("type"), evaluate(w, node.child_by_field_name("value"), state)
    text = w.text(kind).rpartition("::")[2] if kind is not None else ""
    if text == "dim3":
        return as_dims(value)
    if value.items is not None and len(value.items) == 1:
        return cast(value.items[0], text)
    return value


def _initializer(w: Walker, node: Node, state: State) -> Known:
    return Known(items=tuple(evaluate(w, child, state) for child in node.named_children if child.type != "comment"))


def _assignment(w: Walker, node: Node, state: State) -> Known:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    sign = w.text(operator) if operator is not None else "="
    value = evaluate(w, right, state)
    if left is None:
        return value
    if sign != "=" and len(sign) >= 2:
        value = binary(sign[:-1], evaluate(w, left, state), value)
    assign(w, left, value, state)
    return value


def assign(w: Walker, left: Node, value: Known, state: State) -> None:
    """Store into a variable, a dim3 component, or a struct member."""
    if left.type == "identifier":
        name = w.text(left)
        value = named_allocation(value, name)
        old = state.variables.get(name)
        if old is not None and old.dims is not None and value.dims is None:
            value = as_dims(value) if value.expr is not None or value.items is not None else value
        if value.expr is None and value.dims is None and old is not None and old.expr is not None:
            value = fresh(name, w.unit.span(left).start, value)
        elif value.tensor is not None or not value.root:
            value = replace(value, root=f"{name}@{w.unit.span(left).start}" if not value.root else value.root)
        state.set(name, value)
        return
    if left.type == "field_expression":
        argument, member = left.child_by_field_name("argument"), left.child_by_field_name("field")
        if argument is None or member is None:
            return
        base, part = w.text(argument), w.text(member)
        known = state.variables.get(base)
        if known is not None and known.dims is not None and part in ("x", "y", "z"):
            dims = list(known.dims) + [GridDim(ONE, known.dims[0].span)] * (3 - len(known.dims))
            dims["xyz".index(part)] = GridDim(value.expr, w.unit.span(left))
            state.variables[base] = replace(known, dims=tuple(dims))
            return
        path = f"{base}.{part}"
        value = named_allocation(value, path)
        state.set(path, value if value is not UNKNOWN else fresh(path, w.unit.span(left).start))
        return
    for child in left.named_children:
        evaluate(w, child, state)
    touch_below(w, left, state)


def as_dims(value: Known) -> Known:
    """A value used to make a dim3: an integer, another dim3, or `{x, y, z}`."""
    if value.dims is not None or value.span is None:
        return value
    if value.items is not None:
        dims = tuple(GridDim(item.expr, item.span or value.span) for item in value.items[:3])
        return Known(dims=dims or (GridDim(ONE, value.span),), text=value.text, span=value.span)
    return Known(dims=(GridDim(value.expr, value.span),), text=value.text, span=value.span)


def _update(w: Walker, node: Node, state: State) -> Known:
    argument = node.child_by_field_name("argument")
    operator = node.child_by_field_name("operator")
    value = evaluate(w, argument, state)
    if argument is not None and operator is not None:
        assign(w, argument, binary(w.text(operator)[0], value, Known(expr=ONE)), state)
    return value


def _lambda(w: Walker, node: Node, state: State) -> Known:
    return Known(function=Lambda(node, w.unit))


def _call(w: Walker, node: Node, state: State) -> Known:
    from kernlint.lift.cuda.host_calls import call

    return call(w, node, state)


_HANDLERS: dict[str, Callable[[Walker, Node, State], Known]] = {
    "number_literal": _number,
    "true": _boolean,
    "false": _boolean,
    "null": _null,
    "nullptr": _null,
    "string_literal": _string,
    "concatenated_string": _string,
    "raw_string_literal": _string,
    "identifier": identifier_value,
    "this": identifier_value,
    "qualified_identifier": qualified_value,
    "template_function": template_value,
    "parenthesized_expression": _parenthesized,
    "condition_clause": _parenthesized,
    "cast_expression": _cast,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "binary_expression": _binary,
    "conditional_expression": _conditional,
    "field_expression": _field,
    "subscript_expression": _subscript,
    "sizeof_expression": _sizeof,
    "initializer_list": _initializer,
    "compound_literal_expression": _compound_literal,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "lambda_expression": _lambda,
    "call_expression": _call,
}
