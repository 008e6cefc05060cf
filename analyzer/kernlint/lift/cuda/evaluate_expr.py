"""Expressions: one handler per node type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import Connective, negate
from kernlint.ir.expr import ZERO, const
from kernlint.ir.kernel import Frame
from kernlint.ir.types import BOOL, FLOAT32, INT32, TYPES, UINT64
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda.builtins import GRID_NAMES
from kernlint.lift.cuda.device_join import join
from kernlint.lift.cuda.device_machine import Evaluator, Machine, Place, TypedValue, Variable, object_of, pointee
from kernlint.lift.cuda.device_objects import copied, elements_pointer
from kernlint.lift.cuda.device_ops import binary, convert, unary
from kernlint.lift.cuda.device_resolve import constant_named, resolve_type, size_of
from kernlint.lift.cuda.device_types import COMPONENTS, UNKNOWN, CType, float_literal, integer_literal
from kernlint.lift.cuda.evaluate_inline import Lambda
from kernlint.lift.cuda.evaluate_names import (
    address_of,
    identifier,
    pointer_expression,
    qualified,
    type_as_value,
    variable_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _missing(m: Machine, node: Node) -> Value:
    return m.opaque("malformed expression", node)


def _number(m: Machine, node: Node) -> Value:
    text = m.text(node)
    whole = integer_literal(text)
    if whole is not None:
        return m.value("const", (), whole[1], node, const(whole[0]), None, {"value": whole[0]})
    real = float_literal(text)
    if real is not None:
        return m.value("const", (), real[1], node, None, None, {"value": real[0]})
    return m.opaque("literal", node)


def _truth(m: Machine, node: Node) -> Value:
    return m.constant(node.type == "true", BOOL, node)


def _null(m: Machine, node: Node) -> Value:
    return m.typed("const", (), node, pointer=Pointer(None, ZERO, None), attrs={"value": 0})


def _character(m: Machine, node: Node) -> Value:
    text = m.text(node).strip("'")
    code = ord(text) if len(text) == 1 else None
    return m.constant(code, TYPES["int8"], node) if code is not None else m.opaque("literal", node, TYPES["int8"])


def _string(m: Machine, node: Node) -> Value:
    return m.value("const", (), None, node, None, None, {"value": m.text(node)})


def _field(m: Machine, node: Node) -> Value:
    argument = node.child_by_field_name("argument")
    member = node.child_by_field_name("field")
    if argument is None or member is None:
        return _missing(m, node)
    if argument.type == "identifier":
        base_name = m.text(argument)
        kind = GRID_NAMES.get(base_name)
        if kind is not None:
            lane = COMPONENTS.get(m.text(member))
            if lane is not None and lane < 3:
                return m.grid_value(kind, lane, node)
        if base_name in m.home.structs and m.scope.lookup(base_name) is None:
            found = constant_named(m, m.text(member), base_name)
            if found is not None:
                return found
    name = m.text(member)
    if argument.type == "call_expression" and name in COMPONENTS:
        held = m.eval(argument)
        lane = COMPONENTS[name]
        grid = held.attrs.get("grid")
        if isinstance(grid, str):
            return m.grid_value(grid, min(lane, 2), node)
        if held.dtype is not None and held.dtype.lanes > 1:
            single = CType("", replace(held.dtype, lanes=1))
            return places.component(m, held, lane, Place(single, name=name), node)
    if member.type == "dependent_name" or member.type == "template_method":
        return m.opaque("dependent member", node)
    return places.load(m, places.place_of(m, node), node)


def _load_place(m: Machine, node: Node) -> Value:
    return places.load(m, places.place_of(m, node), node)


def _binary(m: Machine, node: Node) -> Value:
    # long chains nest to the left: walk down the spine instead of recursing
    spine: list[Node] = []
    current: Node | None = node
    while current is not None and current.type == "binary_expression":
        operator = current.child_by_field_name("operator")
        if operator is not None and operator.type in ("&&", "||", "and", "or") and spine:
            break
        spine.append(current)
        if operator is not None and operator.type in ("&&", "||", "and", "or"):
            break
        current = current.child_by_field_name("left")
    last = spine[-1]
    operator = last.child_by_field_name("operator")
    sign = operator.type if operator is not None else ""
    if sign in ("&&", "||", "and", "or"):
        result = _short_circuit(m, last, "&&" if sign in ("&&", "and") else "||")
        spine.pop()
    elif current is not None:
        result = m.eval(current)
    else:
        return _missing(m, node)
    for item in reversed(spine):
        right_node = item.child_by_field_name("right")
        operator = item.child_by_field_name("operator")
        if right_node is None or operator is None:
            return _missing(m, node)
        result = apply_binary(m, operator.type, result, m.eval(right_node), item)
    return result


def apply_binary(m: Machine, sign: str, a: Value, b: Value, node: Node) -> Value:
    for side in (a, b):
        obj = object_of(side)
        if obj is not None and obj.ctype.struct is not None and side.pointer is None:
            from kernlint.lift.cuda.evaluate_inline import operator_call

            made = operator_call(m, sign, a, b, node)
            if made is not None:
                return made
            break
    return binary(m, sign, a, b, node)


def _short_circuit(m: Machine, node: Node, sign: str) -> Value:
    left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left_node is None or right_node is None:
        return _missing(m, node)
    left = m.eval(left_node)
    held = m.cond_of(left)
    m.push_frame(Frame(held if sign == "&&" else negate(held), value=left, span=left.span))
    right = m.eval(right_node)
    m.pop_frame()
    return binary(m, sign, left, right, node)


def _unary(m: Machine, node: Node) -> Value:
    operator, argument = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is None or argument is None:
        return _missing(m, node)
    return unary(m, operator.type, m.eval(argument), node)


def _parenthesized(m: Machine, node: Node) -> Value:
    for child in node.named_children:
        if child.type != "comment":
            return m.eval(child)
    return _missing(m, node)


def _assignment(m: Machine, node: Node) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None:
        return _missing(m, node)
    sign = operator.type if operator is not None else "="
    if sign == "=":
        value = _initialiser(m, right, left)
        place = places.place_of(m, left)
    else:
        place = places.place_of(m, left)
        value = m.eval(right)
        value = apply_binary(m, sign[:-1], places.load(m, place, left), value, node)
    value = convert(m, value, place.ctype, None, False)
    if object_of(value) is not None:
        value = copied(m, value, place.name)
    places.store(m, place, value, node)
    return value


def _initialiser(m: Machine, right: Node, left: Node) -> Value:
    if right.type == "initializer_list":
        from kernlint.lift.cuda.evaluate_declare import braced

        return braced(m, right, places.place_of(m, left).ctype)
    return m.eval(right)


def _update(m: Machine, node: Node) -> Value:
    argument = node.child_by_field_name("argument")
    operator = node.child_by_field_name("operator")
    if argument is None or operator is None:
        return _missing(m, node)
    place = places.place_of(m, argument)
    before = places.load(m, place, argument)
    one = m.constant(1, INT32)
    after = convert(m, binary(m, operator.type[0], before, one, node), place.ctype, None, False)
    places.store(m, place, after, node)
    is_prefix = operator.start_byte < argument.start_byte
    return after if is_prefix else before


def _conditional(m: Machine, node: Node) -> Value:
    test_node = node.child_by_field_name("condition")
    then_node, else_node = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    if test_node is None or then_node is None or else_node is None:
        return _missing(m, node)
    test = m.eval(test_node)
    cond = m.cond_of(test)
    if cond.op is Connective.TRUE:
        return m.eval(then_node)
    if cond.op is Connective.FALSE:
        return m.eval(else_node)
    m.push_frame(Frame(cond, value=test, span=test.span))
    then = m.eval(then_node)
    m.pop_frame()
    m.push_frame(Frame(negate(cond), arm=False, value=test, span=test.span))
    other = m.eval(else_node)
    m.pop_frame()
    made = join(m, cond, then, other, test, "where")
    made.span = m.span(node)
    return made


def _cast(m: Machine, node: Node) -> Value:
    type_node, value_node = node.child_by_field_name("type"), node.child_by_field_name("value")
    if type_node is None or value_node is None:
        return _missing(m, node)
    value = m.eval(value_node)
    return cast_value(m, value, resolve_type(m, m.text(type_node)), node)


def cast_value(m: Machine, value: Value, to: CType, node: Node, reinterpret: bool = False) -> Value:
    """An explicit cast; an object cast to a pointer is the pointer it holds."""
    if to.depth and object_of(value) is not None and value.pointer is None:
        obj = object_of(value)
        assert obj is not None
        value = elements_pointer(m, obj, node)
    return convert(m, value, to, node, True)


def _comma(m: Machine, node: Node) -> Value:
    result: Value | None = None
    current: Node | None = node
    while current is not None and current.type == "comma_expression":
        left, right = current.child_by_field_name("left"), current.child_by_field_name("right")
        if left is not None:
            result = m.eval(left)
        current = right
    return m.eval(current) if current is not None else (result or _missing(m, node))


def _sizeof(m: Machine, node: Node) -> Value:
    type_node = node.child_by_field_name("type")
    value_node = node.child_by_field_name("value")
    ctype: CType | None = None
    if type_node is not None:
        ctype = resolve_type(m, m.text(type_node))
    elif value_node is not None:
        inner: Node | None = value_node
        if value_node.type == "parenthesized_expression":
            inner = next((child for child in value_node.named_children if child.type != "comment"), None)
        if inner is None:
            return _missing(m, node)
        name = m.text(inner)
        found = m.scope.lookup(name) if inner.type == "identifier" else None
        if isinstance(found, Variable):
            ctype = found.ctype
        elif inner.type in ("identifier", "qualified_identifier", "template_function"):
            ctype = resolve_type(m, name)
        else:
            place = places.place_of(m, inner)
            ctype = place.ctype
    size = size_of(m, ctype) if ctype is not None else m.opaque_expr("sizeof")
    value = m.value("const" if size.constant is not None else "param", (), UINT64, node, size)
    value.attrs["value" if size.constant is not None else "name"] = (
        size.constant if size.constant is not None else repr(size)
    )
    return value


def _lambda(m: Machine, node: Node) -> Value:
    obj = m.new_object(CType("lambda"), "lambda")
    obj.function = Lambda(node, m.unit, m.scope)
    return m.typed("opaque", (), node, obj=obj, ctype=obj.ctype, attrs={"why": "lambda"})


def _compound_literal(m: Machine, node: Node) -> Value:
    type_node, value_node = node.child_by_field_name("type"), node.child_by_field_name("value")
    if type_node is None or value_node is None:
        return _missing(m, node)
    from kernlint.lift.cuda.evaluate_declare import braced

    return braced(m, value_node, resolve_type(m, m.text(type_node)))


def _this(m: Machine, node: Node) -> Value:
    receiver = m.scope.receiver()
    if receiver is None:
        return m.opaque("this", node)
    return m.typed("param", (), node, obj=receiver, ctype=receiver.ctype)


def _call(m: Machine, node: Node) -> Value:
    from kernlint.lift.cuda.evaluate_calls import call

    return call(m, node)


def _assembly(m: Machine, node: Node) -> Value:
    from kernlint.lift.cuda.device_asm import assembly

    return assembly(m, node)


def _braces(m: Machine, node: Node) -> Value:
    from kernlint.lift.cuda.evaluate_declare import braced

    return braced(m, node, UNKNOWN)


def _template_value(m: Machine, node: Node) -> Value:
    return m.symbol("".join(m.text(node).split()))


def _fold(m: Machine, node: Node) -> Value:
    for child in node.named_children:
        m.eval(child)
    return m.opaque("fold expression", node)


EXPRESSIONS: dict[str, Evaluator] = {
    "number_literal": _number,
    "true": _truth,
    "false": _truth,
    "null": _null,
    "nullptr": _null,
    "char_literal": _character,
    "string_literal": _string,
    "concatenated_string": _string,
    "raw_string_literal": _string,
    "identifier": identifier,
    "field_identifier": identifier,
    "type_identifier": identifier,
    "qualified_identifier": qualified,
    "field_expression": _field,
    "subscript_expression": _load_place,
    "pointer_expression": pointer_expression,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "parenthesized_expression": _parenthesized,
    "condition_clause": _parenthesized,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "conditional_expression": _conditional,
    "cast_expression": _cast,
    "comma_expression": _comma,
    "sizeof_expression": _sizeof,
    "alignof_expression": _sizeof,
    "lambda_expression": _lambda,
    "compound_literal_expression": _compound_literal,
    "this": _this,
    "call_expression": _call,
    "gnu_asm_expression": _assembly,
    "initializer_list": _braces,
    "template_function": _template_value,
    "dependent_identifier": _template_value,
    "fold_expression": _fold,
    "type_descriptor": type_as_value,
}

__all__ = [
    "EXPRESSIONS",
    "FLOAT32",
    "TypedValue",
    "address_of",
    "apply_binary",
    "cast_value",
    "pointee",
    "variable_value",
]
