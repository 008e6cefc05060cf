"""Configurations that cannot compile or launch.  The tuner gives them infinite time and says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.precision_types import Types
from kernlint.analysis.shared_memory_estimate import shared_memory
from kernlint.finding import Confidence
from kernlint.ir.expr import Atom, AtomKind, Expr, Substitution, const, substitute
from kernlint.ir.kernel import Config, Kernel
from kernlint.records import dataclass
from kernlint.target.limits import (
    ARCHITECTURES,
    MAX_THREADS_PER_BLOCK,
    TRITON_DEFAULT_NUM_STAGES,
    TRITON_MAX_TILE_NUMEL,
    TRITON_MIN_DOT,
    WARP_SIZE,
    least_shared_memory,
    most_shared_memory,
)

_ANYWHERE = most_shared_memory(tuple(sorted(ARCHITECTURES)))


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why `config` cannot run.  `reason` is a clause such as "`num_warps=3` is not a power of two"."""

    config: Config
    reason: str
    confidence: Confidence


def infeasible_configs(kernel: Kernel, targets: tuple[str, ...]) -> list[Infeasible]:
    """In the order written; one reason (the surest) per configuration."""
    tuning = kernel.autotune
    if tuning is None or tuning.configs is None:
        return []
    types = Types(kernel)
    shapes = _shapes(kernel)
    found: list[Infeasible] = []
    for config in tuning.configs:
        reasons = sorted(_reasons(kernel, config, targets, types, shapes), key=lambda item: -item.confidence)
        if reasons:
            found.append(reasons[0])
    return found


def _reasons(
    kernel: Kernel, config: Config, targets: tuple[str, ...], types: Types, shapes: list[tuple[tuple[Expr, ...], str]]
) -> Iterator[Infeasible]:
    yield from _warps(config)
    values = _bound(config)
    for shape, what in shapes:
        sizes = [substitute(extent, values).constant for extent in shape]
        yield from _tile(config, shape, sizes, what)
    yield from _dots(kernel, config, values)
    yield from _shared(kernel, config, values, targets, types)


def _warps(config: Config) -> Iterator[Infeasible]:
    warps = config.num_warps
    if warps is None:
        return
    if warps <= 0 or warps & (warps - 1):
        yield Infeasible(config, f"`num_warps={warps}` is not a power of two", Confidence.HIGH)
    elif warps * WARP_SIZE > MAX_THREADS_PER_BLOCK:
        threads = warps * WARP_SIZE
        reason = f"`num_warps={warps}` means {threads} threads, over {MAX_THREADS_PER_BLOCK} per block"
        yield Infeasible(config, reason, Confidence.HIGH)


def _bound(config: Config) -> Substitution:
    return Substitution(
        {
            Atom(AtomKind.PARAM, f"p:{name}", name): const(value)
            for name, value in config.values.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }
    )


def _shapes(kernel: Kernel) -> list[tuple[tuple[Expr, ...], str]]:
    """Tile shapes that depend on parameters, each once, with the name of a value that has it."""
    found: dict[str, tuple[tuple[Expr, ...], str]] = {}
    for value in kernel.values:
        if value.shape and any(extent.constant is None for extent in value.shape):
            key = ",".join(extent.key for extent in value.shape)
            found.setdefault(key, (value.shape, value.name))
    return list(found.values())


def _tile(config: Config, shape: tuple[Expr, ...], sizes: list[int | None], what: str) -> Iterator[Infeasible]:
    for extent, size in zip(shape, sizes, strict=True):
        if size is not None and extent.constant is None and (size <= 0 or size & (size - 1)):
            yield Infeasible(config, f"the tile extent `{extent}` is {size}, not a power of two", Confidence.HIGH)
    numel = 1
    for size in sizes:
        if size is None:
            return
        numel *= size
    if numel > TRITON_MAX_TILE_NUMEL:
        name = f"`{what}`" if what else "a tile"
        yield Infeasible(config, f"{name} has {numel} elements, over {TRITON_MAX_TILE_NUMEL}", Confidence.HIGH)


def _dots(kernel: Kernel, config: Config, values: dict[Atom, Expr]) -> Iterator[Infeasible]:
    for value in kernel.values:
        if value.op != "dot" or len(value.args) < 2 or len(value.args[0].shape) < 2:
            continue
        inner = value.args[0].shape[-1]
        size = substitute(inner, values).constant
        if inner.constant is None and size is not None and 0 < size < TRITON_MIN_DOT:
            reason = f"`tl.dot` contracts over `{inner}` = {size}, below {TRITON_MIN_DOT}"
            yield Infeasible(config, reason, Confidence.HIGH)
            return


def _shared(
    kernel: Kernel, config: Config, values: dict[Atom, Expr], targets: tuple[str, ...], types: Types
) -> Iterator[Infeasible]:
    stages = config.num_stages if config.num_stages is not None else TRITON_DEFAULT_NUM_STAGES
    estimate = shared_memory(kernel, values, stages, types)
    declared = least_shared_memory(targets)
    if estimate is None:
        return
    sizes = ", ".join(f"`{name}` {size} B x {buffers}" for name, size, buffers in estimate.tiles)
    if _ANYWHERE is not None and estimate.bytes > _ANYWHERE[0]:
        reason = f"its dot operands need {estimate.bytes} B of shared memory ({sizes}), over {_ANYWHERE[0]} B anywhere"
        yield Infeasible(config, reason, Confidence.MEDIUM if estimate.assumed else Confidence.HIGH)
    elif declared is not None and estimate.bytes > declared[0]:
        reason = f"its dot operands need {estimate.bytes} B of shared memory ({sizes}), over {declared[0]} B"
        yield Infeasible(config, f"{reason} on {declared[1]}", Confidence.MEDIUM)
