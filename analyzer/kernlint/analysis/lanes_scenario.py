"""Under which launches a kernel is evaluated: block shape, parameter values, and how sure each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from kernlint.analysis.lanes import Block, Budget, Evaluator, Lanes
from kernlint.analysis.lanes_iterations import WHOLE, environments
from kernlint.analysis.lanes_values import (
    LARGE,
    SMALL,
    TYPE_BYTES,
    choose_sizes,
    is_program_constant,
    limits_of,
    size_within,
)
from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, Expr
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Access, Branch, Kernel, Loop, ParamRole
from kernlint.records import dataclass

MAX_SCENARIOS = 4
ATOMS_PER_SCENARIO = 60_000
DEFAULT_THREADS = 256
_UNIFORM_KINDS = (AtomKind.PARAM, AtomKind.HOST, AtomKind.LAUNCH)
_THREAD_NAMES = ("THREAD", "BLOCK_SIZE", "BLOCKSIZE", "BLOCK_DIM", "BLOCKDIM", "CTA_SIZE", "TPB", "NTHR")


@dataclass(frozen=True, eq=False)
class Scenario:
    """One way the kernel is launched.

    `block_known`: the block's shape is fixed by constants, not assumed.  `values` maps keys of parameter and launch
    atoms to numbers; those in `assumed` are guesses for compile-time parameters no launch fixes.
    """

    block: Block
    block_known: bool
    values: dict[str, int]
    assumed: frozenset[str] = frozenset()
    launch: Launch | None = None
    grid: tuple[int, int, int] = (1, 0, 0)
    budget: Budget = field(default_factory=lambda: Budget(ATOMS_PER_SCENARIO))
    memo: dict[tuple[object, ...], Any] = field(default_factory=dict)  # for what analyses work out per scenario

    @cached_property
    def environment(self) -> dict[str, Lanes]:
        values: dict[str, Lanes] = dict(self.block.environment())
        values.update(self.values)
        values.update({f"a:g{i}": at for i, at in enumerate(self.grid)})
        return values

    def evaluator(self, more: dict[str, Lanes] | None = None) -> Evaluator:
        return Evaluator({**self.environment, **(more or {})}, self.budget)

    def environments(self, loops: Sequence[Loop], whole: int = WHOLE) -> list[Evaluator]:
        """`lanes_iterations.environments` from this scenario on.  Shared, so that accesses in one loop share work."""
        key = ("environments", whole, *map(id, loops))
        if key not in self.memo:
            self.memo[key] = environments(loops, self.evaluator(), whole)
        found: list[Evaluator] = self.memo[key]
        return found

    def changed(self, block: Block | None = None, values: dict[str, int] | None = None) -> Scenario:
        """A like scenario; it shares the budget."""
        return replace(self, block=block or self.block, values=values or self.values, memo={})

    def adapted(self, conditions: Iterable[Condition]) -> Scenario | None:
        """The scenario with run-time parameters moved so that the conditions can hold; None when nothing moves."""
        limits = limits_of(conditions)
        bindings = self.launch.bindings if self.launch is not None else {}
        moved: dict[str, int] = {}
        for key, known in limits.items():
            bound = bindings.get(key)
            if not key.startswith("p:") or key not in self.values or (bound is not None and bound.constant is not None):
                continue
            value = size_within(known, self.values[key])
            if value != self.values[key]:
                moved[key] = value
        return self.changed(values={**self.values, **moved}) if moved else None

    def is_certain_about(self, *parts: Expr | Condition) -> bool:
        """Whether nothing about these rests on a guess."""
        if not self.block_known:
            return False
        return not any(atom.key in self.assumed for part in parts for atom in part.deep_atoms)


def kernel_atoms(kernel: Kernel) -> frozenset[Atom]:
    """Every atom in the kernel's indices, guards, loops and branches.  Computed once per kernel."""
    known: frozenset[Atom] | None = kernel.attrs.get("all_atoms")
    if known is None:
        known = frozenset(_collect(kernel))
        kernel.attrs["all_atoms"] = known
    return known


def _collect(kernel: Kernel) -> Iterator[Atom]:
    for item in kernel.body.walk():
        if isinstance(item, Access):
            yield from item.index.deep_atoms
            yield from item.guard.deep_atoms
        elif isinstance(item, Loop):
            for expr in (item.start, item.stop, item.step, item.trip_count):
                if expr is not None:
                    yield from expr.deep_atoms
            for carry in item.carries:
                for part in (carry, *carry.args):
                    if part.expr is not None:
                        yield from part.expr.deep_atoms
        elif isinstance(item, Branch):
            yield from item.condition.deep_atoms
    for buffer in kernel.buffers.values():
        for extent in buffer.extents or ():
            yield from extent.deep_atoms
    for bound in kernel.launch_bounds:
        if bound is not None:
            yield from bound.deep_atoms


def scenarios(kernel: Kernel, start: int = LARGE) -> tuple[Scenario, ...]:
    """The distinct launches of a kernel, or assumed ones when none is known.  `start` is where sizes begin: `LARGE`
    makes first tiles full, `SMALL` makes even the first one an edge tile."""
    key = f"scenarios from {start}"
    if key not in kernel.attrs:
        kernel.attrs[key] = tuple(_scenarios(kernel, start))
    found: tuple[Scenario, ...] = kernel.attrs[key]
    return found


def _scenarios(kernel: Kernel, start: int) -> Iterator[Scenario]:
    seen: set[str] = set()
    for launch in kernel.launches:
        scenario = _of_launch(kernel, launch, start)
        if scenario is None:
            continue
        same = repr((scenario.block, sorted(scenario.values.items())))
        if same not in seen and len(seen) < MAX_SCENARIOS:
            seen.add(same)
            yield scenario
    if not seen:
        yield _assumed(kernel, start)


def _of_launch(kernel: Kernel, launch: Launch, start: int) -> Scenario | None:
    block_exprs = [dim.expr for dim in launch.block or ()]
    if not block_exprs or any(expr is None for expr in block_exprs):
        return None
    dims = [expr for expr in block_exprs if expr is not None]
    grid = [dim.expr for dim in launch.grid or ()]
    exprs = [*dims, *launch.bindings.values(), *(expr for expr in grid if expr is not None)]
    facts = [*launch.facts, *(launch.host.facts if launch.host is not None else ())]
    limits = limits_of(facts, launch.divisible)
    sizes = choose_sizes(_free(exprs, facts), facts, limits, start)
    block = _block(dims, sizes)
    if block is None:
        # A run-time block shape: take an ordinary one.
        for expr in dims:
            atom = expr.single_atom
            if atom is not None and atom.key in sizes:
                sizes[atom.key] = DEFAULT_THREADS if len(dims) == 1 else 16
        block = _block(dims, sizes)
        if block is None:
            return None
    host = Evaluator(sizes)
    values = dict(sizes)
    for key, expr in launch.bindings.items():
        value = host.integer(expr)
        if isinstance(value, int):
            values[key] = value
    for i, dim in enumerate(grid):
        extent = Evaluator(values).integer(dim) if dim is not None else None
        values[f"gd{i}"] = extent if isinstance(extent, int) else start + 8 * i
    fixed = all(expr.constant is not None for expr in dims) or _only_template(dims, launch)
    assumed = _fill(kernel, values, block, start) | _guessed_at_launch(exprs, launch)
    return Scenario(block, fixed, values, assumed, launch, _corner(values))


def _guessed_at_launch(exprs: Iterable[Expr], launch: Launch) -> frozenset[str]:
    """Constants of the program whose value was not seen, and the parameters that the launch computes from them."""
    own = set(launch.host.parameters) if launch.host is not None else set()
    guessed = {
        atom.key
        for expr in exprs
        for atom in expr.deep_atoms
        if not atom.args
        and not _is_warp_size(atom.name)
        and (is_program_constant(atom) or (_is_macro_argument(atom) and atom.name not in own))
    }
    bound = {key for key, expr in launch.bindings.items() if any(atom.key in guessed for atom in expr.deep_atoms)}
    return frozenset(guessed | bound)


def _is_macro_argument(atom: Atom) -> bool:
    """A name such as `HEAD_DIM` that only a dispatching macro can have defined."""
    return atom.kind is AtomKind.HOST and len(atom.name) > 2 and atom.name.isupper() and "." not in atom.name


def _only_template(dims: list[Expr], launch: Launch) -> bool:
    """Block dimensions in terms of the kernel's own compile-time parameters, which the launch fixes."""
    atoms = {atom for expr in dims for atom in expr.deep_atoms if not atom.args}
    return all((bound := launch.bindings.get(a.key)) is not None and bound.constant is not None for a in atoms)


def _corner(values: dict[str, int]) -> tuple[int, int, int]:
    """A block that is neither the first nor, if it can be helped, the last."""
    return (1 if values.get("gd0", 2) > 1 else 0, 0, 0)


def _free(exprs: Iterable[Expr], facts: Iterable[Condition]) -> set[Atom]:
    parts: list[Expr | Condition] = [*exprs, *facts]
    found = {atom for part in parts for atom in part.deep_atoms}
    return {atom for atom in found if not atom.args and atom.kind in _UNIFORM_KINDS}


def _block(dims: list[Expr], sizes: dict[str, int]) -> Block | None:
    host = Evaluator(sizes)
    numbers: list[int] = []
    for expr in dims[:3]:
        value = host.integer(expr)
        if not isinstance(value, int):
            return None
        numbers.append(value)
    block = Block(*numbers)
    return block if block.is_launchable and min(numbers) > 0 else None


def _assumed(kernel: Kernel, start: int) -> Scenario:
    atoms = {atom.key for atom in kernel_atoms(kernel)}
    values: dict[str, int] = {}
    threads, known = DEFAULT_THREADS, False
    assumed = _fill(kernel, values, Block(threads), start)
    bound = kernel.launch_bounds[0]
    if bound is not None:
        value = Evaluator(values).integer(bound)
        if isinstance(value, int) and 0 < value <= 1024:
            threads = value
            known = bound.constant is not None and "a:t1" not in atoms and "a:t2" not in atoms
            assumed = _fill(kernel, values := {}, Block(threads), start)
    if "a:t2" in atoms and threads >= 64:
        block = Block(32, 2, threads // 64)
    elif "a:t1" in atoms or "a:t2" in atoms:
        block = Block(32, max(1, threads // 32))
    else:
        block = Block(threads)
    values.update({f"gd{i}": values.get(f"gd{i}", start + 8 * i) for i in range(3)})
    return Scenario(block, known, values, assumed, None, _corner(values))


def _fill(kernel: Kernel, values: dict[str, int], block: Block, start: int) -> frozenset[str]:
    """Add numbers for parameters no launch fixes; returns the keys of compile-time ones, which are guesses."""
    missing = {a for a in kernel_atoms(kernel) if a.kind is AtomKind.PARAM and not a.args and a.key not in values}
    limits = limits_of(kernel.facts)
    sizes = choose_sizes(missing, kernel.facts, limits, start + 1000 if start == LARGE else start)
    assumed: set[str] = set()
    for atom in sorted(missing, key=lambda a: a.key):
        param = kernel.param(atom.name)
        if param is None and is_program_constant(atom):
            values[atom.key] = TYPE_BYTES if atom.name.startswith("sizeof") else _guess(atom.name, block)
            if not _is_warp_size(atom.name):
                assumed.add(atom.key)
        elif param is not None and param.role is ParamRole.CONSTEXPR:
            default = param.default.expr.constant if param.default is not None and param.default.expr else None
            values[atom.key] = default if default is not None else _guess(atom.name, block)
            if default is None:
                assumed.add(atom.key)
        else:
            values[atom.key] = sizes[atom.key]
    return frozenset(assumed)


def _is_warp_size(name: str) -> bool:
    upper = name.upper()
    return "WARP" in upper and "SIZE" in upper


def _guess(name: str, block: Block) -> int:
    """A plausible number for a compile-time parameter, by what it is called."""
    upper = name.upper()
    if any(word in upper for word in _THREAD_NAMES):
        return block.threads
    if "WARP" in upper:
        return 32 if _is_warp_size(name) else max(1, block.threads // 32)
    if "VEC" in upper:
        return 4
    return 64


__all__ = ["LARGE", "SMALL", "Scenario", "kernel_atoms", "scenarios"]
