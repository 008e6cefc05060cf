"""How padding faults are said."""

from __future__ import annotations

import math

from kernlint.analysis.padding_judge import PaddingFault
from kernlint.ir.value import Value

_VERBS = {
    "sum": "adds them in",
    "prod": "multiplies them in",
    "max": "takes the largest of all lanes",
    "min": "takes the smallest of all lanes",
    "argmax": "searches all lanes",
    "argmin": "searches all lanes",
    "dot": "sums over all lanes",
    "sort": "sorts all lanes",
}


def name_of(value: Value | None, fallback: str = "the value") -> str:
    """The variable a value was assigned to, or the tensor a load reads, in backticks."""
    if value is None:
        return fallback
    if value.name:
        return f"`{value.name}`"
    access = value.access
    if value.op == "load" and access is not None and access.buffer is not None and access.buffer.name:
        return f"The load of `{access.buffer.name}`"
    return fallback


def number(value: float | None) -> str:
    if value is None:
        return "a changed value"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:g}"


_LONGEST_CONDITION = 90


def where_padded(fault: PaddingFault) -> str:
    """The start of a sentence that says which lanes are meant."""
    text = repr(fault.condition)
    return f"Where `{text}` fails" if len(text) <= _LONGEST_CONDITION else "Outside the mask"


def operation(fault: PaddingFault) -> str:
    """The operation that combines the lanes, as written in the kernel's language."""
    if fault.sink.op in ("add", "sub", "max", "min", "mul") and fault.sink.op != fault.operation:
        return f"the running {fault.operation}"
    if fault.sink.op == "scan":
        written = {"sum": "cumsum", "prod": "cumprod"}.get(fault.operation, f"scan with {fault.operation}")
        return f"the reverse `{written}`" if fault.sink.attrs.get("reverse") else f"`{written}`"
    return f"`{fault.operation}`"


def effect(fault: PaddingFault) -> str:
    return _VERBS.get(fault.operation, "combines all lanes")
