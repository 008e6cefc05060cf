"""Names of host types: which are integers, floats, tensors; their sizes in bytes."""

from __future__ import annotations

import re

from kernlint.ir.types import TYPES, ElementType

_INTEGERS = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "uchar": "uint8",
    "std::byte": "uint8",
    "c10::BFloat16": "bfloat16",
    "short": "int16",
    "unsigned short": "uint16",
    "int16_t": "int16",
    "uint16_t": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "signed": "int32",
    "signed int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "long long int": "int64",
    "int64_t": "int64",
    "ssize_t": "int64",
    "ptrdiff_t": "int64",
    "unsigned long": "uint64",
    "unsigned long int": "uint64",
    "unsigned long long": "uint64",
    "unsigned long long int": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
}
_FLOATS = {
    "float": "float32",
    "float32_t": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "nv_half": "float16",
    "at::Half": "float16",
    "c10::Half": "float16",
    "cutlass::half_t": "float16",
    "half_t": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "at::BFloat16": "bfloat16",
    "cutlass::bfloat16_t": "bfloat16",
    "__nv_fp8_e4m3": "float8e4m3",
    "__nv_fp8_e5m2": "float8e5m2",
}
_VECTOR_BASES = {
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "int": 4,
    "uint": 4,
    "float": 4,
    "long": 8,
    "longlong": 8,
    "ulonglong": 8,
    "double": 8,
}
_PAIRS = {"half2": 4, "__half2": 4, "__nv_bfloat162": 4, "nv_bfloat162": 4}
_INTEGER_NAME = re.compile(
    r"(?:int|idx|index|size|diff|off|offset|count|dim|id|len|length|long|word|byte)(?:_?\d+)?(?:_t|_type)?$", re.I
)
_TENSORS = ("Tensor", "TensorView", "NDArray", "DLTensor", "TensorOptional")


def element_type(text: str) -> ElementType | None:
    """The scalar type a name means, or None."""
    clean = " ".join(text.replace("const ", "").replace("std::", "").replace("::std::", "").split())
    name = _INTEGERS.get(clean) or _FLOATS.get(clean)
    return TYPES[name] if name is not None else None


def is_integer(text: str) -> bool:
    """Whether a host type is an integer: built-in names, and typedef-like names that say so."""
    found = element_type(text)
    if found is not None:
        return not found.is_float
    last = text.replace("const ", "").strip().rpartition("::")[2]
    return last == "IdType" or _INTEGER_NAME.search(last) is not None


def is_floating(text: str) -> bool:
    found = element_type(text)
    return found is not None and found.is_float


def is_tensor(text: str) -> bool:
    return text.replace("*", "").replace("&", "").strip().rpartition("::")[2] in _TENSORS


def size_of(text: str) -> int | None:
    """sizeof a built-in type in bytes, or None."""
    found = element_type(text)
    if found is not None:
        return found.bytes
    if text.endswith("*"):
        return 8
    clean = text.strip()
    if clean in _PAIRS:
        return _PAIRS[clean]
    if clean[-1:].isdigit() and clean[:-1] in _VECTOR_BASES:
        return _VECTOR_BASES[clean[:-1]] * int(clean[-1])
    return None
