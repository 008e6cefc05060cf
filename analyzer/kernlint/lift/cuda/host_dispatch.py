"""Element types that a dispatch macro instantiates its body for: `AT_DISPATCH_FLOATING_TYPES_AND(at::kHalf, ...)`.

Names and meanings are those of `ATen/Dispatch.h` and of the macros modelled on it (`DISPATCH_FLOAT_AND_HALF`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlint.ir.types import TYPES, ElementType
from kernlint.lift.cuda.host_types import element_type
from kernlint.lift.cuda.parser import query
from kernlint.lift.cuda.unit import FunctionDefinition, TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node

_SCALAR_TYPES = {
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
    "Float8_e4m3fn": "float8e4m3",
    "Float8_e5m2": "float8e5m2",
}
_INSTANTIATION = re.compile(rb"\btemplate\s+[\w:]")
_FLOATING, _REDUCED = ("float64", "float32"), ("float16", "bfloat16")
_INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
# Words of macro names, e.g. of AT_DISPATCH_FLOATING_TYPES_AND_HALF, and of the lists AT_DISPATCH_V2 is given.
_WORDS = {
    "HALF": ("float16",),
    "FP16": ("float16",),
    "BFLOAT": ("bfloat16",),
    "BFLOAT16": ("bfloat16",),
    "BF16": ("bfloat16",),
    "FLOAT": ("float32",),
    "FP32": ("float32",),
    "DOUBLE": ("float64",),
    "FLOATING": _FLOATING,
    "REDUCED": _REDUCED,
    "INTEGRAL": _INTEGRAL,
    "ALL": (*_INTEGRAL, *_FLOATING),
}


def dispatched_types(name: str, arguments: Iterable[tuple[str, str]]) -> dict[str, tuple[ElementType, ...]]:
    """Types by the name the macro gives them inside its body; {} when `name` is no dispatch over known types.

    `arguments` are (node type, text) of what the macro is given.
    """
    if "DISPATCH" not in name:
        return {}
    found = _of_words(name)
    alias = "scalar_t"
    for kind, text in arguments:
        if kind in ("lambda_expression", "string_literal", "compound_statement") or len(text) > 80:
            continue
        last = text.rpartition("::")[2].strip()
        scalar = _SCALAR_TYPES.get(last.removeprefix("k"))
        if scalar is not None and (last.startswith("k") or "ScalarType" in text):
            found.append(scalar)
        elif "AT_" in text and "TYPES" in text:
            found += _of_words(text.replace("(", "_").replace(")", "_"))
        elif kind == "number_literal" and text.isdigit():
            alias = f"scalar_t_{text}"  # the level of nested dispatches
    types = tuple(sorted((TYPES[one] for one in dict.fromkeys(found)), key=lambda type_: (type_.bits, type_.name)))
    return {alias: types, "scalar_t": types} if types else {}


def _of_words(name: str) -> list[str]:
    words = name.split("_")
    found: list[str] = []
    for index, word in enumerate(words):
        if word == "FLOATING" and index and words[index - 1] == "REDUCED":
            continue
        found += _WORDS.get(word.rstrip("0123456789") if word not in _WORDS else word, ())
    return found


def instantiated_types(
    function: FunctionDefinition, instantiations: Iterable[tuple[str, tuple[str, ...]]]
) -> dict[str, tuple[ElementType, ...]]:
    """Types of a template's type parameters in its explicit instantiations: `template int run<__half>(...);`"""
    names = [template.name for template in function.template_parameters]
    kinds = [template.kind for template in function.template_parameters]
    if "type" not in kinds:
        return {}
    found: dict[str, list[ElementType]] = {}
    for label, arguments in instantiations:
        if label != function.name:
            continue
        for name, kind, text in zip(names, kinds, arguments, strict=False):
            type_ = element_type(text) if kind == "type" else None
            if type_ is not None:
                found.setdefault(name, []).append(type_)
    return {name: tuple(sorted(dict.fromkeys(types), key=lambda t: (t.bits, t.name))) for name, types in found.items()}


def explicit_instantiations(unit: TranslationUnit) -> list[tuple[str, tuple[str, ...]]]:
    """(function name, template arguments as written) of every explicit instantiation, in order."""
    from tree_sitter import QueryCursor

    found: list[tuple[str, tuple[str, ...]]] = []
    if _INSTANTIATION.search(unit.data) is None:
        return found
    for node in QueryCursor(query("(template_instantiation) @t")).captures(unit.root).get("t", []):
        named = _template_name(node)
        label, arguments = (
            (named.child_by_field_name("name"), named.child_by_field_name("arguments")) if named else (None, None)
        )
        if label is not None and arguments is not None:
            texts = tuple(" ".join(unit.text(child).split()) for child in arguments.named_children)
            found.append((unit.text(label), texts))
    return found


def _template_name(node: Node) -> Node | None:
    """`run<__half>` in the declarator of an instantiation."""
    current = node.child_by_field_name("declarator")
    while current is not None and current.type != "template_function":
        inner = current.child_by_field_name("declarator") or current.child_by_field_name("name")
        current = inner if inner is not None else next(iter(current.named_children), None)
    return current
