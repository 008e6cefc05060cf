"""Opt-ins to more dynamic shared memory that a launch may owe to other code than the function it is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlint.ir.host import HostFunction
from kernlint.lift.cuda.unit import FunctionDefinition, TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = b"MaxDynamicSharedMemorySize"  # cudaFuncAttribute..., hipFuncAttribute...; the driver's name is in capitals
_DRIVER_WORD = b"MAX_DYNAMIC_SHARED_SIZE_BYTES"
MAX_PLACES = 200


@dataclass(frozen=True, slots=True)
class OptIn:
    """One place in the text that opts in.  `kernels` are those it names, () when that is not known."""

    kernels: tuple[str, ...]
    functions: tuple[int, ...]  # start offsets of the functions it stands in


def mark_opted_in_elsewhere(
    unit: TranslationUnit, functions: Iterable[HostFunction], tied: dict[int, set[str]]
) -> None:
    """Set `attribute_elsewhere` on launches whose kernel may have been opted in by another function, or by a helper.

    `tied` holds, by the offset of the first argument of an attribute call, the kernels that argument was found to be.
    """
    places = list(_opt_ins(unit, tied))
    if not places:
        return
    for function in functions:
        start = function.span.start
        for launch in function.launches:
            if any(
                not place.kernels or (launch.kernel_name in place.kernels and start not in place.functions)
                for place in places
            ):
                launch.attrs["attribute_elsewhere"] = True


def _opt_ins(unit: TranslationUnit, tied: dict[int, set[str]]) -> Iterable[OptIn]:
    units = {id(unit): unit}
    for definitions in unit.functions.values():
        for definition in definitions:
            units.setdefault(id(definition.unit), definition.unit)
    for one in units.values():
        for word in (_WORD, _DRIVER_WORD):
            at, count = one.data.find(word), 0
            while at >= 0 and count < MAX_PLACES:
                node = one.root.descendant_for_byte_range(at, at + 1)
                if node is not None and node.type not in ("comment", "string_content"):
                    yield _opt_in(unit, one, node, tied)
                at, count = one.data.find(word, at + len(word)), count + 1


def _opt_in(program: TranslationUnit, unit: TranslationUnit, node: Node, tied: dict[int, set[str]]) -> OptIn:
    around: Node | None = node
    while around is not None and around.type != "argument_list":
        around = around.parent
    functions = tuple(f.span.start for f in program.own if _encloses(f, unit, node))
    first = next((child for child in around.named_children if child.type != "comment"), None) if around else None
    if first is None:
        return OptIn((), functions)
    known = tied.get(unit.span(first).start)
    if known:
        return OptIn(tuple(sorted(known)), functions)
    name = unit.text(first).partition("<")[0].lstrip("&* (").rpartition("::")[2].strip(" )")
    is_kernel = any(function.is_kernel for function in program.functions.get(name, ()))
    return OptIn((name,) if is_kernel else (), functions)


def _encloses(function: FunctionDefinition, unit: TranslationUnit, node: Node) -> bool:
    return (
        function.unit is unit
        and function.node.start_byte <= node.start_byte
        and node.end_byte <= function.node.end_byte
    )
