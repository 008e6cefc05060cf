"""Element types, spans and memory spaces."""

from __future__ import annotations

import enum

from kernlint.records import dataclass


class TypeClass(enum.Enum):
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    BOOL = "bool"
    POINTER = "pointer"


@dataclass(frozen=True, slots=True)
class ElementType:
    """A scalar element type.  `bits` counts storage bits; `name` follows NumPy and Triton (`float16`, `bfloat16`,
    `int32`, `float8e4m3`).  `lanes` is the vector length of CUDA vector types such as `float4` (4)."""

    name: str
    kind: TypeClass
    bits: int
    lanes: int = 1

    @property
    def is_float(self) -> bool:
        return self.kind is TypeClass.FLOAT

    @property
    def is_integer(self) -> bool:
        return self.kind in (TypeClass.INT, TypeClass.UINT)

    @property
    def bytes(self) -> int:
        return max(1, self.bits * self.lanes // 8)

    def __repr__(self) -> str:
        return self.name if self.lanes == 1 else f"{self.name}x{self.lanes}"


def _table() -> dict[str, ElementType]:
    types = [ElementType("bool", TypeClass.BOOL, 8)]
    types += [ElementType(f"int{bits}", TypeClass.INT, bits) for bits in (8, 16, 32, 64)]
    types += [ElementType(f"uint{bits}", TypeClass.UINT, bits) for bits in (8, 16, 32, 64)]
    types += [ElementType(f"float{bits}", TypeClass.FLOAT, bits) for bits in (16, 32, 64)]
    types += [ElementType("bfloat16", TypeClass.FLOAT, 16), ElementType("tfloat32", TypeClass.FLOAT, 32)]
    types += [ElementType(name, TypeClass.FLOAT, 8) for name in ("float8e4m3", "float8e5m2")]
    return {t.name: t for t in types}


TYPES = _table()
INT32, INT64, UINT32, UINT64 = TYPES["int32"], TYPES["int64"], TYPES["uint32"], TYPES["uint64"]
FLOAT16, BFLOAT16, FLOAT32, FLOAT64 = TYPES["float16"], TYPES["bfloat16"], TYPES["float32"], TYPES["float64"]
BOOL = TYPES["bool"]


class Space(enum.Enum):
    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"  # per-thread arrays
    CONSTANT = "constant"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open byte range in a file.  `path` is as given by the user, with forward slashes.  Lines and columns are
    derived once, when a finding is reported."""

    path: str
    start: int
    end: int
