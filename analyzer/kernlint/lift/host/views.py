"""Views of tensors: slices, transposes, reshapes, and the shapes and layouts they have."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kernlint.ir.expr import ONE, Expr
from kernlint.lift.host.shape import Shape, product
from kernlint.lift.host.state import Frame
from kernlint.lift.host.value import Dtype, HostVal, Seq, SizesOf, Tensor, as_int, as_tensor

VIEWS = frozenset({"view", "reshape", "flatten", "unflatten", "view_as", "reshape_as", "unsqueeze", "squeeze"})
STRIDED = frozenset(
    {"t", "transpose", "permute", "expand", "expand_as", "swapaxes", "swapdims", "movedim", "moveaxis"}
    | {"narrow", "select", "as_strided", "diagonal", "unfold", "adjoint"}
)


def explicit(frame: Frame, sizes: Sequence[Expr], key: str = "") -> Shape:
    del frame
    return Shape(key or "explicit", key or "tensor", tuple(sizes))


def shape_from(frame: Frame, node: ast.expr, value: HostVal | None) -> Shape | None:
    """The shape a size argument describes: an integer, a tuple with splices, `x.shape`, `x.shape[:-1]`."""
    if isinstance(value, SizesOf):
        if value.start == 0 and value.stop is None:
            return value.shape
        return _partial_shape(frame, value)
    if isinstance(value, Seq):
        return _shape_of_items(frame, node, value.items)
    size = as_int(value)
    return explicit(frame, (size,)) if size is not None else None


def _partial_shape(frame: Frame, sizes: SizesOf) -> Shape:
    knowledge = frame.state.knowledge
    dims = knowledge.dims(sizes.shape)
    if dims is not None:
        return explicit(frame, dims[sizes.start : sizes.stop])
    name = f"{sizes.shape.name}.shape[{sizes.start or ''}:{'' if sizes.stop is None else sizes.stop}]"
    return Shape(f"{sizes.shape.key}{name[len(sizes.shape.name) :]}", name, size=sizes_product(frame, sizes))


def sizes_product(frame: Frame, sizes: SizesOf) -> Expr | None:
    """`math.prod(x.shape[a:b])`"""
    knowledge = frame.state.knowledge
    dims = knowledge.dims(sizes.shape)
    if dims is not None:
        return product(dims[sizes.start : sizes.stop])
    if sizes.start == 0 and sizes.stop is None:
        return knowledge.numel(sizes.shape)
    if sizes.start == 0 and sizes.stop == -1:
        return knowledge.rest(sizes.shape, -1)
    if sizes.start == 1 and sizes.stop is None:
        return knowledge.rest(sizes.shape, 0)
    return None


def _shape_of_items(frame: Frame, node: ast.expr, items: Sequence[HostVal]) -> Shape | None:
    sizes: list[Expr] = []
    total: Expr | None = ONE
    whole = True
    for item in items:
        if isinstance(item, SizesOf):
            part = sizes_product(frame, item)
            total = total * part if total is not None and part is not None else None
            whole = False
            continue
        size = as_int(item)
        if size is None:
            return None
        sizes.append(size)
        total = total * size if total is not None else None
    if whole:
        return explicit(frame, sizes)
    text = frame.scope.text.code(node, 40)
    return Shape(f"{frame.prefix}({text})@{node.lineno}:{node.col_offset}", f"({text})", size=total)


def indexed(frame: Frame, tensor: Tensor, node: ast.Subscript) -> Tensor:
    """`x[i]`, `x[a:b]`, `x[..., :k]`, `x[:, None]`: a view when the index is basic, else a computed copy."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    knowledge = frame.state.knowledge
    text = frame.scope.text.code(node.slice, 30)
    suffix = f"[{text}]"
    place = "" if all(isinstance(part, ast.Constant) for part in parts) else f"@{node.lineno}:{node.col_offset}"
    shape = Shape(f"{tensor.shape.key}{suffix}{place}", f"{tensor.shape.name}{suffix}")
    contiguous: bool | None = None
    if len(parts) == 1 and isinstance(parts[0], ast.Constant) and isinstance(parts[0].value, int):
        dims = knowledge.dims(tensor.shape)
        if dims:
            shape = Shape(shape.key, shape.name, dims[1:])
        else:
            shape = replace(shape, size=knowledge.rest(tensor.shape, 0))
        contiguous = True if tensor.contiguous else None
    elif all(isinstance(part, (ast.Slice, ast.Constant)) for part in parts):
        whole = all(
            (isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None)
            or (isinstance(part, ast.Constant) and part.value in (None, Ellipsis))
            for part in parts
        )
        if whole:
            contiguous = tensor.contiguous
        elif len(parts) == 1 and isinstance(parts[0], ast.Slice) and parts[0].step is None:
            contiguous = tensor.contiguous  # rows a:b of a contiguous tensor
        else:
            contiguous = False
    init = tensor.init
    return tensor.changed(shape=shape, contiguous=contiguous, layout="", init=init)


def strided(frame: Frame, tensor: Tensor, method: str, args: Sequence[HostVal]) -> Tensor:
    """A view with permuted or repeated dimensions.  It is not contiguous unless the sizes happen to be 1."""
    dims = frame.state.knowledge.dims(tensor.shape)
    shape = Shape(f"{tensor.shape.key}.{method}", f"{tensor.shape.name}.{method}")
    if dims is not None:
        order = list(range(len(dims)))
        places = [number.constant for arg in args if (number := as_int(arg)) is not None]
        axes = [place for place in places if place is not None and -len(dims) <= place < len(dims)]
        if method == "t" and len(dims) == 2:
            order.reverse()
            shape = explicit(frame, [dims[index] for index in order])
        elif method in ("transpose", "swapaxes", "swapdims") and len(axes) == 2:
            i, j = axes
            order[i], order[j] = order[j], order[i]
            shape = explicit(frame, [dims[index] for index in order])
        elif method == "permute" and len(axes) == len(dims):
            shape = explicit(frame, [dims[index] for index in axes])
    return tensor.changed(shape=shape, contiguous=False, layout="")


def viewed(frame: Frame, node: ast.Call, tensor: Tensor, method: str, args: Sequence[HostVal]) -> Tensor:
    knowledge = frame.state.knowledge
    shape: Shape | None = None
    if method in ("view_as", "reshape_as") and args:
        other = as_tensor(args[0])
        shape = other.shape if other is not None else None
    elif method in ("view", "reshape") and args:
        items = args[0].items if len(args) == 1 and isinstance(args[0], Seq) else tuple(args)
        if len(args) == 1 and isinstance(args[0], Dtype):
            return tensor.changed(dtype=args[0].dtype, shape=Shape(f"{tensor.shape.key}.view", tensor.shape.name))
        if len(args) == 1 and isinstance(args[0], SizesOf):
            shape = shape_from(frame, node, args[0])
        else:
            shape = _shape_with_gap(frame, node, tensor, items)
    elif method == "flatten" and not args:
        shape = explicit(frame, (knowledge.numel(tensor.shape),))
    elif method == "unsqueeze" and args:
        dims, place = knowledge.dims(tensor.shape), as_int(args[0])
        if dims is not None and place is not None and place.constant is not None:
            at = place.constant if place.constant >= 0 else place.constant + len(dims) + 1
            shape = explicit(frame, (*dims[:at], ONE, *dims[at:]))
    if shape is None:
        shape = Shape(
            f"{tensor.shape.key}.{method}@{node.lineno}:{node.col_offset}",
            f"{tensor.shape.name}.{method}()",
            size=knowledge.numel(tensor.shape),
        )
    # A reshape of a strided tensor copies it to a contiguous one, unless a view will do: unknown.
    contiguous = True if tensor.contiguous else None
    return tensor.changed(shape=shape, contiguous=contiguous, layout="")


def _shape_with_gap(frame: Frame, node: ast.Call, tensor: Tensor, items: Sequence[HostVal]) -> Shape | None:
    """The sizes of `x.view(-1, n)`: the -1 is what is left of the element count."""
    knowledge = frame.state.knowledge
    sizes: list[Expr] = []
    gap: int | None = None
    for item in items:
        size = as_int(item)
        if size is None:
            return _shape_of_items(frame, node, items)
        if size.constant == -1:
            gap = len(sizes)
        sizes.append(size)
    if gap is not None:
        others = tuple(size for index, size in enumerate(sizes) if index != gap)
        left = knowledge.numel(tensor.shape)
        for size in others:
            left = knowledge.divide(left, size)
        sizes[gap] = left
    return explicit(frame, sizes)
