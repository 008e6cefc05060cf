"""Kernels, their accesses, barriers and control regions, launches, and the module that holds them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from kernlint.ir.condition import TRUE, Condition, conj
from kernlint.ir.expr import Axis, Expr
from kernlint.ir.host import HostFunction, HostValue, Launch
from kernlint.ir.types import ElementType, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value
from kernlint.records import dataclass


class Framework(enum.Enum):
    CUDA = "cuda"
    TRITON = "triton"
    PALLAS = "pallas"
    NKI = "nki"


class ParamRole(enum.Enum):
    POINTER = "pointer"
    SCALAR = "scalar"
    CONSTEXPR = "constexpr"  # tl.constexpr or a template parameter
    TYPE = "type"  # a template type parameter
    DESCRIPTOR = "descriptor"
    UNKNOWN = "unknown"


@dataclass(slots=True, eq=False)
class Param:
    name: str
    role: ParamRole
    span: Span
    dtype: ElementType | None = None  # of a scalar, or of a pointer's elements
    default: Value | None = None
    annotation: str = ""  # as written
    position: int = 0  # index among the call arguments; -1 for template parameters

    @property
    def is_compile_time(self) -> bool:
        return self.role in (ParamRole.CONSTEXPR, ParamRole.TYPE)


class AccessKind(enum.Enum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    ASYNC_COPY = "async_copy"  # writes `pointer`; its source is a separate LOAD


@dataclass(slots=True, eq=False)
class Access:
    """One memory access.

    `pointer.offset` is the element index; for Triton it contains lane axes, one per block dimension.  `mask` is what
    the source says about the lanes (`mask=`, boundary_check), `path` the control flow around it; `guard` is their
    conjunction: what must hold for a lane (Triton) or thread (CUDA) to perform the access.
    """

    kind: AccessKind
    pointer: Pointer
    span: Span
    ordinal: int  # program order within the kernel
    path: tuple[Frame, ...] = ()
    guard: Condition = TRUE
    mask: Condition | None = None  # None: no mask argument; TRUE: a mask that is always on
    mask_value: Value | None = None
    other: Value | None = None  # fill of inactive lanes; None when undefined
    value: Value | None = None  # loaded, stored or combined value
    dtype: ElementType | None = None
    shape: tuple[Expr, ...] = ()
    width: int = 1  # elements per thread moved at once (vector types)
    op: str = ""  # ATOMIC: add, max, min, cas, exch, and, or, xor, inc, dec
    scope: str = ""  # block, device, system, warp
    order: str = ""
    cached: str = ""  # cache modifiers
    epoch: int = 0  # block barriers passed before it on the straight-line walk (not loop-aware)
    boundary_check: tuple[int, ...] | None = None  # block pointers: dimensions checked
    block_offsets: tuple[Expr, ...] = ()  # block pointers: per-dimension coordinates (offset + lane)
    block_shape_bounds: tuple[Expr, ...] = ()  # block pointers: the tensor's shape
    inlined_at: tuple[Span, ...] = ()  # call sites, outermost first, when inside an inlined helper
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def buffer(self) -> Buffer | None:
        return self.pointer.buffer

    @property
    def index(self) -> Expr:
        return self.pointer.offset

    @property
    def space(self) -> Space:
        return self.buffer.space if self.buffer is not None else Space.UNKNOWN

    @property
    def reads(self) -> bool:
        return self.kind in (AccessKind.LOAD, AccessKind.ATOMIC)

    @property
    def writes(self) -> bool:
        return self.kind is not AccessKind.LOAD

    @property
    def index_is_known(self) -> bool:
        """Whether the buffer and every part of the index were understood (loaded indices count as understood)."""
        return self.buffer is not None and not self.index.is_opaque

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(frame.loop for frame in self.path if frame.loop is not None)


class BarrierKind(enum.Enum):
    BLOCK = "block"  # __syncthreads and its counting forms, cg::this_thread_block().sync(), tl.debug_barrier
    WARP = "warp"  # __syncwarp, coalesced groups
    GRID = "grid"
    NAMED = "named"  # bar.sync id, n
    FENCE = "fence"  # __threadfence*
    WAIT = "wait"  # cp.async wait, mbarrier wait, pipeline consumer_wait
    COMMIT = "commit"


@dataclass(slots=True, eq=False)
class Barrier:
    kind: BarrierKind
    span: Span
    ordinal: int
    path: tuple[Frame, ...] = ()
    guard: Condition = TRUE
    name: str = ""  # as written, e.g. `__syncthreads`
    mask: Value | None = None
    inlined_at: tuple[Span, ...] = ()


@dataclass(slots=True, eq=False)
class Loop:
    """`axis` counts iterations; the loop variable is `start + axis*step` when those are known."""

    axis: Axis
    span: Span  # the header
    start: Expr | None = None
    stop: Expr | None = None  # exclusive
    step: Expr | None = None
    variable: str = ""
    condition: Value | None = None  # of while loops and of for loops that are not counted
    trip_count: Expr | None = None
    body: Region = field(default_factory=lambda: Region())
    path: tuple[Frame, ...] = ()
    carries: tuple[Value, ...] = ()
    unrolled: bool = False  # tl.static_range, #pragma unroll
    breaks: tuple[Condition, ...] = ()  # conditions under which `break` is reached


@dataclass(slots=True, eq=False)
class Branch:
    condition: Condition
    span: Span  # the condition
    value: Value | None = None
    then: Region = field(default_factory=lambda: Region())
    otherwise: Region = field(default_factory=lambda: Region())
    path: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One enclosing construct: a loop, one arm of a branch, or the code after a conditional early exit.

    For an early exit (`if (i >= n) return;`) `exit` holds and `condition` is what must be true to get past it.
    """

    condition: Condition
    loop: Loop | None = None
    branch: Branch | None = None
    arm: bool = True
    exit: bool = False
    value: Value | None = None  # the condition as a value, for uniformity
    span: Span | None = None


@dataclass(slots=True, eq=False)
class Exit:
    """`return` (or `continue`/`break`, named by `kind`) with the condition under which it is taken."""

    kind: str
    span: Span
    path: tuple[Frame, ...]
    guard: Condition
    ordinal: int


@dataclass(slots=True, eq=False)
class Region:
    """A sequence of statements in program order."""

    items: list[Access | Barrier | Loop | Branch | Exit] = field(default_factory=list)

    def walk(self) -> Iterator[Access | Barrier | Loop | Branch | Exit]:
        pending = [iter(self.items)]
        while pending:
            for item in pending[-1]:
                yield item
                if isinstance(item, Loop):
                    pending.append(iter(item.body.items))
                    break
                if isinstance(item, Branch):
                    pending += (iter(item.otherwise.items), iter(item.then.items))
                    break
            else:
                pending.pop()


@dataclass(slots=True, eq=False)
class Config:
    """One autotuning configuration."""

    span: Span
    values: dict[str, int | float | str | bool | None]  # None: not a literal
    num_warps: int | None = None
    num_stages: int | None = None
    pre_hook: bool = False


@dataclass(slots=True, eq=False)
class Autotune:
    """`@triton.autotune`.  `configs` is None when the list could not be read; `complete` says whether all of it was."""

    span: Span
    configs: tuple[Config, ...] | None
    complete: bool
    key: tuple[tuple[str, Span], ...] = ()
    key_known: bool = True
    restore_value: tuple[str, ...] = ()
    reset_to_zero: tuple[str, ...] = ()
    pre_hook: bool = False
    prunes: bool = False


@dataclass(slots=True, eq=False)
class Kernel:
    """A kernel as lifted.  `facts` are conditions asserted inside it (static_assert, assume, device asserts)."""

    name: str
    framework: Framework
    span: Span  # the name in the definition
    body_span: Span
    params: tuple[Param, ...]
    body: Region = field(default_factory=Region)
    values: list[Value] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    facts: list[Condition] = field(default_factory=list)
    autotune: Autotune | None = None
    heuristics: dict[str, Value | None] = field(default_factory=dict)  # constexpr name -> what it is computed from
    launch_bounds: tuple[Expr | None, Expr | None] = (None, None)
    cluster_dims: tuple[Expr, ...] = ()
    launches: list[Launch] = field(default_factory=list)  # filled by binding
    decorators: tuple[str, ...] = ()
    parsed_with_errors: bool = False
    incomplete: str = ""  # why lifting stopped early; empty when whole
    opaque_reasons: dict[str, int] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def accesses(self) -> list[Access]:
        return [item for item in self.body.walk() if isinstance(item, Access)]

    @property
    def barriers(self) -> list[Barrier]:
        return [item for item in self.body.walk() if isinstance(item, Barrier)]

    @property
    def loops(self) -> list[Loop]:
        return [item for item in self.body.walk() if isinstance(item, Loop)]

    @property
    def compile_time_keys(self) -> frozenset[str]:
        """Keys of the atoms of compile-time parameters."""
        return frozenset(f"p:{p.name}" for p in self.params if p.is_compile_time)

    def param(self, name: str) -> Param | None:
        return next((p for p in self.params if p.name == name), None)


def path_condition(path: tuple[Frame, ...]) -> Condition:
    """What must hold for control to be here (loop frames contribute their range condition, if any)."""
    return conj(frame.condition for frame in path)


@dataclass(slots=True, eq=False)
class UnparsedRegion:
    span: Span
    reason: str
    kernel: str = ""


@dataclass(slots=True, eq=False)
class Module:
    """Everything lifted from one file."""

    path: str
    language: str  # cuda, python
    kernels: list[Kernel] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    functions: list[HostFunction] = field(default_factory=list)
    unparsed: list[UnparsedRegion] = field(default_factory=list)
    # local name -> (module path or dotted module, exported name) for imports that may name kernels
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()  # files read while lifting (helpers, includes), for caching
    device_functions: int = 0
    notes: list[str] = field(default_factory=list)


__all__ = [
    "Access",
    "AccessKind",
    "Autotune",
    "Barrier",
    "BarrierKind",
    "Branch",
    "Buffer",
    "Config",
    "Exit",
    "Frame",
    "Framework",
    "HostFunction",
    "HostValue",
    "Kernel",
    "Launch",
    "Loop",
    "Module",
    "Param",
    "ParamRole",
    "Region",
    "UnparsedRegion",
    "path_condition",
]
