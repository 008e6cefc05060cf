"""Views of tensors: slices, transposes, reshapes, and the shapes and layouts they have."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kernlint.ir.expr import ONE, Expr
from kernlint.lift.host.shape import Shape, product
from kernlint.lift.host.state import Frame
from kernlint.lift.host.value import Dtype, HostVal, Pieces, Seq, SizesOf, Tensor, as_int, as_tensor

VIEWS = frozenset({"view", "reshape", "flatten", "unflatten", "view_as", "reshape_as", "unsqueeze", "squeeze"})
STRIDED = frozenset(
    {"t", "transpose", "permute", "expand", "expand_as", "swapaxes", "swapdims", "movedim", "moveaxis"}
    | {"narrow", "select", "as_strided", "diagonal", "unfold", "adjoint", "broadcast_to"}
)
_KEEPING_ORDER = frozenset({"expand", "expand_as", "broadcast_to", "narrow", "select"})
SPLITS = frozenset({"chunk", "split", "tensor_split", "unbind"})


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


def indexed(frame: Frame, tensor: Tensor, node: ast.Subscript, whole_numbers: Sequence[bool]) -> Tensor:
    """`x[i]`, `x[a:b]`, `x[..., :k]`, `x[:, None]`: a view when the index is basic, else a computed copy.

    `whole_numbers` says of each part of the index whether it is known to be an integer.
    """
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    knowledge = frame.state.knowledge
    text = frame.scope.text.code(node.slice, 30)
    suffix = f"[{text}]"
    place = "" if all(isinstance(part, ast.Constant) for part in parts) else f"@{node.lineno}:{node.col_offset}"
    shape = Shape(f"{tensor.shape.key}{suffix}{place}", f"{tensor.shape.name}{suffix}")
    if len(parts) == 1 and whole_numbers[0]:
        dims = knowledge.dims(tensor.shape)
        size = knowledge.rest(tensor.shape, 0)
        shape = Shape(shape.key, shape.name, dims[1:]) if dims else replace(shape, size=size)
    contiguous = _indexed_contiguity(tensor.contiguous, parts, whole_numbers)
    return tensor.changed(shape=shape, contiguous=contiguous, layout="", copy_contiguous=_copied(tensor))


def _copied(tensor: Tensor) -> bool | None:
    """Whether a copy of a part or an expansion of the tensor is contiguous."""
    return tensor.copy_contiguous if tensor.contiguous is False else tensor.contiguous


def _indexed_contiguity(base: bool | None, parts: Sequence[ast.expr], whole_numbers: Sequence[bool]) -> bool | None:
    """Of a contiguous tensor, integers, then one range, then whole dimensions are contiguous; other ranges are not."""
    kinds = [_index_kind(part, whole) for part, whole in zip(parts, whole_numbers, strict=True)]
    if "unknown" in kinds:
        return None  # perhaps an index tensor, which gathers into fresh memory
    kinds = [kind for kind in kinds if kind != "new"]
    while kinds and kinds[0] == "number":
        kinds.pop(0)
    if kinds and kinds[0] == "range":
        kinds.pop(0)
    kept = all(kind == "whole" for kind in kinds)
    taken = len(kinds) < len(parts)
    return (base if base or not taken else None) if kept else False


def _index_kind(part: ast.expr, whole_number: bool) -> str:
    if whole_number:
        return "number"
    if isinstance(part, ast.Constant):
        return "new" if part.value is None else "whole" if part.value is Ellipsis else "unknown"
    if not isinstance(part, ast.Slice):
        return "unknown"
    if part.step is not None:
        return "stepped"
    return "whole" if part.lower is None and part.upper is None else "range"


def strided(frame: Frame, tensor: Tensor, method: str, args: Sequence[HostVal], place: str) -> Tensor:
    """A view with permuted, repeated or shortened dimensions; `place` tells calls of the same method apart.

    It is not contiguous unless the sizes happen to be 1, or the leading dimension alone is shortened.
    """
    dims = frame.state.knowledge.dims(tensor.shape)
    shape = Shape(f"{tensor.shape.key}.{method}{place}", f"{tensor.shape.name}.{method}()")
    contiguous: bool | None = False
    layout = ""
    if method == "permute":
        axes_given = args[0].items if len(args) == 1 and isinstance(args[0], Seq) else args
        args = [arg for arg in axes_given if as_int(arg) is not None]
        if len(args) == len(axes_given) > 1:
            frame.state.knowledge.set_rank(tensor.shape, len(args))
            dims = frame.state.knowledge.dims(tensor.shape)
    places = [number.constant for arg in args if (number := as_int(arg)) is not None]
    if method in ("narrow", "select"):
        contiguous = _along(frame, tensor, places[0] if places else None)
    elif dims is not None:
        axes = [place % len(dims) for place in places if place is not None and -len(dims) <= place < len(dims)]
        order = _permutation(method, axes, len(dims))
        if order is not None:
            shape = explicit(frame, [dims[index] for index in order])
            contiguous = tensor.contiguous if order == list(range(len(dims))) else False
            layout = _permuted_layout(frame, tensor, order, place)
    copied = _copied(tensor) if method in _KEEPING_ORDER else False
    return tensor.changed(shape=shape, contiguous=contiguous, layout=layout, copy_contiguous=copied)


def _permuted_layout(frame: Frame, tensor: Tensor, order: list[int], place: str) -> str:
    """A layout with the strides of the tensor in another order."""
    knowledge = frame.state.knowledge
    base = tensor.layout or tensor.name or "tensor"
    layout = f"{frame.prefix}{base}{place}[{','.join(map(str, order))}]"
    knowledge.layouts[layout] = tuple(knowledge.stride(tensor.shape, index, base, tensor.contiguous) for index in order)
    return layout


def _along(frame: Frame, tensor: Tensor, dim: int | None) -> bool | None:
    """The contiguity of a part of a tensor along a dimension."""
    rank = frame.state.knowledge.rank(tensor.shape)
    if dim is None:
        return None
    leading = dim == 0 or (rank is not None and dim == -rank)
    return (True if tensor.contiguous else None) if leading else False


def _permutation(method: str, axes: list[int], rank: int) -> list[int] | None:
    """Where each dimension of the result comes from; None when the method or its arguments are something else."""
    order = list(range(rank))
    if method == "t" and rank <= 2:
        return order[::-1]
    if method in ("transpose", "swapaxes", "swapdims") and len(axes) == 2:
        order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
        return order
    return axes if method == "permute" and sorted(axes) == order else None


def pieces(
    frame: Frame, tensor: Tensor, method: str, args: Sequence[HostVal], dim: HostVal | None, place: str
) -> Pieces | None:
    """`x.chunk(n, dim)`, `x.split(size, dim)`, `x.unbind(dim)`: views of equal shape, but for `split` with a list."""
    if dim is None and method == "unbind":
        dim = args[0] if args else None
    elif dim is None:
        dim = args[1] if len(args) > 1 else None
    along = 0
    if dim is not None:
        number = as_int(dim)
        if number is None or number.constant is None:
            return None
        along = number.constant
    count: int | None = None
    sizes = args[0].items if args and isinstance(args[0], Seq) and method != "unbind" else None
    if sizes is not None:
        count = len(sizes)
    elif method in ("chunk", "tensor_split") and args and (number := as_int(args[0])) is not None:
        count = number.constant
    text = f"{method}{place}"
    shape = Shape(f"{tensor.shape.key}.{text}", f"{tensor.shape.name}.{method}()")
    rank = frame.state.knowledge.rank(tensor.shape)
    if rank is not None and method != "unbind":
        frame.state.knowledge.set_rank(shape, rank)
    contiguous = _along(frame, tensor, along)
    part = tensor.changed(shape=shape, contiguous=contiguous, layout="", copy_contiguous=_copied(tensor))
    return Pieces(part, count if count is None or 0 < count <= 64 else None, sizes is None)


def viewed(frame: Frame, node: ast.Call, tensor: Tensor, method: str, args: Sequence[HostVal]) -> Tensor:
    knowledge = frame.state.knowledge
    shape: Shape | None = None
    if method in ("view_as", "reshape_as") and args:
        other = as_tensor(args[0])
        shape = other.shape if other is not None else None
    elif method in ("view", "reshape") and args:
        items = args[0].items if len(args) == 1 and isinstance(args[0], Seq) else tuple(args)
        if len(args) == 1 and isinstance(args[0], Dtype):
            key = f"{tensor.shape.key}.view@{node.lineno}:{node.col_offset}"
            return tensor.changed(dtype=args[0].dtype, shape=Shape(key, tensor.shape.name))
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
