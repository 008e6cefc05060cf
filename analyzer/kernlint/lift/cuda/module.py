"""CUDA text -> `Module`: kernels, host functions with their launches, and what could not be parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernlint.ir.kernel import Framework, Kernel, Module, Param, ParamRole, UnparsedRegion
from kernlint.ir.types import Span
from kernlint.lift.cuda.prepare import has_device_code, parse_unit
from kernlint.lift.cuda.unit import FunctionDefinition, OffsetMap, TranslationUnit
from kernlint.source.file import CUDA, Resolver, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_REGIONS = 200
_MAX_MESSAGE = 200


# Closed comments, closed strings and preprocessor lines: what may mention `__global__` without defining a kernel.
_CLOSED = re.compile(
    rb"//(?:\\\r?\n|[^\n])*|/\*.*?\*/"
    rb'|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    rb"|^[ \t]*#(?:\\\r?\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_KERNEL = re.compile(rb"\b__global__\b[^;{}]{0,2000}\{")


def lift_cuda(source: SourceFile, resolver: Resolver) -> Module:
    """Lift a CUDA file.  Files without device code give an empty module at the price of a search for words."""
    return lift_cuda_text(source, source.data, OffsetMap(), resolver)


def lift_cuda_text(source: SourceFile, text: bytes, offsets: OffsetMap, resolver: Resolver) -> Module:
    """Lift CUDA text whose bytes lie in `source` as `offsets` say; all spans are those of `source`."""
    module = Module(source.path, CUDA)
    if not has_device_code(text):
        return module
    unit = parse_unit(source, text, offsets, resolver)
    if unit is None:
        whole = Span(source.path, offsets(0), offsets(max(0, len(text) - 1)) + 1 if text else offsets(0))
        module.unparsed.append(UnparsedRegion(whole, "too large or nested too deep to parse"))
        module.notes.append("the CUDA text is too large or nested too deep to parse")
        return module
    module.dependencies = tuple(dict.fromkeys(unit.dependencies))
    for function in unit.own:
        if function.is_kernel:
            module.kernels.append(_lift_one(function, unit, module))
        elif function.is_device:
            module.device_functions += 1
    _lift_host(unit, module)
    _add_unparsed(unit, module)
    lost = _lost_kernels(unit, module) if source.language == CUDA else None
    if lost is not None:
        module.unparsed.append(lost)
    return module


def _lost_kernels(unit: TranslationUnit, module: Module) -> UnparsedRegion | None:
    """The place where a text stopped being understood, when it has the beginning of a kernel and gave none.

    An unterminated comment or string swallows what follows; unsaid, the file would look like one without kernels.
    """
    if module.kernels or b"__global__" not in unit.data:
        return None
    text = _CLOSED.sub(lambda match: b" " * len(match.group()), unit.data)
    found = _KERNEL.search(text)
    if found is None:
        return None
    where = unit.span_of(found.start(), found.start() + len(b"__global__"))
    names = [name for name in re.findall(rb"(\w+)\s*\(", found.group()) if name != b"__launch_bounds__"]
    name = names[0].decode("utf-8", "replace") if names else "?"
    return UnparsedRegion(where, "it could not be read at all; is a comment or string open above it?", name)


def _lift_one(function: FunctionDefinition, unit: TranslationUnit, module: Module) -> Kernel:
    """The kernel as evaluated; when evaluation itself fails, the kernel's outline marked incomplete."""
    from kernlint.lift.cuda.evaluate import lift_kernel

    try:
        kernel = lift_kernel(function, unit)
    except Exception as problem:  # a linter must outlive any one kernel
        reason = f"internal error while lifting: {type(problem).__name__}: {problem}"[:_MAX_MESSAGE]
        module.unparsed.append(UnparsedRegion(function.span, reason, function.name))
        kernel = outline(function)
        kernel.incomplete = reason
    if function.specialization:
        kernel.attrs["specialization"] = function.specialization
    kernel.parsed_with_errors = kernel.parsed_with_errors or function.parsed_with_errors
    return kernel


def outline(function: FunctionDefinition) -> Kernel:
    """A kernel with its parameters and no body."""
    unit = function.unit
    params: list[Param] = []
    for template in function.template_parameters:
        role = ParamRole.CONSTEXPR if template.kind == "value" else ParamRole.TYPE
        params.append(Param(template.name, role, unit.span(template.node), position=-1))
    for index, parameter in enumerate(function.parameters):
        role = ParamRole.POINTER if parameter.is_pointer else ParamRole.UNKNOWN
        params.append(Param(parameter.name, role, unit.span(parameter.node), None, None, parameter.type_text, index))
    return Kernel(function.name, Framework.CUDA, function.span, function.body_span, tuple(params))


def _lift_host(unit: TranslationUnit, module: Module) -> None:
    from kernlint.lift.cuda.host import bind_all, host_functions

    try:
        module.functions = host_functions(unit)
    except Exception as problem:
        reason = f"internal error while reading host code: {type(problem).__name__}: {problem}"[:_MAX_MESSAGE]
        module.unparsed.append(UnparsedRegion(unit.span_of(0, min(1, len(unit.data))), reason))
        module.notes.append(reason)
        return
    module.launches = [launch for function in module.functions for launch in function.launches]
    bind_all(module.launches, module.kernels)


def _add_unparsed(unit: TranslationUnit, module: Module) -> None:
    """Broken places inside kernels, by kernel; broken places elsewhere are only counted."""
    outside = 0
    for part in (unit, *unit.parts):
        kernels = [function for function in unit.own if function.is_kernel and function.unit is part]
        for node in part.error_nodes:
            owner = next(
                (f for f in kernels if f.node.start_byte <= node.start_byte and node.end_byte <= f.node.end_byte), None
            )
            if owner is None:
                outside += 1
            elif len(module.unparsed) < MAX_REGIONS:
                module.unparsed.append(UnparsedRegion(part.span(node), _reason(node), owner.name))
    if outside:
        module.notes.append(f"{outside} place(s) outside kernels could not be parsed")


def _reason(node: Node) -> str:
    return f"missing `{node.type}`" if node.is_missing else "unexpected text"
