"""What trial runs of an autotuner do to a kernel's own arguments.

The tuner launches the kernel dozens of times per configuration on the caller's tensors.  That is harmless only when
running the kernel again gives the same result: not when it reads what it overwrites, and not when it adds to memory.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, conj
from kernlint.ir.expr import Atom, Expr, axis_expr, substitute
from kernlint.ir.kernel import Access, AccessKind, Autotune, Kernel
from kernlint.ir.types import Space
from kernlint.ir.value import Value, ancestors
from kernlint.records import dataclass

# Running these twice leaves what running them once leaves, or exchanges a lock.
_REPEATABLE_ATOMICS = {"max", "min", "and", "or", "xchg", "exch", "cas", "umax", "umin"}
_MAX_PAIRS = 400


class Reuse(enum.Enum):
    UPDATED = "read and overwritten"
    ACCUMULATED = "added to"


@dataclass(frozen=True, slots=True)
class InPlaceArgument:
    """Parameter `name` changes with every run: `write` stores to it, `read` (None for atomics) reads it first.

    `through` names the other parameter when two parameters are one tensor at a launch.
    """

    name: str
    reuse: Reuse
    write: Access
    read: Access | None
    confidence: Confidence
    through: str = ""


def tries_several(autotune: Autotune) -> Confidence | None:
    """Whether more than one configuration is benchmarked (a single one is launched once): HIGH when seen, MEDIUM when
    the list could not be read whole, None when only one is there."""
    if autotune.configs is None:
        return Confidence.MEDIUM
    if len(autotune.configs) >= 2:
        return Confidence.HIGH
    return None if autotune.complete else Confidence.MEDIUM


def unprotected_arguments(kernel: Kernel) -> list[InPlaceArgument]:
    """Arguments that tuning changes and nothing restores, sorted by name."""
    tuning = kernel.autotune
    several = tries_several(tuning) if tuning is not None else None
    if tuning is None or several is None or tuning.pre_hook or any(c.pre_hook for c in tuning.configs or ()):
        return []
    protected = set(tuning.restore_value) | set(tuning.reset_to_zero)
    found: dict[str, InPlaceArgument] = {}
    for argument in _changing_arguments(kernel):
        if argument.name in protected or argument.through in protected:
            continue
        known = found.get(argument.name)
        if known is None or argument.confidence > known.confidence:
            found[argument.name] = argument
    return [_at_most(found[name], several) for name in sorted(found)]


def _at_most(argument: InPlaceArgument, confidence: Confidence) -> InPlaceArgument:
    if argument.confidence <= confidence:
        return argument
    return InPlaceArgument(argument.name, argument.reuse, argument.write, argument.read, confidence, argument.through)


def _changing_arguments(kernel: Kernel) -> Iterator[InPlaceArgument]:
    names = {param.name for param in kernel.params}
    accesses = [
        a for a in kernel.accesses if a.buffer is not None and a.space is Space.GLOBAL and a.buffer.name in names
    ]
    by_name: dict[str, list[Access]] = {}
    for access in accesses:
        if access.buffer is not None:
            by_name.setdefault(access.buffer.name, []).append(access)
    for name in sorted(by_name):
        own = by_name[name]
        for write in own:
            adds = write.kind is AccessKind.ATOMIC and bool(write.op) and write.op not in _REPEATABLE_ATOMICS
            if adds and not any(_resets(store, write) for store in own):
                yield InPlaceArgument(name, Reuse.ACCUMULATED, write, None, _reached(kernel, write))
        yield from _overwrites(kernel, name, own, own, "")
    for name, twin in _same_tensor(kernel):
        if name in by_name and twin in by_name:
            yield from _overwrites(kernel, name, by_name[name], by_name[twin], twin)


def _resets(store: Access, atomic: Access) -> bool:
    """Whether the kernel itself puts a starting value where it adds later."""
    if store.kind is not AccessKind.STORE or store.ordinal > atomic.ordinal or store.value is None:
        return False
    return not any(
        item.access is not None and item.access.buffer is store.buffer for item in ancestors(store.value, 200)
    )


def _overwrites(
    kernel: Kernel, name: str, written: list[Access], readable: list[Access], through: str
) -> Iterator[InPlaceArgument]:
    stores = [a for a in written if a.kind is AccessKind.STORE]
    loads = [a for a in readable if a.kind is AccessKind.LOAD]
    if len(stores) * len(loads) > _MAX_PAIRS:
        stores, loads = stores[:20], loads[:20]
    for load in loads:
        if not through and any(_initialises(kernel, store, load) for store in stores):
            continue
        for store in stores:
            confidence = _rereads(kernel, store, load)
            if confidence is not None:
                yield InPlaceArgument(name, Reuse.UPDATED, store, load, confidence, through)


def _initialises(kernel: Kernel, store: Access, load: Access) -> bool:
    """Whether every run stores what this load reads before it: the same elements, perhaps in a loop of its own."""
    if store.ordinal > load.ordinal or not _same_shape(store, load) or _excluded(kernel, store, load):
        return False
    before = {frame.condition.key for frame in store.path if frame.loop is None and not frame.exit}
    return before <= {frame.condition.key for frame in load.path}


def _rereads(kernel: Kernel, store: Access, load: Access) -> Confidence | None:
    """How sure it is that a second run's `load` sees what the first run's `store` left, and that it matters."""
    if _excluded(kernel, store, load):
        return None
    same_element = store.index_is_known and load.index_is_known and store.index.key == load.index.key
    shared_loops = {loop.axis.key for loop in store.loops} & {loop.axis.key for loop in load.loops}
    if load.ordinal > store.ordinal and not shared_loops:
        # The program reads back its own result; what was there before does not matter where the two agree.
        return None if same_element or not _both_known(store, load) else Confidence.LOW
    if load.ordinal > store.ordinal and same_element:
        return None
    if store.value is not None and _is_repeatable(store.value, load):
        return None
    if not same_element:
        return Confidence.MEDIUM if _both_known(store, load) and _same_shape(store, load) else Confidence.LOW
    if _both_arms_update(store, load):
        return Confidence.HIGH
    return min(_reached(kernel, store), _reached(kernel, load))


def _both_arms_update(store: Access, load: Access) -> bool:
    """Whether store and load sit in one arm of a branch whose other arm, too, overwrites the buffer with what it reads
    there: a switch such as `if EVEN:` chooses how, not whether."""
    frames = [frame for frame in store.path if frame.loop is None]
    if len(frames) != 1 or frames[0].branch is None or frames[0].branch not in [f.branch for f in load.path]:
        return False
    branch = frames[0].branch
    other = branch.otherwise if frames[0].arm else branch.then
    accesses = [item for item in other.items if isinstance(item, Access) and item.buffer is store.buffer]
    return any(
        write.kind is AccessKind.STORE
        and read.kind is AccessKind.LOAD
        and read.ordinal < write.ordinal
        and read.index_is_known
        and read.index.key == write.index.key
        and write.value is not None
        and _uses(write.value, read)
        and not _is_repeatable(write.value, read)
        for write in accesses
        for read in accesses
    )


def _both_known(a: Access, b: Access) -> bool:
    return a.index_is_known and b.index_is_known


def _same_shape(a: Access, b: Access) -> bool:
    """The two indices differ only in which loop runs over the elements (two passes over one row)."""

    def outline(access: Access) -> list[str]:
        names = []
        for mono, _ in _forwards(access).terms:
            names.append("*".join("loop" if f.axis is not None and f.key.startswith("a:k") else f.key for f in mono))
        return sorted(names)

    return outline(a) == outline(b)


def _forwards(access: Access) -> Expr:
    """The index with loops that count down turned round."""
    mapping: dict[Atom, Expr] = {}
    for loop in access.loops:
        atom = axis_expr(loop.axis).single_atom
        if atom is not None and loop.trip_count is not None and loop.step is not None and (loop.step.constant or 0) < 0:
            mapping[atom] = loop.trip_count - 1 - axis_expr(loop.axis)
    return substitute(access.index, mapping)


def _is_repeatable(value: Value, load: Access) -> bool:
    """`max(x, 0)`, `where(mask, c, x)` and x itself: doing it again changes nothing."""
    if _is_itself(value, load):
        return True
    while value.op in ("cast", "broadcast") and value.args:
        value = value.args[0]
    if value.op in ("max", "min", "relu", "abs", "floor", "ceil", "and", "or"):
        return all(_is_repeatable(arg, load) or not _uses(arg, load) for arg in value.args)
    if value.op == "cmp" and value.attrs.get("op") == "!=" and len(value.args) == 2:
        return _is_repeatable(value.args[0], load)  # truth of a truth
    if value.op in ("where", "join"):
        arms = value.args[-2:]
        if all(_is_itself(arg, load) or not _uses(arg, load) for arg in arms):
            return True  # x or c: the second time it is x again, or c
        return not any(_uses(arg, load) for arg in value.args[:-2]) and all(
            _is_repeatable(arg, load) or not _uses(arg, load) for arg in arms
        )
    return False


def _is_itself(value: Value, load: Access) -> bool:
    while value.op in ("cast", "broadcast") and value.args:
        value = value.args[0]
    return value.op == "load" and value.access is load


def _uses(value: Value, load: Access) -> bool:
    return any(item.access is load for item in ancestors(value, 400))


def _reached(kernel: Kernel, access: Access) -> Confidence:
    """Accesses behind a compile-time switch may not be in the variant that is tuned."""
    switches = {param.name for param in kernel.params if param.is_compile_time}
    for frame in access.path:
        if frame.loop is not None:
            continue
        flags = frame.condition.flags
        atoms = {a.name for a in frame.condition.deep_atoms}
        if any(any(s in flag for s in switches) for flag in flags) or (atoms and atoms <= switches):
            return Confidence.MEDIUM
    return Confidence.HIGH


def _excluded(kernel: Kernel, a: Access, b: Access) -> bool:
    """Whether no variant runs both: opposite arms of a branch, or a switch all launches leave off."""
    from kernlint.analysis.prove import contradicts

    return contradicts([_path(a), _path(b)])


def _path(access: Access) -> Condition:
    return conj(frame.condition for frame in access.path)


def _same_tensor(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """(written, read) parameter pairs that are one tensor at some launch."""
    pairs: set[tuple[str, str]] = set()
    for launch in kernel.launches:
        owners: dict[str, list[str]] = {}
        for name, value in launch.arguments.items():
            tensor = value.tensor
            if tensor is not None and tensor.name and value.text == tensor.name:
                owners.setdefault(tensor.name, []).append(name)
        for names in owners.values():
            pairs.update((a, b) for a in names for b in names if a != b)
    yield from sorted(pairs)
