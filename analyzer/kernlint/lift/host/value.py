"""What a Python expression of a wrapper may evaluate to."""

from __future__ import annotations

import ast
from dataclasses import field, replace
from itertools import count
from typing import Any

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, Expr, of_atom
from kernlint.ir.types import ElementType, Span
from kernlint.lift.host.definitions import Function
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.host.shape import Shape
from kernlint.records import dataclass

_IDENTITIES = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor.  Equal `identity` means the same tensor object, whatever variables hold it.

    `storage` names the variable its memory came from ('' until it is assigned); `layout` names its strides; `dtype` is
    an element type or, unless that is known, a name for it: the same name is the same type.  `copy_contiguous` tells of
    a tensor that is not contiguous whether a copy in the order of its strides is: True for an expanded or shortened
    contiguous one, False for a transposed one."""

    name: str
    shape: Shape
    dtype: ElementType | str | None = None
    contiguous: bool | None = None
    init: str = "given"
    fill: float | None = None
    span: Span | None = None
    storage: str = ""
    layout: str = ""
    copy_contiguous: bool | None = False
    identity: int = field(default_factory=lambda: next(_IDENTITIES))

    def changed(self, **changes: Any) -> Tensor:
        """Another tensor made from this one."""
        return replace(self, identity=next(_IDENTITIES), **changes)


@dataclass(slots=True, eq=False)
class Given:
    """A value of unknown kind: a parameter, an attribute, the result of an unknown call.  It becomes an integer or a
    tensor when it is used as one."""

    key: str
    name: str
    tensor: Tensor
    is_tensor: bool = False
    is_int: bool = False
    anonymous: bool = False  # not held by a variable yet
    is_list: bool = False  # a list, set or dictionary: never a tensor

    @property
    def integer(self) -> Expr:
        return of_atom(Atom(AtomKind.HOST, f"h:{self.key}", self.name))


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    expr: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """True division of two integers, for `math.ceil(a / b)` and `int(a / b)`."""

    top: Expr
    bottom: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A float, string, bool or None."""

    value: float | str | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """A tuple or list; `spans` are where its items are written.  An item may be a `SizesOf` of unknown length, spliced
    in by `*x.shape`."""

    items: tuple[HostVal, ...]
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    items: dict[str, HostVal]
    complete: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class SizesOf:
    """`x.shape`, `x.size()`, `x.shape[start:stop]`, or with `strides` the same of `x.stride()`."""

    shape: Shape
    start: int = 0
    stop: int | None = None
    strides: bool = False
    layout: str = ""
    contiguous: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """What `chunk`, `split` and `unbind` return: views that share no element; `count` of them, when that is known.

    `alike` says that all have the shape of `first` (a last piece that is shorter is not thought of)."""

    first: Tensor
    count: int | None
    alike: bool

    def piece(self, index: int) -> Tensor:
        name = f"{self.first.storage or self.first.name}.piece({index})"
        shape = self.first.shape
        if not self.alike:
            shape = Shape(f"{shape.key}[{index}]", f"{shape.name}[{index}]")
        return self.first.changed(storage=name, shape=shape)


@dataclass(frozen=True, slots=True, eq=False)
class Dtype:
    """`torch.float16`, or `x.dtype` as a name for an unknown type."""

    dtype: ElementType | str | None


@dataclass(frozen=True, slots=True, eq=False)
class Callable:
    """A function or lambda of the user's, with the scope it stands in.

    `local` when it sees the current variables; `bound` when it is a method whose object is passed already."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: PythonScope
    local: bool = False
    bound: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class KernelRef:
    """A kernel: one found (`function`), or an imported name not found (`imported`: module, name)."""

    name: str
    scope: PythonScope | None = None
    function: Function | None = None
    imported: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of several kernels or functions; with `condition`, the first of two where it holds and else the second."""

    options: tuple[HostVal, ...]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """`functools.partial(target, ...)` or `kernel[grid]` not called yet (`grid` set)."""

    target: HostVal
    args: tuple[tuple[HostVal, ast.expr], ...] = ()
    keywords: tuple[tuple[str, HostVal, ast.expr], ...] = ()
    grid: ast.expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Meta:
    """The dictionary of compile-time parameters a grid function is called with."""


HostVal = (
    Tensor
    | Given
    | Int
    | Quotient
    | Literal
    | Truth
    | Seq
    | Mapping
    | SizesOf
    | Dtype
    | Pieces
    | Callable
    | KernelRef
    | Choice
    | Bound
    | Meta
)


_OBJECTS = frozenset({"self", "cls", "ctx"})


def given(key: str, name: str, *, span: Span | None = None, init: str = "given", is_tensor: bool = False) -> Given:
    tensor = Tensor(name, Shape(key, name), f"{key}.dtype", init=init, span=span, storage=name, layout=key)
    return Given(key, name, tensor, is_tensor)


def as_tensor(value: HostVal) -> Tensor | None:
    """The tensor a value is; a value of unknown kind becomes one, unless it is the object a method belongs to."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Given) and not value.is_int and not value.is_list and value.name not in _OBJECTS:
        value.is_tensor = True
        return value.tensor
    return None


def seen_tensor(value: HostVal) -> Tensor | None:
    """The tensor a value is already known to be."""
    if isinstance(value, Given):
        return value.tensor if value.is_tensor else None
    return value if isinstance(value, Tensor) else None


def as_int(value: HostVal | None) -> Expr | None:
    """The integer a value is; a value of unknown kind becomes one; True and False count as 1 and 0."""
    if isinstance(value, Int):
        return value.expr
    if isinstance(value, Given) and not value.is_tensor:
        return value.integer
    if isinstance(value, Literal) and isinstance(value.value, bool):
        from kernlint.ir.expr import const

        return const(int(value.value))
    return None
