"""Tensor attributes, methods and constructors of PyTorch, as far as they decide shape, layout, type and storage."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kernlint.ir import arith
from kernlint.ir.expr import Expr, const
from kernlint.ir.types import TYPES, ElementType
from kernlint.lift.host.dtypes import CASTS
from kernlint.lift.host.shape import Shape
from kernlint.lift.host.state import Frame
from kernlint.lift.host.value import (
    Dtype,
    Given,
    HostVal,
    Int,
    Literal,
    Quotient,
    Seq,
    SizesOf,
    Tensor,
    as_int,
    as_tensor,
)
from kernlint.lift.host.views import (
    SPLITS,
    STRIDED,
    VIEWS,
    explicit,
    pieces,
    shape_from,
    sizes_product,
    strided,
    viewed,
)

# torch constructors: name -> how the memory is initialised.
FACTORIES = {
    "empty": "empty",
    "empty_strided": "empty",
    "zeros": "zeros",
    "ones": "full",
    "full": "full",
    "rand": "computed",
    "randn": "computed",
    "randint": "computed",
    "tensor": "computed",
    "arange": "computed",
}
LIKE = {name + "_like": init for name, init in FACTORIES.items() if name not in ("tensor", "arange", "empty_strided")}
NEW = {"new_" + name: init for name, init in FACTORIES.items() if name in ("empty", "zeros", "ones", "full", "tensor")}

_SAME = frozenset({"detach", "requires_grad_", "cuda", "cpu", "pin_memory", "data_ptr"})
_FILLING = {"zero_": ("zeros", 0.0), "fill_": ("full", None)}
_SIZED_AS_INPUT = frozenset({"clone", "abs", "exp", "sigmoid", "relu", "neg", "square", "sqrt", "rsqrt", "clamp"})


def attribute_of_tensor(frame: Frame, base: HostVal, node: ast.Attribute) -> HostVal | None:
    """`x.shape`, `x.dtype`, `x.T` and the like; None when it is not one of them."""
    name = node.attr
    if name == "shape":
        tensor = as_tensor(base)
        return SizesOf(tensor.shape) if tensor is not None else None
    if name == "ndim":
        tensor = as_tensor(base)
        rank = frame.state.knowledge.rank(tensor.shape) if tensor is not None else None
        return Int(const(rank)) if rank is not None else None
    if name == "dtype":
        known = as_tensor(base)
        return Dtype(frame.state.knowledge.dtype(known.dtype)) if known is not None else None
    if name in ("T", "mT", "H", "mH"):
        tensor = as_tensor(base)
        return strided(frame, tensor, "t", [], "") if tensor is not None else None
    if name == "data":
        return base if as_tensor(base) is not None else None
    if name == "element_size" or not isinstance(base, (Tensor, Given)):
        return None
    return None


def allocate(
    frame: Frame, node: ast.Call, shape: Shape, init: str, dtype: ElementType | str | None, fill: float | None
) -> Tensor:
    """A fresh, contiguous tensor."""
    return Tensor("", shape, dtype, contiguous=True, init=init, fill=fill, span=frame.scope.text.span(node))


def like(
    frame: Frame, node: ast.Call, source: Tensor, init: str, dtype: ElementType | str | None, fill: float | None
) -> Tensor:
    """`torch.empty_like(x)`: contiguous if x is.  It keeps the stride order of a transposed x, but not of a slice."""
    return Tensor(
        "",
        source.shape,
        dtype or source.dtype,
        contiguous=True if source.contiguous else None,
        init=init,
        fill=fill,
        span=frame.scope.text.span(node),
        layout=source.layout if source.contiguous else "",
    )


def method_of_tensor(
    frame: Frame, node: ast.Call, base: HostVal, method: str, args: Sequence[HostVal], keywords: dict[str, HostVal]
) -> HostVal | None:
    """The result of `x.method(...)`; None when the method is not known to be a tensor's."""
    knowledge = frame.state.knowledge
    if method in ("numel", "nelement"):
        if isinstance(base, SizesOf):
            size = sizes_product(frame, base)
            return Int(size) if size is not None else None
        tensor = as_tensor(base)
        return Int(knowledge.numel(tensor.shape)) if tensor is not None else None
    if method in ("size", "stride", "dim", "ndimension", "element_size"):
        tensor = as_tensor(base)
        return _measured(frame, tensor, method, [*args, *keywords.values()]) if tensor is not None else None
    if method in NEW and (tensor := as_tensor(base)) is not None:
        return constructed(frame, node, method.removeprefix("new_"), args, keywords, tensor)
    if method == "contiguous":
        tensor = as_tensor(base)
        if tensor is None or "memory_format" in keywords:
            return None
        if tensor.contiguous:
            return tensor
        copied = tensor.contiguous is False
        return tensor.changed(contiguous=True, layout="", storage="" if copied else tensor.storage)
    if method in ("to", "type", *CASTS):
        return _cast(frame, base, method, args, keywords)
    if method in SPLITS and (tensor := as_tensor(base)) is not None:
        return pieces(frame, tensor, method, args, keywords.get("dim"), f"@{node.lineno}:{node.col_offset}")
    if method in VIEWS | STRIDED | _SAME | _SIZED_AS_INPUT or method in _FILLING:
        tensor = as_tensor(base)
        if tensor is None:
            return None
        if method in VIEWS:
            return viewed(frame, node, tensor, method, args)
        if method in STRIDED:
            return strided(frame, tensor, method, [*args, *keywords.values()], f"@{node.lineno}:{node.col_offset}")
        if method in _SAME:
            return tensor
        if method in _SIZED_AS_INPUT:
            contiguous = tensor.copy_contiguous if tensor.contiguous is False else tensor.contiguous
            return tensor.changed(init="computed", storage="", layout="", contiguous=contiguous)
        init, fill = _FILLING[method]
        changed = replace(tensor, init=init, fill=fill)
        frame.state.replace_tensor(tensor, changed)
        return changed
    return None


def _measured(frame: Frame, tensor: Tensor, method: str, args: Sequence[HostVal]) -> HostVal | None:
    knowledge = frame.state.knowledge
    if method in ("dim", "ndimension"):
        rank = knowledge.rank(tensor.shape)
        return Int(const(rank)) if rank is not None else None
    if method == "element_size":
        dtype = knowledge.dtype(tensor.dtype)
        return Int(const(dtype.bytes)) if isinstance(dtype, ElementType) else None
    if not args:
        strides = method == "stride"
        return SizesOf(
            tensor.shape, strides=strides, layout=tensor.layout or tensor.name or "tensor", contiguous=tensor.contiguous
        )
    number = as_int(args[0])
    index = number.constant if number is not None else None
    if index is None:
        return None
    if method == "size":
        return Int(knowledge.dim(tensor.shape, index))
    return Int(knowledge.stride(tensor.shape, index, tensor.layout or tensor.name or "tensor", tensor.contiguous))


def _cast(
    frame: Frame, base: HostVal, method: str, args: Sequence[HostVal], keywords: dict[str, HostVal]
) -> HostVal | None:
    if isinstance(base, Given) and base.is_int:
        return None
    tensor = as_tensor(base)
    if tensor is None:
        return None
    dtype: ElementType | str | None = CASTS.get(method)
    if method in ("to", "type"):
        named = [value for value in (*args, keywords.get("dtype")) if isinstance(value, Dtype)]
        if not named and _may_be_dtype(args, keywords):
            kept = _contiguous_as(frame, tensor, None)
            return tensor.changed(dtype=None, init="computed", layout="", storage="", contiguous=kept)
        if not named:
            return tensor if method == "to" and (args or keywords) else None
        dtype = named[0].dtype
    known = frame.state.knowledge.dtype(dtype)
    if known is not None and known == frame.state.knowledge.dtype(tensor.dtype):
        return tensor
    # `to` keeps the order of the strides; when the type does not change it returns the tensor itself.
    return tensor.changed(
        dtype=dtype, init="computed", layout="", storage="", contiguous=_contiguous_as(frame, tensor, known)
    )


def _contiguous_as(frame: Frame, tensor: Tensor, dtype: ElementType | str | None) -> bool | None:
    """Whether a tensor converted to this type is contiguous: a copy has no gaps and repeats nothing."""
    if tensor.contiguous is not False or tensor.copy_contiguous is False:
        return tensor.contiguous
    old = frame.state.knowledge.dtype(tensor.dtype)
    copied = isinstance(dtype, ElementType) and isinstance(old, ElementType) and dtype != old
    return tensor.copy_contiguous if copied else None


def _may_be_dtype(args: Sequence[HostVal], keywords: dict[str, HostVal]) -> bool:
    """Whether an argument of `to` that is not understood may be an element type rather than a device."""
    if "dtype" in keywords:
        return True
    return any(isinstance(value, Given) and "device" not in value.key for value in args)


def constructed(
    frame: Frame,
    node: ast.Call,
    name: str,
    args: Sequence[HostVal],
    keywords: dict[str, HostVal],
    like: Tensor | None = None,
) -> Tensor:
    """`torch.zeros(...)`, or `like.new_zeros(...)`."""
    dtype: ElementType | str | None = _dtype_argument(args, keywords)
    if dtype is None and "dtype" not in keywords:
        if like is not None:
            dtype = like.dtype
        elif name in ("empty", "zeros", "ones", "rand", "randn"):
            dtype = TYPES["float32"]
    size_args = [arg for arg in args if not isinstance(arg, Dtype)]
    fill = 0.0 if name == "zeros" else 1.0 if name == "ones" else None
    if name == "full" and len(size_args) > 1:
        fill = _number(size_args[1])
        size_args = size_args[:1]
    elif name == "full":
        fill = _number(keywords.get("fill_value"))
    shape: Shape | None = None
    if name == "tensor":
        shape = None
        dtype = dtype or None
    elif name == "arange":
        shape = explicit(frame, (size,)) if len(size_args) == 1 and (size := as_int(size_args[0])) is not None else None
        dtype = dtype or (TYPES["int64"] if shape is not None else None)
    elif name != "randint":
        given_size = keywords.get("size")
        value = (
            given_size if given_size is not None else (size_args[0] if len(size_args) == 1 else Seq(tuple(size_args)))
        )
        shape = shape_from(frame, node, value)
    if shape is None:
        key, shown = frame.fresh(f"torch.{name}()")
        shape = Shape(key, shown)
    tensor = allocate(frame, node, shape, FACTORIES[name], dtype, fill)
    return replace(tensor, contiguous=None) if name == "empty_strided" else tensor


def constructed_like(
    frame: Frame, node: ast.Call, name: str, args: Sequence[HostVal], keywords: dict[str, HostVal]
) -> Tensor | None:
    source = as_tensor(args[0]) if args else None
    if source is None:
        return None
    fill = {"zeros_like": 0.0, "ones_like": 1.0}.get(name)
    if name == "full_like":
        fill = _number(args[1] if len(args) > 1 else keywords.get("fill_value"))
    dtype = _dtype_argument(args[1:], keywords)
    made = like(frame, node, source, LIKE[name], dtype, fill)
    if "dtype" in keywords and dtype is None:
        made = replace(made, dtype=None)
    return replace(made, contiguous=True, layout="") if "memory_format" in keywords else made


def _dtype_argument(args: Sequence[HostVal], keywords: dict[str, HostVal]) -> ElementType | str | None:
    for value in (keywords.get("dtype"), *args):
        if isinstance(value, Dtype):
            return value.dtype
    return None


def _number(value: HostVal | None) -> float | None:
    if isinstance(value, Literal) and isinstance(value.value, (bool, float)):
        return float(value.value)
    expr = as_int(value) if isinstance(value, Int) else None
    return float(expr.constant) if expr is not None and expr.constant is not None else None


def ceiling(frame: Frame, value: HostVal) -> Expr | None:
    """`math.ceil(a / b)`"""
    if isinstance(value, Quotient):
        return arith.cdiv(value.top, value.bottom) if value.bottom.constant != 0 else None
    return as_int(value)


def floor(frame: Frame, value: HostVal) -> Expr | None:
    """`int(a / b)`, `math.floor(a / b)`"""
    if isinstance(value, Quotient):
        return frame.state.knowledge.divide(value.top, value.bottom) if value.bottom.constant != 0 else None
    return as_int(value)
