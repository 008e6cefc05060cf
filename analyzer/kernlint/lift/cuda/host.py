"""Host functions of a CUDA text, the launches in them, and the binding of launches to kernels of the same text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from kernlint.ir.host import HostFunction, Launch
from kernlint.ir.kernel import Kernel
from kernlint.lift.cuda.host_bind import bind
from kernlint.lift.cuda.host_dispatch import explicit_instantiations, instantiated_types
from kernlint.lift.cuda.host_opt_in import mark_opted_in_elsewhere
from kernlint.lift.cuda.host_walk import Walker
from kernlint.lift.cuda.unit import FunctionDefinition, TranslationUnit

_MARKS = ("<<<", "LaunchKernel", "LaunchCooperativeKernel")
_WORD = re.compile(rb"\b[A-Za-z_]\w*(?=\s*\()")
_TEST = re.compile(r"^(?:test|Test|bench|main$)|_test$|Test$")


def host_functions(unit: TranslationUnit) -> list[HostFunction]:
    """Every host function defined in the text that launches something, with its launches, in order."""
    launching_macros = frozenset(
        name.encode() for name, macro in unit.macros.macros.items() if any(mark in macro.body for mark in _MARKS)
    )
    launchers = _launching_helpers(unit)
    found = []
    tied: dict[int, set[str]] = {}
    instantiations = explicit_instantiations(unit)
    for function in unit.own:
        if not function.is_host or not _may_launch(function, launching_macros, launchers):
            continue
        record = HostFunction(
            name=function.name,
            span=function.span,
            body_span=function.body_span,
            parameters=tuple(parameter.name for parameter in function.parameters),
            class_name=function.class_name,
            returns=function.return_type,
            is_test=_TEST.search(function.name) is not None,
        )
        walker = Walker(unit, function, record)
        walker.types = instantiated_types(function, instantiations)
        walker.run()
        tied.update(walker.tied)
        record.launches = sorted(walker.launches, key=lambda launch: (launch.span, launch.kernel_name))
        if record.launches:
            found.append(record)
    mark_opted_in_elsewhere(unit, found, tied)
    return found


def _launching_helpers(unit: TranslationUnit) -> frozenset[bytes]:
    """Functions that launch a kernel they are given: their callers are where the launch can be understood."""
    return frozenset(
        name.encode()
        for name, functions in unit.functions.items()
        for function in functions
        if function.launches and function.is_host
    )


def _may_launch(function: FunctionDefinition, macros: frozenset[bytes], helpers: frozenset[bytes]) -> bool:
    if function.launches:
        return True
    if not macros and not helpers:
        return False
    body = function.unit.data[function.body.start_byte : function.body.end_byte]
    return any(word in macros or word in helpers for word in _WORD.findall(body))


def bind_all(launches: Iterable[Launch], kernels: Iterable[Kernel]) -> None:
    """Bind each launch to the kernel of its name, when one accepts its arguments, and list it there."""
    by_name: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        by_name[kernel.name].append(kernel)
    for launch in launches:
        candidates = by_name.get(launch.kernel_name, [])
        fitting = [kernel for kernel in candidates if _accepts(kernel, launch)] or candidates[:1]
        if fitting:
            bind(launch, max(fitting, key=lambda kernel: _likeness(kernel, launch)))


def _accepts(kernel: Kernel, launch: Launch) -> bool:
    """Whether the number of arguments fits (overloads)."""
    if not launch.positional:
        return True
    wanted = [param for param in kernel.params if param.position >= 0]
    return len(launch.positional) == len(wanted)


def _likeness(kernel: Kernel, launch: Launch) -> int:
    """How well an overload or specialisation fits: template arguments as written, then the types of pointers."""
    specialization = "".join(str(kernel.attrs.get("specialization", "")).split())
    written = "<" + ",".join("".join(value.text.split()) for value in launch.template_arguments) + ">"
    score = 100 if specialization and specialization == written else (-100 if specialization else 0)
    ordinary = sorted((param for param in kernel.params if param.position >= 0), key=lambda param: param.position)
    for param, value in zip(ordinary, launch.positional, strict=False):
        given = value.tensor.dtype if value.tensor is not None else None
        if given is not None and param.dtype is not None:
            score += 1 if given == param.dtype else -1
    return score
