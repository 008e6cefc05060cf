"""What the threads of a block touch when they all perform one access once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.analysis.lanes import Evaluator, spread, spread_lanes
from kernlint.analysis.lanes_scenario import Scenario
from kernlint.ir.kernel import Access
from kernlint.ir.types import TYPES, ElementType
from kernlint.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of a template type no launch names; most kernels are written for float first.
GUESSED_BYTES = 4
ATOMS_PER_TOUCH = 10  # what looking at one access costs, in units of the budget


@dataclass(frozen=True, eq=False)
class Touch:
    """`first_byte` (threads,) is where each thread's `size` bytes start, counted from the buffer's start; `active`
    marks threads that certainly do the access, `possible` those that may."""

    first_byte: NDArray[np.int64]
    size: int
    active: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    used_data: bool

    @property
    def certain(self) -> bool:
        """Whether it is known for every thread if it takes part, without assuming anything about data."""
        return not self.used_data and bool((self.active == self.possible).all())


def element_bytes(access: Access, scenario: Scenario | None = None) -> tuple[int, bool]:
    """(bytes of one element, whether that is known)."""
    dtype = access.pointer.dtype or access.dtype
    if dtype is None and access.buffer is not None:
        dtype = access.buffer.dtype
    if dtype is None and scenario is not None:
        dtype = _instantiated(scenario)
        if dtype is not None:
            return dtype.bytes, True
    if dtype is None:
        return GUESSED_BYTES, False
    return dtype.bytes, True


def _instantiated(scenario: Scenario) -> ElementType | None:
    """The element type when a launch gives the kernel's type parameters all the same one."""
    launch = scenario.launch
    if launch is None:
        return None
    types: set[str] = set()
    for value in launch.template_arguments:
        if value.dtype is not None:
            types.add(value.dtype.name)
        elif isinstance(value.literal, str) and value.literal in _SPELLINGS:
            types.add(_SPELLINGS[value.literal])
    return TYPES.get(types.pop()) if len(types) == 1 else None


_SPELLINGS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "int": "int32",
    "unsigned": "uint32",
    "int64_t": "int64",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "float32": "float32",
}


def element_stride(access: Access, scenario: Scenario | None = None) -> int:
    """Bytes between elements with neighbouring indices: more than an element has when it is a field of a struct."""
    stride = access.attrs.get("element_stride")
    return stride if isinstance(stride, int) and stride > 0 else element_bytes(access, scenario)[0]


def moved_bytes(access: Access, scenario: Scenario | None = None) -> int:
    """Bytes one thread moves at once."""
    size, _ = element_bytes(access, scenario)
    dtype = access.pointer.dtype
    lanes = dtype.lanes if dtype is not None else 1
    return size * (access.width if lanes == 1 else 1)


def touch(access: Access, at: Evaluator, scenario: Scenario) -> Touch | None:
    """None when the index is unknown."""
    at.used_data = False
    at.budget.left -= ATOMS_PER_TOUCH
    index = at.integer(access.index) if at.budget.left > 0 else None
    if index is None:
        return None
    must, may = at.truth(access.guard)
    threads = scenario.block.threads
    return Touch(
        spread_lanes(index, threads) * element_stride(access, scenario),
        moved_bytes(access, scenario),
        spread(must, threads),
        spread(may, threads),
        at.used_data,
    )
