"""The table of known functions: modules of this package add to it; `evaluate` looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kernlint.ir.expr import Expr
from kernlint.ir.types import TYPES, ElementType
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import number
from kernlint.lift.triton.state import Call, State
from kernlint.lift.triton.things import DType, Ref, Static, Thing

Builtin = Callable[[State, Call], Thing]
BUILTINS: dict[str, Builtin] = {}
F = TypeVar("F", bound=Builtin)


def builtin(*names: str) -> Callable[[F], F]:
    """Register a function of `triton.language`, or of Python when the name starts with `py.`."""

    def register(function: F) -> F:
        for name in names:
            BUILTINS[name] = function
        return function

    return register


_ALIASES = {
    "int1": "bool",
    "float8e4nv": "float8e4m3",
    "float8e4b8": "float8e4m3",
    "float8e4b15": "float8e4m3",
    "float8e5": "float8e5m2",
    "float8e5b16": "float8e5m2",
    "float8_e4m3fn": "float8e4m3",
    "float8_e5m2": "float8e5m2",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "bf16": "bfloat16",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "fp8e4nv": "float8e4m3",
    "fp8e5": "float8e5m2",
    "float8e4nv_fnuz": "float8e4m3",
}


def type_named(name: str) -> ElementType | None:
    """The element type Triton calls this (`float8e4nv`, `fp16`, `int1`), or None."""
    return TYPES.get(_ALIASES.get(name, name))


def dtype_of(thing: Thing | None) -> DType | None:
    """What an argument in a `dtype=` place means; None when it is not a type."""
    if isinstance(thing, DType):
        return thing
    if isinstance(thing, Static) and isinstance(thing.value, str):
        found = type_named(thing.value)
        return DType(found) if found is not None else None
    if isinstance(thing, Value):
        # a constexpr parameter holding a type, or a value whose type is meant
        return DType(None, thing)
    if isinstance(thing, Ref):
        found = type_named(thing.dotted.rpartition(".")[2])
        return DType(found)
    return None


def exprs_of(thing: Thing | None) -> tuple[Expr | None, ...] | None:
    """The integers of a shape, stride or offset argument; a single number is one of them."""
    if isinstance(thing, tuple):
        return tuple(item.expr if isinstance(item, Value) else None for item in thing)
    if isinstance(thing, Value) and thing.expr is not None:
        return (thing.expr,)
    return None


def integer(thing: Thing | None) -> int | None:
    known = number(thing)
    return known if isinstance(known, int) else None


def text(thing: Thing | None) -> str | None:
    return thing.value if isinstance(thing, Static) and isinstance(thing.value, str) else None


def is_none(thing: Thing | None) -> bool:
    return thing is None or (isinstance(thing, Static) and thing.value is None)
