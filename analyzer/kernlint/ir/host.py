"""Host code around kernels: functions, tensors, launches and the facts known where a launch happens."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Expr
from kernlint.ir.types import ElementType, Span
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.ir.kernel import Kernel


@dataclass(slots=True, eq=False)
class TensorFacts:
    """What host code establishes about a tensor.  Unknown parts are None; nothing is guessed.

    `shape` entries are host expressions (`h:x.shape[0]`).  `contiguous` is True after `.contiguous()`, an
    `is_contiguous()` check or a fresh allocation, False after a transpose/expand/slice, None when unknown.
    `init` is how the memory was initialised: `given` (comes from the caller), `empty`, `zeros`, `full`, `computed`.
    """

    name: str
    shape: tuple[Expr | None, ...] | None = None
    strides: tuple[Expr | None, ...] | None = None
    dtype: ElementType | None = None
    contiguous: bool | None = None
    init: str = "given"
    fill: Value | None = None
    span: Span | None = None  # where it was allocated or came in
    alias_of: str = ""  # the variable whose storage it shares, when it is a view or plain assignment
    numel: Expr | None = None


@dataclass(slots=True, eq=False)
class HostValue:
    """A host-side value: exactly one of `expr` (integer), `tensor`, `literal` (float, str, bool, None) or unknown."""

    expr: Expr | None = None
    tensor: TensorFacts | None = None
    literal: Any = None
    is_literal: bool = False
    cond: Condition | None = None
    items: tuple[HostValue, ...] | None = None
    dtype: ElementType | None = None
    span: Span | None = None
    text: str = ""  # as written, for messages
    untyped: TensorFacts | None = None  # beside `expr`: the tensor it is if it is one (a parameter of unknown type)
    aligned_for: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class GridDim:
    """One grid or block dimension as the host computes it.  `expr` may mention the kernel's compile-time parameters
    (`p:BLOCK`, through `meta["BLOCK"]`) beside host values."""

    expr: Expr | None
    span: Span


@dataclass(slots=True, eq=False)
class Launch:
    """One launch.  `grid` and `block` have as many entries as were written; block is () for Triton.

    `arguments` and `constexprs` map kernel parameter names to host values once bound; before binding `positional` and
    `keywords` hold them.  `bindings` maps kernel parameter atoms to host expressions for every integer argument known.
    `facts` are host conditions that hold here (asserts, checks that return or raise otherwise, enclosing ifs).
    `status` is `checked`, `unchecked` or `unknown`: whether the launch status is read on the path after it.
    """

    kernel_name: str
    span: Span
    host: HostFunction | None
    grid: tuple[GridDim, ...] | None = None
    block: tuple[GridDim, ...] | None = None
    shared: HostValue | None = None
    stream: HostValue | None = None
    positional: tuple[HostValue, ...] = ()
    keywords: dict[str, HostValue] = field(default_factory=dict)
    template_arguments: tuple[HostValue, ...] = ()
    arguments: dict[str, HostValue] = field(default_factory=dict)
    bindings: dict[str, Expr] = field(default_factory=dict)  # atom key of the parameter -> host expression
    facts: list[Condition] = field(default_factory=list)
    divisible: list[tuple[Expr, Expr]] = field(default_factory=list)  # (a, b): a % b == 0 is known
    status: str = "unknown"
    status_span: Span | None = None
    kernel: Kernel | None = None
    import_from: tuple[str, str] | None = None  # when the kernel's name was imported: (module, name)
    num_warps: int | None = None
    num_stages: int | None = None
    in_loop: bool = False
    cooperative: bool = False
    attributes: dict[str, HostValue] = field(default_factory=dict)  # cudaFuncSetAttribute name -> value
    device_guarded: bool | None = None
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class HostFunction:
    """A wrapper, test, reference or benchmark."""

    name: str
    span: Span
    body_span: Span
    parameters: tuple[str, ...] = ()
    launches: list[Launch] = field(default_factory=list)
    facts: list[Condition] = field(default_factory=list)
    class_name: str = ""
    decorators: tuple[str, ...] = ()
    is_test: bool = False
    calls: tuple[str, ...] = ()
    returns: str = ""  # return type as written (C++), '' when not stated


from kernlint.ir.value import Value  # noqa: E402
