"""Turn evaluated values into the IR's host values, with sizes in canonical form."""

from __future__ import annotations

import ast

from kernlint.ir import arith
from kernlint.ir.expr import ONE, ZERO, Expr
from kernlint.ir.host import HostValue, TensorFacts
from kernlint.ir.types import ElementType
from kernlint.ir.value import Value
from kernlint.lift.host.state import Frame
from kernlint.lift.host.value import (
    Dtype,
    Given,
    HostVal,
    Int,
    Literal,
    Seq,
    SizesOf,
    Tensor,
    Truth,
)


def host_value(frame: Frame, value: HostVal, node: ast.expr | None) -> HostValue:
    """The value of an argument written as `node`."""
    made = HostValue()
    if node is not None:
        made.span = frame.scope.text.span(node)
        made.text = frame.scope.text.code_at(made.span)
    knowledge = frame.state.knowledge
    if isinstance(value, Int):
        made.expr = knowledge.canonical(value.expr)
    elif isinstance(value, Tensor):
        made.tensor = tensor_facts(frame, value, node)
    elif isinstance(value, Given):
        if value.is_tensor:
            made.tensor = tensor_facts(frame, value.tensor, node)
        else:
            made.expr = knowledge.canonical(value.integer)
            made.untyped = tensor_facts(frame, value.tensor, node) if not value.is_int else None
    elif isinstance(value, Literal):
        made.literal, made.is_literal = value.value, True
    elif isinstance(value, Truth):
        made.cond = knowledge.canonical_condition(value.condition)
    elif isinstance(value, Seq) and not any(isinstance(item, SizesOf) for item in value.items):
        made.items = tuple(host_value(frame, item, None) for item in value.items[:32])
    elif isinstance(value, Dtype):
        dtype = knowledge.dtype(value.dtype)
        made.dtype = dtype if isinstance(dtype, ElementType) else None
    return made


def tensor_facts(frame: Frame, tensor: Tensor, node: ast.expr | None = None) -> TensorFacts:
    """What is known about a tensor at this point."""
    knowledge = frame.state.knowledge
    dims = knowledge.dims(tensor.shape)
    dtype = knowledge.dtype(tensor.dtype)
    layout = tensor.layout or tensor.name or "tensor"
    strides: tuple[Expr, ...] | None = None
    if dims is not None:
        strides = tuple(
            knowledge.canonical(knowledge.stride(tensor.shape, index, layout, tensor.contiguous))
            for index in range(len(dims))
        )
    name = tensor.name
    if isinstance(node, ast.Name) and tensor.init == "given" and not name.startswith(node.id):
        name = node.id
    if not name and node is not None:
        name = frame.scope.text.code(node)
    return TensorFacts(
        name=name,
        shape=dims,
        strides=strides,
        dtype=dtype if isinstance(dtype, ElementType) else None,
        contiguous=tensor.contiguous,
        init=tensor.init,
        fill=Value("const", attrs={"value": tensor.fill}) if tensor.fill is not None else None,
        span=tensor.span,
        alias_of=tensor.storage if tensor.storage != name else "",
        numel=knowledge.canonical(knowledge.numel(tensor.shape)),
    )


def truth_as_int(value: HostValue) -> Expr | None:
    """1 or 0 for a truth value passed to a kernel."""
    if value.is_literal and isinstance(value.literal, bool):
        return ONE if value.literal else ZERO
    if value.cond is not None:
        return arith.select(value.cond, ONE, ZERO)
    return None
