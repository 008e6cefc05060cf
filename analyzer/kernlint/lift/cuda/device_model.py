"""What the machine works on: objects, places, scopes, and the ways control can take."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import FALSE, Condition
from kernlint.ir.types import BOOL
from kernlint.ir.value import Buffer, Value
from kernlint.lift.cuda.device_types import UNKNOWN, CType
from kernlint.records import dataclass

if TYPE_CHECKING:
    pass


@dataclass(slots=True, eq=False)
class Object:
    """A class object.  Fields written live in the state under `vid.field`; others come from `base`, from memory
    (`address`), or, when `symbolic`, are named constants of the launch such as `params.stride`."""

    ctype: CType
    path: str
    vid: int
    symbolic: bool = False
    base: Object | None = None
    address: Value | None = None
    buffer: Buffer | None = None
    written: set[str] = field(default_factory=set)
    choice: tuple[Condition, Object, Object, Value | None] | None = None  # one of two, after a branch
    scope: Scope | None = None  # in which its members' declarations are read, once made
    function: Any = None  # a Lambda
    role: str = ""  # cooperative groups, barriers, atomic references: what methods mean
    extra: tuple[Value, ...] = ()


@dataclass(slots=True, eq=False)
class Place:
    """Something assignable: a variable's state (`key`) or memory (`address`); neither when not understood."""

    ctype: CType
    key: str = ""
    address: Value | None = None
    component: int = -1  # of a vector held in `key`
    name: str = ""
    value: Value | None = None  # what stands there, when it is no lvalue


@dataclass(slots=True, eq=False)
class TypedValue(Value):
    """A value with what only the front end needs: the C++ type (for pointers: of the pointee) and object identity.

    `finish` clears these, so that no syntax tree leaves the front end.
    """

    ctype: CType | None = None
    obj: Object | None = None
    place: Place | None = None
    items: dict[str, Value] | None = None  # known contents of a local array, by index key


@dataclass(slots=True, eq=False)
class Variable:
    """A declared name.  `place` is set for references, `buffer` for arrays."""

    name: str
    vid: int
    ctype: CType
    key: str
    buffer: Buffer | None = None
    place: Place | None = None


@dataclass(slots=True, eq=False)
class Scope:
    names: dict[str, Variable | CType] = field(default_factory=dict)
    parent: Scope | None = None
    this: Object | None = None
    types: dict[str, CType] = field(default_factory=dict)  # resolved texts, cached; shared with inner blocks

    def lookup(self, name: str) -> Variable | CType | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def receiver(self) -> Object | None:
        scope: Scope | None = self
        while scope is not None:
            if scope.this is not None:
                return scope.this
            scope = scope.parent
        return None


@dataclass(slots=True, eq=False)
class Way:
    """One way of leaving a loop iteration, a switch or a function: under what condition, with what written."""

    condition: Condition
    writes: dict[str, Value]
    value: Value | None = None
    result: Value | None = None  # of `return`


@dataclass(slots=True, eq=False)
class Target:
    """Where `return`, `break` or `continue` go to."""

    kind: str  # function, loop, switch
    layer: int
    frame: int
    ways: list[Way] = field(default_factory=list)
    breaks: list[Way] = field(default_factory=list)
    breaks_taken: list[Condition] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Left:
    """Control may have left: by `return` under `returns`, by `break` or `continue` under `jumps`."""

    returns: Condition = FALSE
    jumps: Condition = FALSE
    value: Value | None = None


def pointee(value: Value) -> CType:
    """The type a pointer value points to, as far as known."""
    if isinstance(value, TypedValue) and value.ctype is not None:
        return value.ctype
    if value.pointer is not None and value.pointer.dtype is not None:
        return CType(value.pointer.dtype.name, value.pointer.dtype)
    return UNKNOWN


def object_of(value: Value) -> Object | None:
    return value.obj if isinstance(value, TypedValue) else None


def integer(value: Value) -> bool:
    return value.dtype is not None and (value.dtype.is_integer or value.dtype is BOOL)
