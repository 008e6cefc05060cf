"""32-bit index products that can pass 2^31 for sizes the code admits."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping

from kernlint.analysis.extents import is_external
from kernlint.analysis.launches import LaunchView
from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, AxisKind, Expr, axes_of
from kernlint.ir.kernel import Access, Kernel, Loop
from kernlint.ir.types import ElementType
from kernlint.ir.value import Value
from kernlint.records import dataclass

LIMIT = 2**31
_FEW = 4096
_PATH = {
    "add",
    "sub",
    "mul",
    "shl",
    "pointer",
    "expand",
    "broadcast",
    "trans",
    "reshape",
    "where",
    "join",
    "carry",
    "neg",
}


class Width(enum.Enum):
    NARROW = 32
    WIDE = 64
    UNKNOWN = 0


@dataclass(frozen=True, slots=True)
class NarrowProduct:
    """`product` is computed in 32 bits and addresses `access`; `row` is the factor that counts rows or batches,
    `stride` the run-time factor it is multiplied with.  `widened_late` says that the finished offset is converted to 64
    bits, after it may have wrapped, and that no outer part of it was computed in 64 bits."""

    access: Access
    product: Value
    row: Expr
    stride: Expr
    widened_late: bool
    compile_time: frozenset[str]  # keys of the kernel's compile-time parameters


def narrow_products(kernel: Kernel) -> Iterator[NarrowProduct]:
    """The 32-bit products behind global addresses that grow with a run-time size times an unbounded counter.

    A product counts when one factor is a run-time stride or length (not a tile size) and the other one is a grid axis,
    a loaded index or a loop over a run-time length, so that the product ranges over a whole tensor.
    """
    seen: set[int] = set()
    loaded = _loaded_types(kernel)
    compile_time = kernel.compile_time_keys
    for access in kernel.accesses:
        address = access.attrs.get("address")
        if not is_external(access) or not isinstance(address, Value):
            continue
        for product, widened_late in _products(address, loaded):
            if id(product) in seen:
                continue
            seen.add(id(product))
            factors = _row_and_stride(product, kernel)
            if factors is not None:
                outer = _has_wide_product(address, compile_time, _degree(factors[0] * factors[1], compile_time))
                yield NarrowProduct(access, product, *factors, widened_late and not outer, compile_time)


def _loaded_types(kernel: Kernel) -> dict[str, ElementType]:
    """Element types of the tensors that the launches pass, by parameter; only where all launches agree."""
    found: dict[str, ElementType | None] = {}
    for launch in kernel.launches:
        for name, value in launch.arguments.items():
            dtype = value.tensor.dtype if value.tensor is not None else None
            found[name] = dtype if found.get(name, dtype) == dtype else None
    return {name: dtype for name, dtype in found.items() if dtype is not None}


def _products(address: Value, loaded: Mapping[str, ElementType]) -> Iterator[tuple[Value, bool]]:
    """32-bit multiplications on the arithmetic path to an address, each once, and whether they are widened later on."""
    queue, seen = [(address, False)], {id(address)}
    for value, late in queue:
        if value.op == "mul" and _width_with(value, loaded) is Width.NARROW:
            yield value, late
        follow = value.args[1:] if value.op == "where" else value.args
        for arg in follow:
            on_path = arg.op in _PATH or arg.op == "cast"
            if on_path and id(arg) not in seen and len(seen) < 2000:
                seen.add(id(arg))
                widens = value.op == "cast" and width(value) is Width.WIDE and width(arg) is Width.NARROW
                queue.append((arg, late or widens))


def width(value: Value) -> Width:
    if value.dtype is None or not value.dtype.is_integer:
        return Width.UNKNOWN
    return Width.WIDE if value.dtype.bits > 32 else Width.NARROW


def _width_with(value: Value, loaded: Mapping[str, ElementType], depth: int = 6) -> Width:
    """The width of a value whose loaded parts take their element types from the launch."""
    known = width(value)
    if known is not Width.UNKNOWN or depth == 0 or value.dtype is not None:
        return known
    if value.op == "load" and value.access is not None and value.access.buffer is not None:
        dtype = loaded.get(value.access.buffer.name)
        if dtype is None or not dtype.is_integer:
            return Width.UNKNOWN
        return Width.WIDE if dtype.bits > 32 else Width.NARROW
    if value.op not in ("mul", "add", "sub", "expand", "broadcast"):
        return Width.UNKNOWN
    widths = [_width_with(arg, loaded, depth - 1) for arg in value.args]
    if Width.WIDE in widths:
        return Width.WIDE
    return Width.UNKNOWN if Width.UNKNOWN in widths else Width.NARROW


def _row_and_stride(product: Value, kernel: Kernel) -> tuple[Expr, Expr] | None:
    if len(product.args) != 2:
        return None
    a, b = (arg.expr for arg in product.args)
    if a is None or b is None:
        return None
    for row, stride in ((a, b), (b, a)):
        if _is_runtime_size(stride, kernel) and _is_counter(row, kernel):
            return row, stride
    return None


def _is_runtime_size(expr: Expr, kernel: Kernel) -> bool:
    """A stride or length passed at run time, possibly times constants."""
    compile_time = kernel.compile_time_keys
    atoms = list(expr.atoms())
    return bool(atoms) and all(
        atom.kind is AtomKind.PARAM and atom.key not in compile_time for mono, _ in expr.terms for atom in mono
    )


def _is_counter(expr: Expr, kernel: Kernel) -> bool:
    """Counts rows, batches or tokens: a grid axis, a loaded index, or a loop whose length is not a constant."""
    return any(_counts(atom) for atom in expr.deep_atoms)


def _counts(atom: Atom) -> bool:
    if atom.kind is AtomKind.LOAD:
        return True
    axis = atom.axis
    return axis is not None and axis.kind is AxisKind.GRID


def spans_a_tensor(found: NarrowProduct, view: LaunchView) -> bool:
    """Whether the product can be as large as the tensor.

    A number of tiles is smaller by the tile, and `(x // n) * n` is no larger than x.
    """
    if any(atom.kind is AtomKind.FLOORDIV for atom in view.of(found.stride).deep_atoms):
        return False
    for mono, _ in found.row.terms:
        for atom in mono:
            if atom.kind is AtomKind.FLOORDIV and atom.args[1] == found.stride:
                return False
    return True


def is_largest(found: NarrowProduct, kernel: Kernel, view: LaunchView) -> bool:
    """Whether no other tensor of the kernel is larger by another run-time dimension along the same counter.

    Masks, statistics and rotary tables are a head or a row length smaller than the data beside them: when they reach
    2^31 elements, the data is far beyond any memory.
    """
    own = _degree(view.of(found.row * found.stride), found.compile_time)
    counters = {atom for atom in found.row.deep_atoms if _counts(atom)}
    for access in kernel.accesses:
        if not is_external(access):
            continue
        for mono, coeff in access.index.terms:
            term = Expr({mono: coeff})
            if not counters.isdisjoint(term.deep_atoms) and _degree(view.of(term), found.compile_time) > own:
                return False
    return True


def dimensions(found: NarrowProduct) -> int:
    """How many run-time sizes the product multiplies: of a kernel's products the largest one overflows first."""
    return _degree(found.row * found.stride, found.compile_time)


def _degree(expr: Expr, compile_time: frozenset[str]) -> int:
    """The greatest number of run-time sizes multiplied in one term."""
    sizes = (AtomKind.HOST, AtomKind.PARAM)
    counts = (sum(a.kind in sizes and a.key not in compile_time for a in mono) for mono, _ in expr.terms)
    return max(counts, default=0)


def is_row_offset(found: NarrowProduct) -> bool:
    """Whether the product is the row's final offset: a plain counter times the row's stride, with lanes inside the row.

    Products that are multiplied on (a token number, later times the width) stay far below the tensor's size, and so do
    counters reduced by a remainder.
    """
    index, product = found.access.index, found.row * found.stride
    terms = dict(index.terms)
    if any(terms.get(mono) != coeff for mono, coeff in product.terms):
        return False
    if any(atom.kind is AtomKind.MOD for atom in found.row.deep_atoms):
        return False
    address = found.access.attrs.get("address")
    if isinstance(address, Value) and _has_wide_product(
        address, found.compile_time, _degree(product, found.compile_time)
    ):
        return False  # the outer offset of this very address is wide, and bounds this one
    in_row = lanes_in(found.row)
    in_index = {axis.key for axis in axes_of(index) if axis.kind in (AxisKind.LANE, AxisKind.LOOP)}
    return bool(in_index - in_row)


def lanes_in(row: Expr) -> set[str]:
    """Keys of the lane axes of a row number: a tile of rows, as in a matrix product, has them."""
    return {axis.key for axis in axes_of(row) if axis.kind is AxisKind.LANE}


def bounded_below_limit(found: NarrowProduct, view: LaunchView) -> bool:
    """Whether the launch's constants and asserts keep the product under 2^31.

    A counter of at most a few thousand (a fixed number of programs) times a row length counts as bounded.
    """
    rows = upper_bound(view.of(found.row), view)
    if rows is not None and rows <= _FEW:
        return True
    largest = 1
    for factor in (found.row, found.stride):
        bound = upper_bound(view.of(factor), view)
        if bound is None:
            return False
        largest *= bound
    return largest < LIMIT


def admitted_over_limit(found: NarrowProduct, view: LaunchView) -> bool:
    """Whether the host itself admits, by an explicit bound, sizes for which the product passes 2^31."""
    stride = upper_bound(view.of(found.stride), view)
    if stride is None:
        return False
    row = upper_bound(view.of(found.row), view)
    for part in found.access.guard.conjuncts():
        extent = found.row + part.expr + 1 if part.expr is not None else None
        if extent is not None and not any(a.axis is not None for a in extent.deep_atoms):
            limit = upper_bound(view.of(extent), view)
            row = limit if limit is not None and (row is None or limit < row) else row
    return row is not None and row * stride >= LIMIT


def upper_bound(expr: Expr, view: LaunchView) -> int | None:
    """The greatest value by constants, grid sizes and host facts; None when unbounded."""
    total = 0
    for mono, coeff in expr.terms:
        term = coeff
        for atom in mono:
            bound = _atom_bound(atom, view)
            if bound is None or coeff < 0:
                return None
            term *= bound
        total += term
    return total


def _atom_bound(atom: Atom, view: LaunchView) -> int | None:
    if atom.axis is not None:
        extent = view.grid(atom.axis) if atom.axis.kind is AxisKind.GRID else atom.axis.extent
        bound = upper_bound(view.of(extent), view) if extent is not None else None
        if bound is None and atom.axis.kind is AxisKind.GRID and atom.axis.index > 0:
            return 65535
        return bound
    if atom.args:
        return _operation_bound(atom, view)
    for fact in view.facts:
        limit = _limit_of(fact, atom)
        if limit is not None:
            return limit
    return None


def _operation_bound(atom: Atom, view: LaunchView) -> int | None:
    """The greatest value of a quotient, remainder, minimum, maximum or select of bounded parts."""
    parts = [arg for arg in atom.args if isinstance(arg, Expr)]
    bounds = [upper_bound(view.of(part), view) for part in parts]
    if atom.kind is AtomKind.MIN:
        known = [bound for bound in bounds if bound is not None]
        return min(known) if known else None
    if atom.kind is AtomKind.MOD:
        return bounds[1] - 1 if bounds[1] is not None else bounds[0]
    first = bounds[0] if bounds else None
    if atom.kind is AtomKind.FLOORDIV:
        divisor = parts[1].constant
        return first // divisor if first is not None and divisor is not None and divisor > 0 else first
    if atom.kind in (AtomKind.MAX, AtomKind.SELECT) and None not in bounds:
        return max(bound for bound in bounds if bound is not None)
    return None


def _limit_of(fact: Condition, atom: Atom) -> int | None:
    """c of a fact `atom <= c`."""
    for part in fact.conjuncts():
        if part.expr is not None and part.expr.coefficient(atom) == Expr({(): -1}):
            rest = part.expr.without(atom).constant
            if rest is not None:
                return rest
    return None


def widens_elsewhere(kernel: Kernel) -> bool:
    """Whether the kernel computes other global offsets in 64 bits, so its author expects large tensors."""
    for access in kernel.accesses:
        address = access.attrs.get("address")
        if is_external(access) and isinstance(address, Value) and _has_wide_product(address):
            return True
    return False


def _has_wide_product(address: Value, compile_time: frozenset[str] = frozenset(), beside: int = 0) -> bool:
    """Whether an offset that counts programs or loaded indices is computed in 64 bits on the way to the address, or one
    that counts turns of a loop and is larger, by a run-time size, than a product of `beside` sizes."""
    queue, seen = [address], {id(address)}
    for value in queue:
        if value.op == "mul" and width(value) is Width.WIDE and value.expr is not None:
            atoms = value.expr.deep_atoms
            if any(_counts(atom) for atom in atoms):
                return True
            if beside and any(_turns_openly(atom) for atom in atoms) and _degree(value.expr, compile_time) > beside:
                return True
        for arg in value.args:
            if (arg.op in _PATH or arg.op == "cast") and id(arg) not in seen and len(seen) < 2000:
                seen.add(id(arg))
                queue.append(arg)
    return False


def _turns_openly(atom: Atom) -> bool:
    axis = atom.axis
    if axis is None or axis.kind is not AxisKind.LOOP:
        return False
    return axis.extent is None or axis.extent.constant is None


@dataclass(frozen=True, slots=True)
class NarrowCounter:
    """A loop counts in 32 bits up to a 64-bit bound."""

    loop: Loop
    bound: Value
    strides_over_grid: bool


def narrow_counters(kernel: Kernel) -> Iterator[NarrowCounter]:
    """Loops whose 32-bit counter is compared with a 64-bit run-time bound: past 2^31 the counter wraps first."""
    for loop in kernel.loops:
        condition = loop.condition
        if condition is None or condition.op != "cmp" or condition.attrs.get("op") not in ("<", "<="):
            continue
        counter, bound = condition.args[0], condition.args[1]
        while counter.op == "cast" and counter.args and width(counter) is Width.WIDE:
            counter = counter.args[0]
        if width(counter) is not Width.NARROW or width(_uncast(bound)) is not Width.WIDE:
            continue
        if bound.expr is None or bound.expr.constant is not None or bound.expr.is_opaque:
            continue
        if _passed_narrow(_uncast(bound), kernel):
            continue
        step = loop.step
        over_grid = step is not None and any(a.key.startswith("gd") for a in step.deep_atoms)
        yield NarrowCounter(loop, bound, over_grid)


def _passed_narrow(bound: Value, kernel: Kernel) -> bool:
    """Whether the bound is a parameter that every known launch passes a 32-bit number for."""
    passed = [launch.arguments.get(bound.name or str(bound.attrs.get("name"))) for launch in kernel.launches]
    types = [value.dtype for value in passed if value is not None]
    return bool(types) and len(types) == len(passed) and all(t is not None and t.bits <= 32 for t in types)


def _uncast(value: Value) -> Value:
    """The value before implicit conversions to a common type."""
    while value.op == "cast" and value.args and not value.attrs.get("explicit"):
        value = value.args[0]
    return value


def narrows_a_factor(product: Value) -> bool:
    """Whether a 64-bit number is cut to 32 bits right before the product: the interface admits large ones."""
    for factor in product.args:
        value = factor
        for _ in range(8):
            if value.op != "cast" or not value.args:
                break
            source = value.args[0]
            if width(value) is Width.NARROW and width(source) is Width.WIDE:
                return True
            value = source
    return False


_ONE_STEP = {"inference", "cache", "topk", "penalty", "penalties", "sampling", "sampler", "router", "routing", "decode"}


def handles_one_step(kernel: Kernel) -> bool:
    """Whether names say that the kernel sees what one inference step brings: new tokens, their routing, their logits.

    Their number times a row stays far below 2^31, unlike activations of a training batch or general tensors.
    """
    words = re.findall(r"[a-z]+", f"{kernel.name} {kernel.span.path}".lower())
    return not _ONE_STEP.isdisjoint(words)


def is_tensor_size(atom: Atom) -> bool:
    """Whether a host value is a size or stride of a tensor, as opposed to a setting."""
    marks = (".stride(", ".shape[", ".numel(", ".size(")
    return atom.kind is AtomKind.HOST and any(mark in atom.name for mark in marks)
