"""Evaluate the Python expressions of wrapper functions.

`evaluate` never raises and always answers; what is not understood is a `Given` of its own.
"""

from __future__ import annotations

import ast

from kernlint.ir import arith
from kernlint.ir.condition import Connective
from kernlint.ir.expr import const, param
from kernlint.lift.host import calls, conditions
from kernlint.lift.host.definitions import Assigned, Class, Function, Imported, attribute_path
from kernlint.lift.host.dtypes import torch_dtype
from kernlint.lift.host.sequences import entry_of, expanded, integer_operation, sliced
from kernlint.lift.host.state import Frame, join_values
from kernlint.lift.host.tensors import attribute_of_tensor
from kernlint.lift.host.value import (
    Bound,
    Callable,
    Choice,
    Dtype,
    Given,
    HostVal,
    Int,
    KernelRef,
    Literal,
    Mapping,
    Meta,
    Pieces,
    Quotient,
    Seq,
    SizesOf,
    Tensor,
    as_int,
    as_tensor,
    given,
    seen_tensor,
)
from kernlint.lift.host.views import indexed

MAX_NESTING = 60
MAX_ITEMS = 16  # of a comprehension evaluated item by item


def evaluate(frame: Frame, node: ast.expr) -> HostVal:
    """The value of an expression in the current state."""
    if frame.nesting >= MAX_NESTING or not frame.spend():
        return frame.unknown(node)
    frame.nesting += 1
    try:
        return _evaluate(frame, node)
    finally:
        frame.nesting -= 1


def _evaluate(frame: Frame, node: ast.expr) -> HostVal:
    if isinstance(node, ast.Constant):
        return _constant(frame, node)
    if isinstance(node, ast.Name):
        return lookup(frame, node)
    if isinstance(node, ast.Attribute):
        return _attribute(frame, node)
    if isinstance(node, ast.Call):
        return calls.call(frame, node)
    if isinstance(node, ast.BinOp):
        return _binary(frame, node)
    if isinstance(node, ast.Subscript):
        return _subscript(frame, node)
    if isinstance(node, (ast.Tuple, ast.List)):
        return sequence(frame, node.elts)
    if isinstance(node, ast.IfExp):
        return conditional(frame, node)
    if isinstance(node, ast.UnaryOp):
        return _unary(frame, node)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and isinstance(node.values[-1], ast.Call):
        return _or_else(frame, node, node.values[-1])
    if isinstance(node, (ast.Compare, ast.BoolOp)):
        return conditions.truth_value(frame, node)
    if isinstance(node, ast.Lambda):
        return Callable(node, frame.scope, local=True)
    if isinstance(node, ast.Dict):
        return _dictionary(frame, node)
    if isinstance(node, ast.NamedExpr):
        value = evaluate(frame, node.value)
        frame.state.variables[node.target.id] = value
        return value
    if isinstance(node, ast.Starred):
        return evaluate(frame, node.value)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        return _comprehension(frame, node)
    return frame.unknown(node)


def _constant(frame: Frame, node: ast.Constant) -> HostVal:
    value = node.value
    if isinstance(value, bool) or value is None or isinstance(value, (float, str)):
        return Literal(value)
    if isinstance(value, int):
        return Int(const(value))
    return frame.unknown(node)


def lookup(frame: Frame, node: ast.Name) -> HostVal:
    known = frame.state.variables.get(node.id)
    if known is not None:
        return known
    found = _global(frame, node)
    if found is not None:
        return found
    value = given(frame.prefix + node.id, node.id)
    frame.state.variables[node.id] = value
    return value


def _global(frame: Frame, node: ast.Name | ast.Attribute) -> HostVal | None:
    """A module-level definition: a constant, function, kernel or element type."""
    dtype = torch_dtype(frame.scope.dotted(node))
    if dtype is not None:
        return Dtype(dtype)
    resolved = frame.scope.resolve_node(node)
    if resolved is None:
        return None
    definition, scope = resolved.definition, resolved.scope
    if isinstance(definition, Function):
        if definition.is_jit:
            return KernelRef(definition.name, scope, definition)
        return Callable(definition.node, scope)
    if isinstance(definition, Imported):
        return KernelRef(definition.name or "", imported=(_module_text(definition), definition.name or ""))
    if isinstance(definition, Class):
        return None
    if definition.target is not None and not definition.target.is_jit and isinstance(definition.value, ast.Name):
        return Callable(definition.target.node, scope)
    return _assigned_global(frame, node, definition, scope is frame.scope)


def _assigned_global(frame: Frame, node: ast.Name | ast.Attribute, definition: Assigned, here: bool) -> HostVal | None:
    constant = frame.scope.constant(node)
    if constant is not None:
        if isinstance(constant, int) and not isinstance(constant, bool):
            return Int(const(constant))
        return Literal(constant)
    value = definition.value
    if value is None:
        return None
    jit = frame.scope.jit_function(node)
    if jit is not None:
        name = node.id if isinstance(node, ast.Name) else node.attr
        return KernelRef(name, *jit)
    resolved = frame.scope.resolve_node(node)
    if resolved is not None and frame.depth < calls.MAX_DEPTH and isinstance(value, (ast.Tuple, ast.List, ast.Dict)):
        inner = Frame(resolved.scope, type(frame.state)(), frame.budget, depth=frame.depth + 1)
        return evaluate(inner, value)
    if resolved is not None and isinstance(value, (ast.Name, ast.Attribute)) and here:
        dtype = torch_dtype(frame.scope.dotted(value))
        return Dtype(dtype) if dtype is not None else None
    return None


def _module_text(imported: Imported) -> str:
    return "." * imported.level + imported.module


def _attribute(frame: Frame, node: ast.Attribute) -> HostVal:
    path = attribute_path(node)
    if path:
        known = frame.state.variables.get(path)
        if known is not None:
            return known
        head = path.partition(".")[0]
        if head not in frame.state.variables and head in frame.scope.names:
            value = _global(frame, node)
            if value is not None:
                return value
            if node.attr != "fn":
                return frame.unknown(node)
    base = evaluate(frame, node.value)
    if isinstance(base, KernelRef) and base.imported is not None:
        module = ".".join(part for part in base.imported if part)
        return KernelRef(node.attr, imported=(module, node.attr))
    if isinstance(base, KernelRef) and node.attr == "fn":
        return base
    if isinstance(base, Mapping) and node.attr in base.items:
        return base.items[node.attr]
    found = attribute_of_tensor(frame, base, node)
    if found is not None:
        return found
    if isinstance(base, Given) and path:
        method = calls.method_named(frame, base, node.attr)
        if method is not None:
            return method
        value = given(f"{base.key}.{node.attr}", f"{base.name}.{node.attr}")
        frame.state.variables[path] = value
        return value
    return frame.unknown(node)


def sequence(frame: Frame, nodes: list[ast.expr]) -> Seq:
    items: list[HostVal] = []
    spans = []
    for node in nodes:
        span = frame.scope.text.span(node)
        if not isinstance(node, ast.Starred):
            items.append(evaluate(frame, node))
            spans.append(span)
            continue
        inner = expanded(frame, evaluate(frame, node.value))
        if inner is not None:
            items.extend(inner)
            spans.extend([span] * len(inner))
        else:
            items.append(evaluate(frame, node.value))
            spans.append(span)
    return Seq(tuple(items), tuple(spans))


def conditional(frame: Frame, node: ast.IfExp) -> HostVal:
    condition = conditions.condition_of(frame, node.test)
    before = frame.state
    frame.state = before.copy()
    conditions.assume(frame, node.test, True, condition=condition)
    then = evaluate(frame, node.body)
    frame.state = before.copy()
    conditions.assume(frame, node.test, False, condition=condition)
    other = evaluate(frame, node.orelse)
    frame.state = before
    if condition.op is Connective.TRUE:
        return then
    if condition.op is Connective.FALSE:
        return other
    joined = join_values(frame, "value", condition, then, other)
    return frame.unknown(node) if isinstance(joined, Given) and joined not in (then, other) else joined


def _or_else(frame: Frame, node: ast.BoolOp, last: ast.Call) -> HostVal:
    """`out or torch.empty(...)`: one of two tensors; other disjunctions are truth values."""
    made = evaluate(frame, last)
    if not isinstance(made, Tensor) or len(node.values) != 2:
        return conditions.truth_value(frame, node)
    first = evaluate(frame, node.values[0])
    if isinstance(first, Literal) and not first.value:
        return made
    condition = conditions.condition_of(frame, node.values[0])
    return join_values(frame, "value", condition, first, made)


def _comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> HostVal:
    """`[f(t) for t in (a, b)]` item by item; any other comprehension is a list of which nothing is known."""
    generator = node.generators[0]
    simple = isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1 and not generator.ifs
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and simple and isinstance(generator.target, ast.Name):
        values = expanded(frame, evaluate(frame, generator.iter))
        if values is not None and len(values) <= MAX_ITEMS:
            name = generator.target.id
            saved = frame.state.variables.get(name)
            items = []
            for value in values:
                frame.state.variables[name] = value
                items.append(evaluate(frame, node.elt))
            frame.state.variables.pop(name, None)
            if saved is not None:
                frame.state.variables[name] = saved
            return Seq(tuple(items), (frame.scope.text.span(node.elt),) * len(items))
    unknown = frame.unknown(node)
    if isinstance(unknown, Given):
        unknown.is_list = True
    return unknown


def _unary(frame: Frame, node: ast.UnaryOp) -> HostVal:
    if isinstance(node.op, ast.Not):
        return conditions.truth_value(frame, node)
    if isinstance(node.op, ast.USub):
        ceiling = _negated_floor(frame, node.operand)
        if ceiling is not None:
            return ceiling
    value = evaluate(frame, node.operand)
    if isinstance(node.op, ast.USub):
        if isinstance(value, Literal) and isinstance(value.value, float):
            return Literal(-value.value)
        number = as_int(value)
        if number is not None:
            return Int(-number)
    if isinstance(node.op, ast.UAdd):
        return value
    return frame.unknown(node)


def _negated_floor(frame: Frame, node: ast.expr) -> Int | None:
    """ceil(a / b), written `-(-a // b)`"""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return None
    if not isinstance(node.left, ast.UnaryOp) or not isinstance(node.left.op, ast.USub):
        return None
    a, b = as_int(evaluate(frame, node.left.operand)), as_int(evaluate(frame, node.right))
    return Int(arith.cdiv(a, b)) if a is not None and b is not None and b.constant != 0 else None


def _binary(frame: Frame, node: ast.BinOp) -> HostVal:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    if isinstance(left, Quotient) or isinstance(right, Quotient):
        return frame.unknown(node)
    if isinstance(node.op, ast.Add) and isinstance(left, Seq) and isinstance(right, Seq):
        return Seq(left.items + right.items, left.spans + right.spans)
    if isinstance(node.op, ast.Add) and isinstance(left, (Seq, SizesOf)) and isinstance(right, (Seq, SizesOf)):
        items = [expanded(frame, side) or (side,) for side in (left, right)]
        spans = [frame.scope.text.span(side) for side in (node.left, node.right)]
        return Seq(items[0] + items[1], (spans[0],) * len(items[0]) + (spans[1],) * len(items[1]))
    if isinstance(node.op, ast.Mult) and isinstance(left, Seq):
        times = as_int(right)
        count = times.constant if times is not None else None
        if count is not None and 0 <= count * len(left.items) <= 16:
            return Seq(left.items * count, left.spans * count)
        return frame.unknown(node)
    tensors = [value for value in (left, right) if isinstance(value, Tensor) or getattr(value, "is_tensor", False)]
    if tensors:
        return frame.unknown(node)
    a, b = as_int(left), as_int(right)
    if a is None or b is None:
        return frame.unknown(node)
    value = integer_operation(frame, node.op, a, b)
    return value if value is not None else frame.unknown(node)


def _subscript(frame: Frame, node: ast.Subscript) -> HostVal:
    base = evaluate(frame, node.value)
    if isinstance(base, Meta):
        name = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return Int(param(name)) if isinstance(name, str) else frame.unknown(node)
    if isinstance(base, (KernelRef, Callable, Choice)):
        return Bound(base, grid=node.slice)
    if isinstance(base, Mapping):
        return _from_mapping(frame, base, node)
    if isinstance(base, Pieces):
        number = as_int(evaluate(frame, node.slice)) if not isinstance(node.slice, ast.Slice) else None
        index = number.constant if number is not None else None
        return base.piece(index) if index is not None and index >= 0 else frame.unknown(node)
    if isinstance(base, SizesOf):
        return _of_sizes(frame, base, node)
    if isinstance(base, Seq):
        return _from_sequence(frame, base, node)
    named = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(base, Given) and not base.is_tensor and isinstance(named, str):
        return given(f"{base.key}[{named!r}]", f"{base.name}[{named!r}]")
    tensor = as_tensor(base) if seen_tensor(base) is not None or _tensor_index(node.slice) else None
    if tensor is None and isinstance(base, Given):
        return given(*_element_name(frame, base, node), init="computed")
    if tensor is None:
        return frame.unknown(node)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return indexed(frame, tensor, node, [_whole_number(frame, part) for part in parts])


def _whole_number(frame: Frame, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    value = evaluate(frame, node) if not isinstance(node, ast.Slice) else None
    return isinstance(value, Int) or (isinstance(value, Given) and value.is_int)


def _tensor_index(node: ast.expr) -> bool:
    """Whether an index is one only tensors take: several at once, with slices, `...` or None."""
    return isinstance(node, ast.Tuple) and any(
        isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value in (None, Ellipsis))
        for item in node.elts
    )


def _element_name(frame: Frame, base: Given, node: ast.Subscript) -> tuple[str, str]:
    inner = frame.scope.text.code(node.slice, 40)
    simple = isinstance(node.slice, ast.Constant)
    place = "" if simple else f"@{node.lineno}:{node.col_offset}"
    return f"{base.key}[{inner}]{place}", f"{base.name}[{inner}]"


def _from_mapping(frame: Frame, base: Mapping, node: ast.Subscript) -> HostVal:
    key = evaluate(frame, node.slice)
    if isinstance(key, Literal) and isinstance(key.value, str):
        return base.items.get(key.value) or frame.unknown(node)
    kernels = [value for value in base.items.values() if isinstance(value, (KernelRef, Choice, Callable))]
    if kernels and len(kernels) == len(base.items):
        return Choice(tuple(kernels[:8]))
    return frame.unknown(node)


def _of_sizes(frame: Frame, base: SizesOf, node: ast.Subscript) -> HostVal:
    if isinstance(node.slice, ast.Slice):
        start, stop = _slice_bounds(frame, node.slice)
        if start is None or (node.slice.upper is not None and stop is None) or node.slice.step is not None:
            return frame.unknown(node)
        return sliced(base, start, stop) or frame.unknown(node)
    number = as_int(evaluate(frame, node.slice))
    index = number.constant if number is not None else None
    size = entry_of(frame, base, index) if index is not None else None
    return Int(size) if size is not None else frame.unknown(node)


def _slice_bounds(frame: Frame, node: ast.Slice) -> tuple[int | None, int | None]:
    bounds: list[int | None] = []
    for bound, default in ((node.lower, 0), (node.upper, None)):
        if bound is None:
            bounds.append(default)
            continue
        number = as_int(evaluate(frame, bound))
        bounds.append(number.constant if number is not None else None)
    return bounds[0], bounds[1]


def _from_sequence(frame: Frame, base: Seq, node: ast.Subscript) -> HostVal:
    if isinstance(node.slice, ast.Slice):
        start, stop = _slice_bounds(frame, node.slice)
        if start is None or (node.slice.upper is not None and stop is None) or node.slice.step is not None:
            return frame.unknown(node)
        return Seq(base.items[start:stop], base.spans[start:stop])
    number = as_int(evaluate(frame, node.slice))
    index = number.constant if number is not None else None
    if index is not None and -len(base.items) <= index < len(base.items):
        before = base.items[:index] if index >= 0 else base.items[index:]
        if not any(isinstance(item, SizesOf) for item in before):
            return base.items[index]
    return frame.unknown(node)


def _dictionary(frame: Frame, node: ast.Dict) -> Mapping:
    items: dict[str, HostVal] = {}
    complete = True
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(frame, value_node)
        if key is None:
            if isinstance(value, Mapping):
                items.update(value.items)
                complete = complete and value.complete
            else:
                complete = False
        elif isinstance(key, ast.Constant):
            items[str(key.value)] = value
        else:
            items[frame.scope.text.code(key)] = value
            complete = False
    return Mapping(items, complete)
