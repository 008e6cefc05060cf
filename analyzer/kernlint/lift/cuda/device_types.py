"""C++ types as far as kernels need them: element types with C widths, vector types, conversions, literals.

Widths are those of the LP64 model CUDA uses on Linux: `long` has 64 bits.  Sources: CUDA C++ Programming Guide
"Built-in vector types"; C++ standard [conv.prom], [expr.arith.conv].
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import Expr, const, param
from kernlint.ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, TYPES, UINT32, UINT64, ElementType
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.lift.cuda.unit import Struct

_ALIASES = {
    "int8": "char int8_t std::int8_t schar __int8",
    "uint8": "uint8_t std::uint8_t uchar byte std::byte",
    "int16": "short int16_t std::int16_t __int16",
    "uint16": "uint16_t std::uint16_t ushort char16_t",
    "int32": "int int32_t std::int32_t signed long_int32 wchar_t cudaError_t",
    "uint32": "unsigned uint32_t std::uint32_t uint char32_t",
    "int64": "long int64_t std::int64_t ptrdiff_t std::ptrdiff_t ssize_t intptr_t std::intptr_t longlong __int64",
    "uint64": "size_t std::size_t uint64_t std::uint64_t uintptr_t std::uintptr_t ulonglong ulong",
    "float16": "half __half half_t cutlass::half_t __half_raw at::Half c10::Half Half nv_half float16_t",
    "bfloat16": "__nv_bfloat16 nv_bfloat16 bfloat16 bfloat16_t cutlass::bfloat16_t at::BFloat16 c10::BFloat16 BFloat16 "
    "hip_bfloat16",
    "float32": "float float32_t",
    "float64": "double float64_t",
    "tfloat32": "tfloat32_t cutlass::tfloat32_t",
    "float8e4m3": "__nv_fp8_e4m3 float_e4m3_t cutlass::float_e4m3_t c10::Float8_e4m3fn at::Float8_e4m3fn",
    "float8e5m2": "__nv_fp8_e5m2 float_e5m2_t cutlass::float_e5m2_t c10::Float8_e5m2 at::Float8_e5m2",
    "bool": "bool",
}
_VECTORS = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}
COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}


def _names() -> dict[str, ElementType]:
    table = {alias: TYPES[name] for name, aliases in _ALIASES.items() for alias in aliases.split()}
    for prefix, name in _VECTORS.items():
        for lanes in (1, 2, 3, 4):
            table[f"{prefix}{lanes}"] = replace(TYPES[name], lanes=lanes)
    for alias in ("half2", "__half2", "nv_half2"):
        table[alias] = replace(TYPES["float16"], lanes=2)
    for alias in ("__nv_bfloat162", "nv_bfloat162", "bfloat162"):
        table[alias] = replace(TYPES["bfloat16"], lanes=2)
    for lanes in (2, 4):
        for letters, name in (("e4m3", "float8e4m3"), ("e5m2", "float8e5m2")):
            table[f"__nv_fp8x{lanes}_{letters}"] = replace(TYPES[name], lanes=lanes)
    table["dim3"] = replace(UINT32, lanes=3)
    return table


_NAMES = _names()
_WORDS = frozenset({"unsigned", "signed", "int", "char", "short", "long", "double", "__int64"})
_DROPPED = re.compile(
    r"\b(?:const|volatile|constexpr|typename|struct|class|enum|__restrict__|__restrict|static|inline|mutable"
    r"|__shared__|__device__|__constant__|template|register|extern|__grid_constant__)\b"
)


@dataclass(slots=True, eq=False)  # never changed; not frozen, since making frozen ones costs twice as much
class CType:
    """A type: `element` for scalars and vectors, `name` for what is not one, behind `depth` pointers.

    `extents` are array extents outermost first, inside the pointers.  `arguments` are template arguments as written.
    """

    name: str
    element: ElementType | None = None
    depth: int = 0
    extents: tuple[Expr, ...] = ()
    struct: Struct | None = None
    arguments: tuple[str, ...] = ()
    const: bool = False

    @property
    def is_void(self) -> bool:
        return self.name == "void" and not self.depth

    @property
    def is_scalar(self) -> bool:
        return self.element is not None and not self.depth and not self.extents

    @property
    def is_object(self) -> bool:
        """A class type (or one not known to be a scalar) by value."""
        return self.element is None and not self.depth and not self.extents and not self.is_void

    def pointed(self) -> CType:
        return self.with_depth(self.depth - 1) if self.depth else self

    def pointer(self) -> CType:
        return self.with_depth(self.depth + 1)

    def with_depth(self, depth: int, const: bool | None = None) -> CType:
        """The same type behind another number of pointers."""
        known = self.const if const is None else const
        if depth == self.depth and known == self.const:
            return self
        return CType(self.name, self.element, depth, self.extents, self.struct, self.arguments, known)

    @property
    def size(self) -> Expr:
        """Bytes of the element; a symbolic `sizeof(T)` when not known."""
        if self.depth:
            return const(8)
        if self.element is not None:
            return const(self.element.bytes)
        return param(f"sizeof({self.name})")


VOID = CType("void")
AUTO = CType("auto")
UNKNOWN = CType("")


def scalar(element: ElementType) -> CType:
    return CType(element.name, element)


def named_element(text: str) -> ElementType | None:
    """The element type a built-in type's name means, e.g. `unsigned long long` or `float4`."""
    found = _NAMES.get(text)
    if found is not None:
        return found
    words = text.split()
    if not words or not _WORDS.issuperset(words):
        return None
    unsigned = "unsigned" in words
    if "double" in words:
        return FLOAT64
    if "char" in words:
        return TYPES["uint8" if unsigned else "int8"]
    if "short" in words:
        return TYPES["uint16" if unsigned else "int16"]
    if "long" in words or "__int64" in words:
        return UINT64 if unsigned else INT64
    return UINT32 if unsigned else INT32


def split_type(text: str) -> tuple[str, tuple[str, ...], int, bool, bool]:
    """(name, template arguments, pointer depth, is reference, is const) of a type as written."""
    is_const = "const" in text
    clean = _DROPPED.sub(" ", text) if not text.isalnum() else text
    clean = clean.strip()
    depth, reference = 0, False
    while clean and clean[-1] in "*& ":
        depth += clean[-1] == "*"
        reference = reference or clean[-1] == "&"
        clean = clean[:-1]
    arguments: tuple[str, ...] = ()
    if clean.endswith(">") and "<" in clean:
        # the template argument list of the last component of the name
        level, at = 0, len(clean)
        for at in range(len(clean) - 1, -1, -1):
            level += (clean[at] == ">") - (clean[at] == "<")
            if level == 0:
                break
        arguments = split_arguments(clean[at + 1 : -1])
        clean = clean[:at]
    return " ".join(clean.split()).replace(" ::", "::").replace(":: ", "::"), arguments, depth, reference, is_const


def split_arguments(text: str) -> tuple[str, ...]:
    """Comma-separated pieces at bracket depth zero."""
    pieces, level, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "<([{":
            level += 1
        elif char in ">)]}":
            level -= 1
        elif char == "," and level == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    if last or pieces:
        pieces.append(last)
    return tuple(pieces)


def promoted(element: ElementType | None) -> ElementType | None:
    """Integer promotion: bool and types narrower than int become int."""
    if element is None or element.lanes != 1:
        return element
    if element is BOOL or (element.is_integer and element.bits < 32):
        return INT32
    return element


def common(a: ElementType | None, b: ElementType | None) -> ElementType | None:
    """The usual arithmetic conversions; None when either is unknown and the result could be either."""
    if a is not None and a.lanes != 1:
        return a
    if b is not None and b.lanes != 1:
        return b
    if a is None or b is None:
        known = a or b
        return known if known is not None and known == FLOAT64 else None
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return a if (a.bits, a.name) >= (b.bits, b.name) else b
        return a if a.is_float else b
    a, b = promoted(a) or INT32, promoted(b) or INT32
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind.value == "uint" else b


def integer_literal(text: str) -> tuple[int, ElementType] | None:
    """The value and type of an integer literal, or None."""
    body = text.replace("'", "").lower()
    digits = body.rstrip("ulz")
    suffix = body[len(digits) :]
    try:
        if digits.startswith(("0x", "0b")):
            value = int(digits, 0)
        elif len(digits) > 1 and digits.startswith("0"):
            value = int(digits, 8)
        else:
            value = int(digits)
    except ValueError:
        return None
    decimal = not digits.startswith("0")
    if "l" in suffix or "z" in suffix:
        return value, UINT64 if "u" in suffix or value >= 1 << 63 else INT64
    if "u" in suffix:
        return value, UINT32 if value < 1 << 32 else UINT64
    if value < 1 << 31:
        return value, INT32
    if not decimal and value < 1 << 32:
        return value, UINT32
    return value, INT64 if value < 1 << 63 else UINT64


def float_literal(text: str) -> tuple[float, ElementType] | None:
    """The value and type of a floating-point literal, or None."""
    body = text.replace("'", "").lower()
    is_hex = body.startswith("0x")
    element = FLOAT64
    if body.endswith("f") and not (is_hex and "p" not in body):
        element, body = FLOAT32, body[:-1]
    elif body.endswith("l"):
        body = body[:-1]
    try:
        return (float.fromhex(body) if is_hex else float(body)), element
    except (ValueError, OverflowError):
        return None
