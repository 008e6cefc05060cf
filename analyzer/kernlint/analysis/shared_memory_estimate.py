"""A lower estimate of the shared memory a Triton kernel needs under one configuration.

Triton stages the operands of a `tl.dot` in shared memory.  Inside a loop it keeps one buffer less than `num_stages` (at
least one) of every loaded operand in flight.  Everything else it may put there (layout conversions, reductions) is left
out, so what is over a limit by this estimate is over it.
"""

from __future__ import annotations

from kernlint.analysis.precision_types import Types
from kernlint.ir.expr import Atom, Expr, substitute
from kernlint.ir.kernel import Kernel, Loop
from kernlint.ir.value import Value
from kernlint.records import dataclass

_PASS_THROUGH = {"cast", "trans", "mul", "where", "expand", "broadcast", "reshape"}
# When no launch tells the element type, operands of dot products are taken to be half precision.
ASSUMED_BYTES = 2


@dataclass(frozen=True, slots=True)
class SharedEstimate:
    """`bytes` are needed by the loop (or straight line) that needs most; `assumed` when an element type was assumed."""

    bytes: int
    tiles: tuple[tuple[str, int, int], ...]  # (operand's name, bytes of one tile, buffers)
    assumed: bool


def shared_memory(
    kernel: Kernel, values: dict[Atom, Expr], num_stages: int, types: Types | None = None
) -> SharedEstimate | None:
    """The estimate with the compile-time parameters in `values`; None when no dot's operands have a known size."""
    types = types or Types(kernel)
    groups: dict[int, list[Value]] = {}
    bytes_assumed = _assumed_bytes(kernel)
    for value in kernel.values:
        if value.op == "dot" and len(value.args) >= 2:
            for operand in value.args[:2]:
                load = _loaded(operand)
                if load is not None and load.access is not None:
                    loops = load.access.loops
                    groups.setdefault(id(loops[-1]) if loops else 0, []).append(load)
    best: SharedEstimate | None = None
    for key in groups:
        estimate = _estimate(groups[key], values, num_stages if key else 1, types, bytes_assumed)
        if estimate is not None and (best is None or estimate.bytes > best.bytes):
            best = estimate
    return best


def _assumed_bytes(kernel: Kernel) -> int:
    """Half precision, unless the kernel takes scales or accumulates integers, as those for 8-bit operands do."""
    scaled = any("scale" in param.name.lower() for param in kernel.params)
    integer = any(v.op == "dot" and v.dtype is not None and v.dtype.is_integer for v in kernel.values)
    return 1 if scaled or integer else ASSUMED_BYTES


def _loaded(operand: Value) -> Value | None:
    """The load an operand is, seen through conversions."""
    for _ in range(8):
        if operand.op == "load":
            return operand
        if operand.op not in ("cast", "trans") or not operand.args:
            return None
        operand = operand.args[0]
    return None


def _estimate(
    loads: list[Value], values: dict[Atom, Expr], num_stages: int, types: Types, bytes_assumed: int
) -> SharedEstimate | None:
    tiles: list[tuple[str, int, int]] = []
    assumed = False
    seen: set[int] = set()
    for load in loads:
        if id(load) in seen:
            continue
        seen.add(id(load))
        size = 1
        for extent in load.shape:
            number = substitute(extent, values).constant
            if number is None:
                return None
            size *= number
        typed = types.of(load)
        width = typed.type.bytes if typed.type is not None and not typed.generic else bytes_assumed
        assumed = assumed or typed.type is None or typed.generic
        access = load.access
        buffers = max(num_stages - 1, 1) if access is not None and _varies(load) else 1
        tiles.append((load.name or "operand", size * width, buffers))
    return SharedEstimate(sum(size * buffers for _, size, buffers in tiles), tuple(tiles), assumed)


def _varies(load: Value) -> bool:
    """Whether the load moves with its innermost loop, so that the next tile is fetched ahead."""
    access = load.access
    if access is None or not access.loops:
        return False
    loop: Loop = access.loops[-1]
    if access.block_offsets:
        return any(atom.axis == loop.axis for offset in access.block_offsets for atom in offset.deep_atoms)
    return any(atom.axis == loop.axis for atom in access.index.deep_atoms)
