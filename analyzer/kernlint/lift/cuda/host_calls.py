"""Calls in host code: launches, constructors and casts, checks that establish facts, tensor methods, helpers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import TRUE, Connective
from kernlint.ir.expr import ONE, ZERO
from kernlint.ir.host import GridDim, TensorFacts
from kernlint.lift.cuda.host_dispatch import dispatched_types
from kernlint.lift.cuda.host_eval import as_dims, cast, evaluate
from kernlint.lift.cuda.host_functions import clamped, known_function
from kernlint.lift.cuda.host_launch import API_LAUNCHES, api_launch, chevron_launch, set_attribute
from kernlint.lift.cuda.host_memory import POINTER_CASTS, POINTER_METHODS, memory_call, memory_method
from kernlint.lift.cuda.host_types import element_type
from kernlint.lift.cuda.host_values import UNKNOWN, Known, State, fresh, host_part
from kernlint.lift.cuda.parser import first_named

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.ir.types import ElementType
    from kernlint.lift.cuda.host_walk import Walker

_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "narrow_cast", "bit_cast", "dynamic_cast"})
_CHECK = re.compile(
    r"(?:^|_)(?:I?D?CHECK|ASSERT|REQUIRE|ENFORCE|EXPECT|ASSUME|VERIFY|KERNEL_ASSERT)(?:_([A-Z]+))?$", re.I
)
_CHECK_CAMEL = re.compile(r"(?:^|[a-z])(?:Assert|Require|Ensure|Check)(?:That)?$")
_PAIR_CHECKS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_ATTRIBUTE_CALLS = frozenset({"cudaFuncSetAttribute", "cudaFuncSetCacheConfig", "hipFuncSetAttribute"})
_SAME_TENSOR = frozenset({"contiguous", "to", "detach", "clone", "cuda", "value", "type", "alias"})
_SIZES = frozenset(
    [
        "size",
        "sizes",
        "numel",
        "stride",
        "strides",
        "dim",
        "shape",
        "nbytes",
        "rows",
        "cols",
        "length",
        "ndim",
        "element_size",
        "itemsize",
        "ndimension",
        "value",
        "get",
        "item",
        "count",
        "capacity",
        "get_device",
        "device",
        "scalar_type",
        "dtype",
    ]
)
_ALLOCATIONS = {
    "empty": "empty",
    "zeros": "zeros",
    "ones": "full",
    "full": "full",
    "rand": "computed",
    "randn": "computed",
}
_LAUNCH_MARKS = ("<<<", "cudaLaunch", "cuLaunchKernel")


def call(w: Walker, node: Node, state: State) -> Known:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return UNKNOWN
    if any(child.type == "kernel_call_syntax" for child in node.children):
        return chevron_launch(w, node, state)
    if function.type == "field_expression":
        return _method(w, node, function, arguments, state)
    name, template = callee(w, function)
    if template is not None and name in _CASTS:
        value = evaluate(w, first_named(arguments), state) if arguments is not None else UNKNOWN
        return cast(value, " ".join(w.text(template).strip("<> \n\t").split()))
    if name in API_LAUNCHES:
        return api_launch(w, node, name, argument_nodes(arguments), state)
    if name in _ATTRIBUTE_CALLS:
        return set_attribute(w, argument_nodes(arguments), state)
    if function.type in ("primitive_type", "sized_type_specifier") or element_type(w.text(function)) is not None:
        values = [evaluate(w, child, state) for child in argument_nodes(arguments)]
        return cast(values[0], w.text(function)) if len(values) == 1 else UNKNOWN
    if name == "dim3":
        values = [evaluate(w, child, state) for child in argument_nodes(arguments)]
        return dim3(w, node, values)
    if _is_check(name) and not w.program.functions.get(name):
        return _check(w, name, argument_nodes(arguments), state)
    expanded = _macro_call(w, node, name, arguments, state)
    if expanded is not None:
        return expanded
    return _plain_call(w, node, name, function, argument_nodes(arguments), state)


def argument_nodes(arguments: Node | None) -> list[Node]:
    if arguments is None:
        return []
    return [child for child in arguments.named_children if child.type != "comment"]


def callee(w: Walker, function: Node) -> tuple[str, Node | None]:
    """The last name component of what is called, and its template argument list."""
    template: Node | None = None
    current: Node | None = function
    for _ in range(20):
        if current is None:
            return "", None
        if current.type == "qualified_identifier":
            current = current.child_by_field_name("name")
        elif current.type in ("template_function", "template_method"):
            template = current.child_by_field_name("arguments")
            current = current.child_by_field_name("name")
        elif current.type == "dependent_name":
            current = first_named(current)
        else:
            return w.text(current), template
    return "", None


def dim3(w: Walker, node: Node, values: list[Known]) -> Known:
    """`dim3(x, y, z)`; a single argument may itself be a dim3."""
    span = w.unit.span(node)
    if len(values) == 1 and values[0].dims is not None:
        return values[0]
    if len(values) == 1 and values[0].items is not None:
        return as_dims(values[0])
    dims = tuple(GridDim(value.expr if not value.floating else None, value.span or span) for value in values[:3])
    return Known(dims=dims or (GridDim(ONE, span),))


def _is_check(name: str) -> bool:
    return (
        _CHECK.search(name) is not None or _CHECK_CAMEL.search(name) is not None or name in ("assert", "static_assert")
    )


def _check(w: Walker, name: str, arguments: list[Node], state: State) -> Known:
    """A check that does not return when its condition fails: a fact from here on."""
    values = [evaluate(w, child, state) for child in arguments]
    match = _CHECK.search(name)
    relation = _PAIR_CHECKS.get((match.group(1) or "").upper()) if match is not None else None
    if relation is not None and len(values) >= 2:
        from kernlint.lift.cuda.host_eval import binary

        condition = binary(relation, values[0], values[1]).cond
    else:
        condition = values[0].cond if values else None
    if condition is not None and condition.op is not Connective.FLAG:
        w.add_fact(state, condition)
    for argument in arguments[:1]:
        _note_contiguous(w, argument, state)
    return UNKNOWN


def _note_contiguous(w: Walker, node: Node, state: State) -> None:
    """A passed check of `x.is_contiguous()`, alone or in a conjunction, makes the tensor contiguous from here on."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    if node.type == "binary_expression" and w.text(node.children[1]) in ("&&", "and"):
        for side in node.named_children:
            _note_contiguous(w, side, state)
        return
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    target = function.child_by_field_name("argument") if function is not None else None
    name = w.text(target) if target is not None else ""
    known = state.variables.get(name)
    if function is None or known is None or known.tensor is None or not w.text(function).endswith("is_contiguous"):
        return
    old = known.tensor
    tensor = TensorFacts(old.name, old.shape, old.strides, old.dtype, True, old.init, old.fill, old.span)
    state.variables[name] = replace(known, tensor=tensor)


def _macro_call(w: Walker, node: Node, name: str, arguments: Node | None, state: State) -> Known | None:
    """A function-like macro of the file: walked as expanded, unless its arguments themselves hold the launches."""
    macro = w.program.macros.get(name)
    if macro is None or macro.parameters is None or w.macro_depth > 6:
        return None
    texts = w.argument_texts(arguments)
    if any(mark in text for text in texts for mark in _LAUNCH_MARKS):
        return None
    expansion = w.program.expand(name, texts, w.unit.span(node))
    if expansion is None:
        return None
    w.macro_depth += 1
    try:
        with w.inside(expansion.unit):
            if expansion.is_expression:
                return evaluate(w, expansion.nodes[0], state)
            w.block(expansion.nodes, state, scoped=False)
    finally:
        w.macro_depth -= 1
    return UNKNOWN


def _plain_call(w: Walker, node: Node, name: str, function: Node, nodes: list[Node], state: State) -> Known:
    local = state.variables.get(name)
    if local is not None and local.function is not None:
        values = [evaluate(w, child, state) for child in nodes]
        return w.call_lambda(local.function, values, node, state)
    outer = state.types
    if "DISPATCH" in name:
        chosen = dispatched_types(name, ((child.type, w.text(child)) for child in nodes))
        state.types = {**outer, **chosen} if chosen else outer
    try:
        values = _arguments(w, nodes, node, state)
    finally:
        state.types = outer
    if _ALLOCATIONS.get(name.removesuffix("_like")) is not None:
        return _allocation(w, name, values, node)
    if name in POINTER_CASTS and len(values) == 1:
        return values[0]
    if name == "clamp" and len(values) == 3:
        low, middle, high = values[1].expr, values[0].expr, values[2].expr
        if low is not None and middle is not None and high is not None:
            return Known(expr=clamped(middle, low, high))
    inlined = w.inline(name, values, node, state)
    if memory_call(w, name, values, node, state):
        return UNKNOWN
    if inlined is not None:
        return inlined
    listed = values[0].items if len(values) == 1 and values[0].items is not None else None
    known = known_function(name, list(listed) if listed is not None else values)
    if known is not None:
        return known
    _forget_outputs(w, values, node, state)
    if function.type in ("identifier", "qualified_identifier", "template_function") and name[:1].isupper():
        return Known(items=tuple(values)) if name.endswith(("Dim", "dim3", "Dim3")) else UNKNOWN
    return UNKNOWN


def _arguments(w: Walker, nodes: list[Node], node: Node, state: State) -> list[Known]:
    """The values of a call's arguments; lambdas and blocks among them are run."""
    values = []
    for child in nodes:
        if child.type == "compound_statement":  # a block handed to a macro
            w.branch_of_unknown(child, state)
            continue
        value = evaluate(w, child, state)
        if value.function is not None:
            w.enter_lambda(value.function, node, state)
        values.append(value)
    return values


def _forget_outputs(w: Walker, values: list[Known], node: Node, state: State) -> None:
    """Variables whose address an unknown function gets may have any value afterwards."""
    for value in values:
        if value.address_of and value.address_of in state.variables:
            state.set(value.address_of, fresh(value.address_of, w.unit.span(node).start))


def _allocation(w: Walker, name: str, values: list[Known], node: Node) -> Known:
    """`torch::empty({a, b}, ...)` and its siblings: a contiguous tensor of known shape."""
    init = _ALLOCATIONS.get(name) or _ALLOCATIONS[name.removesuffix("_like")]
    shape = None
    contiguous: bool | None = True
    if name.endswith("_like"):
        source = values[0].tensor if values else None
        shape, contiguous = (source.shape, source.contiguous) if source is not None else (None, None)
    elif values and values[0].items is not None:
        shape = tuple(item.expr for item in values[0].items)
    span = w.unit.span(node)
    if init == "full" and len(values) > 1 and values[1].expr == ZERO:
        init = "zeros"
    tensor = TensorFacts(f"@{span.start}", shape=shape, contiguous=contiguous, init=init, span=span)
    return Known(tensor=tensor, root=f"{name}@{span.start}")


def _method(w: Walker, node: Node, function: Node, arguments: Node | None, state: State) -> Known:
    target = function.child_by_field_name("argument")
    member = function.child_by_field_name("field")
    if target is None or member is None:
        return UNKNOWN
    base = evaluate(w, target, state)
    name, template = callee(w, member)
    values = []
    for child in argument_nodes(arguments):
        value = evaluate(w, child, state)
        if value.function is not None:
            w.enter_lambda(value.function, node, state)
        values.append(value)
    tensor = base.tensor
    if name in POINTER_METHODS and tensor is not None:
        dtype = _pointed_type(w, template) or tensor.dtype
        return Known(tensor=replace_tensor(tensor, dtype), root=base.root)
    if name in _SAME_TENSOR and tensor is not None:
        contiguous = True if name == "contiguous" else tensor.contiguous
        kept = TensorFacts(tensor.name, tensor.shape, None, tensor.dtype, contiguous, tensor.init, span=tensor.span)
        return Known(tensor=kept, root=base.root)
    if tensor is not None and name.startswith("new_") and name[4:] in _ALLOCATIONS:
        return _allocation(w, name[4:], values, node)
    memory_method(name, base, values, state)
    if name == "is_contiguous" and tensor is not None:
        return Known(cond=TRUE) if tensor.contiguous else UNKNOWN
    if name in ("size", "numel") and tensor is not None and tensor.shape is not None:
        known = _known_size(tensor, name, values)
        if known is not None:
            return known
    if not base.root:
        return UNKNOWN
    constants = [value.expr.constant if value.expr is not None else None for value in values]
    if name in _SIZES and all(constant is not None for constant in constants):
        arrow = "->" if "->" in w.text(function)[len(w.text(target)) :][:3] else "."
        text = f"{base.root}{arrow}{name}({', '.join(str(constant) for constant in constants)})"
        return Known(expr=host_part(text), root=text)
    _forget_outputs(w, values, node, state)
    return UNKNOWN


def _pointed_type(w: Walker, template: Node | None) -> ElementType | None:
    """The first type of `data_ptr<float>()`, `packed_accessor32<float, 2>()`."""
    return element_type(w.text(template).strip("<> ").partition(",")[0].strip()) if template is not None else None


def replace_tensor(tensor: TensorFacts, dtype: object) -> TensorFacts:
    from kernlint.ir.types import ElementType

    kind = dtype if isinstance(dtype, ElementType) else tensor.dtype
    return TensorFacts(
        tensor.name, tensor.shape, tensor.strides, kind, tensor.contiguous, tensor.init, tensor.fill, tensor.span
    )


def _known_size(tensor: TensorFacts, name: str, values: list[Known]) -> Known | None:
    shape = tensor.shape or ()
    if any(extent is None for extent in shape) or not shape:
        return None
    extents = [extent for extent in shape if extent is not None]
    if name == "numel" and not values:
        total = ONE
        for extent in extents:
            total = total * extent
        return Known(expr=total)
    index = values[0].expr.constant if len(values) == 1 and values[0].expr is not None else None
    if name == "size" and index is not None and -len(extents) <= index < len(extents):
        return Known(expr=extents[index])
    return None
