"""A kernel seen from one of its launches: parameters, block and grid dimensions in host terms."""

from __future__ import annotations

from functools import cached_property

from kernlint.analysis.prove import divisibility_facts, divisible
from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, disj, less, negate
from kernlint.ir.expr import (
    ONE,
    Atom,
    AtomKind,
    Axis,
    AxisKind,
    Expr,
    Substitution,
    axis_expr,
    launch_dim,
    substitute,
)
from kernlint.ir.kernel import Framework, Kernel, Launch
from kernlint.records import dataclass


@dataclass(frozen=True)
class LaunchView:
    """`launch` may be None: then the kernel is seen by itself and nothing is substituted."""

    kernel: Kernel
    launch: Launch | None

    @cached_property
    def mapping(self) -> dict[Atom, Expr]:
        """Parameter, blockDim and gridDim atoms -> host expressions, for everything the launch determines."""
        found: dict[Atom, Expr] = {}
        if self.launch is None:
            return found
        for key, expr in self.launch.bindings.items():
            found[Atom(AtomKind.PARAM, key, key.removeprefix("p:"))] = expr
        dims = (("bd", self.launch.block), ("gd", self.launch.grid))
        for prefix, written in dims:
            if written is None or (prefix == "bd" and self.kernel.framework is not Framework.CUDA):
                continue
            for index in range(3):
                value = written[index].expr if index < len(written) else ONE
                atom = launch_dim(prefix, index, "").single_atom
                if value is not None and atom is not None:
                    found[atom] = value
        # Compile-time parameters in a grid are the kernel's own: express them through their bindings as well.
        partial = Substitution(found)
        return Substitution({atom: substitute(expr, partial) for atom, expr in found.items()})

    @cached_property
    def _known(self) -> dict[Expr | Condition, Expr | Condition]:
        return {}

    def of(self, expr: Expr) -> Expr:
        """The expression in host terms, as far as the launch determines it."""
        found = self._known.get(expr)
        if not isinstance(found, Expr):
            found = self._known[expr] = substitute(expr, self.mapping)
        return found

    def condition(self, condition: Condition) -> Condition:
        found = self._known.get(condition)
        if not isinstance(found, Condition):
            found = self._known[condition] = self._decided(condition).substitute(self.mapping)
        return found

    def _decided(self, condition: Condition) -> Condition:
        """Compile-time switches (`MASK`, `not EVEN_N`) replaced by the constants the launch passes."""
        if not condition.flags or self.launch is None:
            return condition
        if condition.op is Connective.FLAG:
            bound = self.launch.bindings.get(f"p:{condition.name}")
            value = bound.constant if bound is not None else None
            return condition if value is None else TRUE if value else FALSE
        parts = [self._decided(part) for part in condition.parts]
        if condition.op is Connective.NOT:
            return negate(parts[0])
        return conj(parts) if condition.op is Connective.AND else disj(parts)

    def host_atoms(self, expr: Expr) -> set[Atom]:
        """The host values an expression depends on, without building it in host terms."""
        found: set[Atom] = set()
        for atom in expr.deep_atoms:
            bound = self.mapping.get(atom)
            for inner in (atom,) if bound is None else bound.deep_atoms:
                if inner.kind is AtomKind.HOST:
                    found.add(inner)
        return found

    def grid(self, axis: Axis) -> Expr | None:
        """Number of programs or blocks along a grid axis, in host terms."""
        if self.launch is None or self.launch.grid is None or axis.kind is not AxisKind.GRID:
            return None
        if axis.index >= len(self.launch.grid):
            return ONE
        expr = self.launch.grid[axis.index].expr
        return None if expr is None else self.of(expr)

    @cached_property
    def grid_ranges(self) -> list[Condition]:
        """`program < grid` for every dimension the launch gives."""
        axes = {
            atom.axis.key: atom.axis
            for access in self.kernel.accesses
            for atom in access.index.deep_atoms
            if atom.axis is not None and atom.axis.kind is AxisKind.GRID
        }
        known = []
        for key in sorted(axes):
            size = self.grid(axes[key])
            if size is not None:
                known.append(less(axis_expr(axes[key]), size))
        return known

    @cached_property
    def facts(self) -> list[Condition]:
        """What the kernel asserts and the host establishes, in host terms."""
        known = [self.condition(fact) for fact in self.kernel.facts]
        return known + (list(self.launch.facts) if self.launch is not None else [])

    @cached_property
    def divisors(self) -> list[tuple[Expr, Expr]]:
        """(a, b) for every known `a % b == 0`, in host terms."""
        found = divisibility_facts(self.facts)
        if self.launch is not None:
            found += [(self.of(a), self.of(b)) for a, b in self.launch.divisible]
        return found

    def divides(self, divisor: Expr, value: Expr) -> bool:
        """Whether `value` is known to be a multiple of `divisor` for this launch."""
        return divisible(self.of(value), self.of(divisor), self.divisors)


def views(kernel: Kernel) -> tuple[LaunchView, ...]:
    """One view per known launch; a single view without one when none is known."""
    if not kernel.launches:
        return (view_of(kernel, None),)
    return tuple(view_of(kernel, launch) for launch in kernel.launches)


def view_of(kernel: Kernel, launch: Launch | None) -> LaunchView:
    """The view of one launch, made once: every rule asks for it."""
    made: dict[int, LaunchView] = kernel.attrs.setdefault("views", {})
    view = made.get(id(launch))
    if view is None or view.launch is not launch:
        view = made[id(launch)] = LaunchView(kernel, launch)
    return view


def is_compile_time(expr: Expr, kernel: Kernel) -> bool:
    """Whether the expression is made of constants and compile-time parameters only."""
    names = kernel.compile_time_keys
    return all(atom.key in names or bool(atom.args) for atom in expr.deep_atoms)
