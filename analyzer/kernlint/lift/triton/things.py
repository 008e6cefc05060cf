"""What a name inside a Triton function can mean besides an IR value."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING, Union

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Expr
from kernlint.ir.kernel import Loop
from kernlint.ir.types import ElementType
from kernlint.ir.value import Buffer, Value
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.lift.host.scope import PythonScope


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type as a value: `tl.float32`, `x.dtype`, `ptr.dtype.element_ty`.

    `type` is None when it follows `like`, whose type is not known.  `pointer` is True for `tl.pointer_type(...)`.
    """

    type: ElementType | None
    like: Value | None = None
    pointer: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """What a reinterpreted pointer points to; `offset` is in elements of `dtype`."""

    buffer: Buffer | None
    dtype: ElementType | None
    offset: Expr
    casts: tuple[ElementType, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A compile-time Python object that is not a number: None, a string, an Ellipsis, a dictionary (as None)."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """A name outside the project, with imports expanded: `triton.language.load`, `builtins.range`."""

    dotted: str


@dataclass(frozen=True, slots=True, eq=False)
class Callee:
    """A function whose text is known, and the file it stands in.  `closure` holds the names around a nested one."""

    scope: PythonScope
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    jit: bool
    closure: dict[str, Thing] | None = None

    @property
    def name(self) -> str:
        return "lambda" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def is_lambda(self) -> bool:
        return isinstance(self.node, ast.Lambda)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method not called yet: `x.sum`."""

    receiver: Thing
    name: str


@dataclass(slots=True, eq=False)
class Pending:
    """A variable that a loop may carry.  It becomes a `carry` value only when it is read before it is assigned; `made`
    is what it became.  With `after` (its value at the end of an iteration) it stands for the value once the loop is
    done, worked out only when it is read."""

    init: Thing
    name: str
    carrier: Carrier
    made: Thing | None = None
    after: Thing | None = None


@dataclass(slots=True, eq=False)
class Carrier:
    """The loop being lifted, as far as its carried values are concerned."""

    loop: Loop
    region_length: int = 0
    first_ordinal: int = 0
    path_length: int = 0
    increments: dict[str, Thing] = field(default_factory=dict)  # known before the body is walked
    made: list[Pending] = field(default_factory=list)
    continued: list[tuple[Condition, dict[str, Thing]]] = field(default_factory=list)
    broken: list[tuple[Condition, dict[str, Thing]]] = field(default_factory=list)


Thing = Union[  # noqa: UP007 (a string inside needs it)
    Value, DType, Static, Ref, Callee, Bound, Pending, tuple["Thing", ...]
]

NONE = Static(None)
ARGUMENTS = Ref("kernel arguments")  # the dictionary a heuristic is handed
