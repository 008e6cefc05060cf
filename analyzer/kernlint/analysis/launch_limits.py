"""Launch dimensions and shared memory against what the hardware takes.

Dimensions are host expressions.  One made of constants is decided; of one with run-time sizes it is asked whether
anything known at the launch keeps it within the limit, and what kind of size it is: rows and tokens come in hundreds
of thousands, heads and splits do not.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kernlint.analysis.prove import provable
from kernlint.ir import arith
from kernlint.ir.condition import Condition, at_least_zero, at_most
from kernlint.ir.expr import ONE, Atom, AtomKind, Expr, const, substitute
from kernlint.ir.host import GridDim, Launch
from kernlint.ir.kernel import Kernel, ParamRole
from kernlint.ir.types import Space
from kernlint.ir.value import Buffer
from kernlint.records import dataclass
from kernlint.target.limits import MAX_GRID_DIM


class Size(enum.IntEnum):
    """How large a run-time number gets in practice."""

    SMALL = 1  # heads, experts, splits, layers, and names that say nothing: tens to thousands
    MIDDLE = 2  # batches, later dimensions of tensors, products
    LARGE = 3  # rows, tokens, elements: anything


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LARGE_WORDS = _set(
    "rows row nrows tokens token ntokens seq seqlen seqlens length numel elements nelements nnz "
    "points samples vocab edges sequence positions items pixels width height"
)
_LARGE_ALONE = _set("count total n m t size numel")  # in longer names they count anything
_SMALL_WORDS = _set(
    "heads head nheads channel chunk stage blk blks block tile tiles grid h hq hkv hk hv qheads kvheads experts expert "
    "splits split groups group g dim dims d k e "
    "channels c layers blocks sms sm warps threads ranks stages chunks topk depth world planes states parts slices"
)
_TENS = _set("topk expert experts head heads k taps ranks stages")
_SEQUENCE_WORDS = _set("seq seqlen seqlens length sequence sequences tokens token positions")
_BATCH_WORDS = _set("batch batches b bs bsz z bz seqs sequences")
_NO_RANKS: Mapping[str, int] = {}
_PLAIN_NAME = re.compile(r"^[\w.>()-]+$")
_TENSOR_SHAPE = re.compile(r"^(.*)\.(?:shape\[|size\()(-?\d+)[\])]$")


def words_of(name: str) -> list[str]:
    """The words of an identifier: `num_kv_heads` and `numKvHeads` both give num, kv, heads."""
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def atom_size(atom: Atom, ranks: Mapping[str, int] = _NO_RANKS) -> Size:
    """What kind of size a host value is, by its name; `ranks` are the numbers of dimensions of known tensors."""
    if ".numel()" in atom.name:
        return Size.LARGE
    shape = _TENSOR_SHAPE.match(atom.name)
    if shape is not None:
        # Leading dimensions of tensors count rows, tokens or batches, as many as the caller has; later ones features.
        if not _PLAIN_NAME.match(shape[1]):
            return Size.SMALL  # the length of a list or a slice
        if ranks.get(shape[1], 0) >= 4:
            return Size.MIDDLE  # batch, length, heads, features
        return Size.LARGE if shape[2] == "0" else Size.MIDDLE
    if atom.name.endswith((".x", ".y", ".z")):
        return Size.SMALL  # a grid that was handed in
    last = atom.name.rsplit(".", 1)[-1].rsplit("->", 1)[-1]
    if last in ("N", "M", "T", "S", "L"):
        return Size.MIDDLE  # in tensor code as often a batch as a length
    if last.isupper() and len(last) > 2:
        return Size.SMALL  # a constant
    words = words_of(last)
    if any(word in _SMALL_WORDS for word in words):
        return Size.SMALL
    if any(word in _BATCH_WORDS for word in words):
        return Size.MIDDLE
    large = any(word in _LARGE_WORDS for word in words) or (len(words) == 1 and words[0] in _LARGE_ALONE)
    return Size.LARGE if large else Size.SMALL


def expr_size(expr: Expr, ranks: Mapping[str, int] = _NO_RANKS) -> Size | None:
    """The kind of size of a dimension; None when it is not a plain product of host values (tiles of something,
    minima, loaded numbers)."""
    if len(expr.terms) != 1:
        return None
    mono, _ = expr.terms[0]
    if not mono or any(atom.args or atom.kind is not AtomKind.HOST for atom in mono):
        return None
    sizes = [atom_size(atom, ranks) for atom in mono]
    if len(sizes) > 1:
        # In products of tensor dimensions the first is a batch.
        named = [size for atom, size in zip(mono, sizes, strict=True) if _TENSOR_SHAPE.match(atom.name) is None]
        return max([Size.MIDDLE, *named])
    return sizes[0]


@dataclass(frozen=True, eq=False)
class DimProblem:
    """A dimension that passes its limit, surely (`size` None) or for run-time sizes of a kind."""

    axis: int
    dim: GridDim
    expr: Expr
    limit: int
    size: Size | None


_SEQUENCE_PARAMS = _set("t s l seq_len seqlen seq_length length n_ctx")


def _ranks(launch: Launch) -> dict[str, int]:
    """Number of dimensions of the tensors around the launch, by name: of its arguments, by the highest dimension asked
    for (`x.shape[3]`), and of what was viewed as such a tensor.

    A batch of sequences (`[B, T, D]`, whose second dimension the kernel calls T or seq_len) counts as four: its leading
    dimension is a batch, not the rows of a matrix or the batch of a batched matrix product.
    """
    values = (*launch.arguments.values(), *launch.positional, *launch.keywords.values())
    tensors = [value.tensor for value in values if value.tensor is not None]
    ranks = {t.name: len(t.shape) for t in tensors if t.shape is not None}
    exprs = [e for value in values if (e := value.expr) is not None] + list(launch.bindings.values())
    exprs += [extent for t in tensors for extent in t.shape or () if extent is not None]
    for expr in exprs:
        for atom in expr.deep_atoms:
            shape = _TENSOR_SHAPE.match(atom.name)
            if shape is not None and not shape[2].startswith("-"):
                ranks[shape[1]] = max(ranks.get(shape[1], 0), int(shape[2]) + 1)
    for tensor in tensors:
        first = tensor.shape[0].single_atom if tensor.shape and tensor.shape[0] is not None else None
        shape = _TENSOR_SHAPE.match(first.name) if first is not None else None
        if shape is not None and len(tensor.shape or ()) >= 4:
            ranks[shape[1]] = max(ranks.get(shape[1], 0), 4)
    for key, expr in launch.bindings.items():
        atom_ = expr.single_atom
        shape = _TENSOR_SHAPE.match(atom_.name) if atom_ is not None else None
        if shape is not None and shape[2] == "1" and key.removeprefix("p:").lower() in _SEQUENCE_PARAMS:
            ranks[shape[1]] = max(ranks.get(shape[1], 0), 4)
    return ranks


def _counts_sequence(expr: Expr) -> bool:
    words = {word for atom in expr.atoms() for word in words_of(atom.name)}
    return bool(words & _SEQUENCE_WORDS)


def _has_batch_beside(axis: int, dims: Sequence[Expr | None]) -> bool:
    """Whether another grid dimension counts batches, so that a length on this one is that of one sequence."""
    names = {w for i, e in enumerate(dims) if i != axis and e is not None for a in e.atoms() for w in words_of(a.name)}
    return bool(names & _BATCH_WORDS)


def launch_facts(launch: Launch) -> list[Condition]:
    return [*launch.facts, *(launch.host.facts if launch.host is not None else ())]


def resolved(dims: Sequence[GridDim] | None, launch: Launch) -> list[Expr | None]:
    """Dimensions with the kernel's compile-time parameters replaced by what the launch binds them to."""
    bound = {Atom(AtomKind.PARAM, key, key[2:]): expr for key, expr in launch.bindings.items()}
    return [substitute(dim.expr, bound) if dim.expr is not None else None for dim in dims or ()]


def grid_problems(launch: Launch) -> list[DimProblem]:
    """Grid dimensions that can pass their limit."""
    found: list[DimProblem] = []
    facts = launch_facts(launch)
    for axis, (dim, expr) in enumerate(zip(launch.grid or (), resolved(launch.grid, launch), strict=True)):
        limit = MAX_GRID_DIM[axis] if axis < 3 else 0
        if expr is None or axis > 2:
            continue
        value = expr.constant
        if value is not None:
            if value > limit:
                found.append(DimProblem(axis, dim, expr, limit, None))
            continue
        if axis == 0 or provable(at_most(expr, const(limit)), facts):
            continue
        size = expr_size(expr, _ranks(launch))
        if size is Size.LARGE and _counts_sequence(expr) and _has_batch_beside(axis, resolved(launch.grid, launch)):
            size = Size.MIDDLE
        if size is not None:
            found.append(DimProblem(axis, dim, expr, limit, size))
    if any(_is_checked(dim, launch, facts) for dim in resolved(launch.grid, launch)[1:3]):
        # The author knows the limit and looks after another dimension.
        return [
            replace(p, size=Size.LARGE) if p.size is not None and not _is_small_by_name(p.expr) else p for p in found
        ]
    return found


def _is_checked(expr: Expr | None, launch: Launch, facts: list[Condition]) -> bool:
    """Whether a check at the launch keeps a run-time dimension of y or z from passing the limit."""
    if expr is None or expr.constant is not None:
        return False
    fits = at_most(expr, const(MAX_GRID_DIM[1]))
    return provable(fits, facts) and not provable(fits, [])


def _is_small_by_name(expr: Expr) -> bool:
    """Whether a dimension counts heads, splits or the like, as far as names tell."""
    return any(word in _SMALL_WORDS for atom in expr.deep_atoms for word in words_of(atom.name.rsplit(".", 1)[-1]))


def empty_dims(launch: Launch) -> list[DimProblem]:
    """Grid dimensions that are zero, or that nothing known keeps from being zero (an empty tensor)."""
    found: list[DimProblem] = []
    facts = launch_facts(launch)
    for axis, (dim, expr) in enumerate(zip(launch.grid or (), resolved(launch.grid, launch), strict=True)):
        if expr is None or axis > 2:
            continue
        value = expr.constant
        if value is not None and value <= 0:
            found.append(DimProblem(axis, dim, expr, 1, None))
            continue
        if value is not None or provable(at_least_zero(expr - ONE), facts):
            continue
        tiles = arith.as_cdiv(expr)
        base = tiles[0] if tiles is not None else expr
        size = expr_size(base)
        if size is not None and not any(_keeps_positive(fact, base) for fact in facts):
            found.append(DimProblem(axis, dim, expr, 1, size))
    return found


def _keeps_positive(fact: Condition, expr: Expr) -> bool:
    """A check that mentions the size at all is taken as dealing with zero."""
    return not expr.deep_atoms.isdisjoint(fact.deep_atoms)


def block_threads(launch: Launch) -> Expr | None:
    """Threads per block as a host expression."""
    total = ONE
    for expr in resolved(launch.block, launch):
        if expr is None:
            return None
        total = total * expr
    return total if launch.block else None


def is_data_size(expr: Expr, launch: Launch) -> bool:
    """Whether the expression contains a dimension of a tensor, or a host value that is also a run-time argument of the
    kernel, as sizes are."""
    if any(_TENSOR_SHAPE.match(atom.name) or ".numel()" in atom.name for atom in expr.deep_atoms):
        return True
    kernel = launch.kernel
    if kernel is None:
        return False
    scalars = {f"p:{param.name}" for param in kernel.params if param.role is ParamRole.SCALAR}
    passed = {atom for key, value in launch.bindings.items() if key in scalars for atom in value.deep_atoms}
    return any(atom.kind is AtomKind.HOST and atom in passed for atom in expr.deep_atoms)


def static_shared_bytes(kernel: Kernel, launch: Launch | None) -> tuple[int, list[Buffer]] | None:
    """(bytes, arrays) of the shared arrays a kernel declares, None when a size is not known."""
    bound = {Atom(AtomKind.PARAM, key, key[2:]): e for key, e in (launch.bindings if launch else {}).items()}
    total, arrays = 0, []
    for name in sorted(kernel.buffers):
        buffer = kernel.buffers[name]
        if buffer.space is not Space.SHARED or buffer.dynamic:
            continue
        if buffer.dtype is None or buffer.extents is None:
            return None
        size = _product(buffer.extents, bound)
        if size is None:
            return None
        total += size * buffer.dtype.bytes
        arrays.append(buffer)
    return total, arrays


def _product(extents: Iterable[Expr], bound: dict[Atom, Expr]) -> int | None:
    total = 1
    for extent in extents:
        value = substitute(extent, bound).constant
        if value is None:
            return None
        total *= value
    return total


def dynamic_arrays(kernel: Kernel) -> list[Buffer]:
    """`extern __shared__` arrays the kernel uses whatever its compile-time parameters and flags are."""
    names = kernel.compile_time_keys
    used = {
        id(access.buffer)
        for access in kernel.accesses
        if not access.guard.flags and not any(atom.key in names for atom in access.guard.deep_atoms)
    }
    return [b for _, b in sorted(kernel.buffers.items()) if b.dynamic and id(b) in used]


def may_exceed(expr: Expr, limit: int, facts: Iterable[Condition]) -> bool:
    """Whether nothing known keeps a run-time number at or under a limit."""
    return not provable(at_most(expr, const(limit)), facts)


def names_something_small(size: Expr | str) -> bool:
    """Whether some part of a size is named after what comes in tens: experts, heads, the k of a top-k."""
    names = [size] if isinstance(size, str) else [atom.name for atom in size.deep_atoms]
    return bool({word for name in names for word in words_of(name)} & _TENS)
