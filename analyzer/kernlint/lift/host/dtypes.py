"""Element types as PyTorch and Triton name them on the host."""

from __future__ import annotations

from kernlint.ir.types import TYPES, ElementType

_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "float8_e4m3fn": "float8e4m3",
    "float8_e4m3fnuz": "float8e4m3",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2",
    "float8e4nv": "float8e4m3",
    "float8e5": "float8e5m2",
}

# Methods that convert a tensor's element type.
CASTS = {
    name: TYPES[_NAMES.get(name, name)]
    for name in ("half", "float", "double", "long", "int", "short", "char", "byte", "bfloat16", "bool")
}


def torch_dtype(dotted: str) -> ElementType | None:
    """`torch.float16`, `triton.language.float32`, `numpy.int64` -> the element type."""
    module, _, name = dotted.rpartition(".")
    if module not in ("torch", "triton.language", "numpy"):
        return None
    return TYPES.get(_NAMES.get(name, name))
