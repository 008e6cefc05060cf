"""Parse CUDA text, blanking what the grammar cannot take without moving any offset.

The grammar (tree-sitter-cuda 0.21) misses a number of annotations, and unexpanded macros and conditionals that split
a construct are beyond any grammar.  Text is first parsed with the known annotations blanked.  While errors remain,
further kinds of blanking are tried one after the other, and each is kept only when it leaves fewer errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernlint.lift.cuda import branches, includes
from kernlint.lift.cuda.blanking import Edit, annotation_edits, blanked, construct_edits
from kernlint.lift.cuda.declarations import collect, error_nodes, kernel_count
from kernlint.lift.cuda.macro_blanks import (
    ambiguity_edits,
    defined_macros,
    specifier_edits,
    statement_edits,
    type_argument_edits,
)
from kernlint.lift.cuda.macros import MacroTable
from kernlint.lift.cuda.parser import MAX_BYTES, nested_too_deep, parse, reparse
from kernlint.lift.cuda.salvage import lost_kernels
from kernlint.lift.cuda.unit import OffsetMap, Recorded, TranslationUnit
from kernlint.records import dataclass
from kernlint.source.file import NoResolver, Resolver, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_MARKS = (b"__global__", b"__device__", b"<<<", b"__shared__", b"cudaLaunchKernel", b"cudaLaunchCooperativeKernel")
MAX_ROUNDS = 2  # what one kind of blanking uncovers, another may repair
MAX_REPAIR_BYTES = 3_000_000  # larger files are parsed once


def has_device_code(data: bytes) -> bool:
    """Whether a text can contain a kernel, a device function or a launch: a search for words, no parse."""
    return any(mark in data for mark in _MARKS)


def parse_unit(
    source: SourceFile, text: bytes | None = None, offsets: OffsetMap | None = None, resolver: Resolver | None = None
) -> TranslationUnit | None:
    """Parse `text` (the file's bytes unless given, as for CUDA embedded in Python) and collect what it and its local
    includes declare.  None when it cannot be parsed at all (too large, nested too deep)."""
    data = source.data if text is None else text
    resolver = resolver or NoResolver()
    headers = includes.included_units(includes.included_files(source, data, resolver), resolver)
    known = MacroTable()
    for header in headers:
        known.update(header.macros)
    unit = parse_alone(source, data, offsets, known)
    if unit is None:
        return None
    own, unit.macros = unit.macros, known
    unit.macros.update(own)
    for header in headers:
        includes.merge(unit, header)
    return unit


def parse_alone(
    source: SourceFile, data: bytes, offsets: OffsetMap | None, known: MacroTable
) -> TranslationUnit | None:
    """Parse one text; `known` are macros defined before it.  The unit's tables hold only its own declarations."""
    if len(data) > MAX_BYTES or nested_too_deep(data):
        return None
    parsed = _parse_best(data, known)
    unit = TranslationUnit(source, parsed.data, parsed.tree, MacroTable(), offsets or OffsetMap(), original=data)
    unit.recorded = sorted(parsed.recorded, key=lambda record: (record.start, record.end))
    collect(unit)
    unit.error_nodes = parsed.errors
    if unit.error_nodes:
        _salvage(unit, known)
    return unit


def _salvage(unit: TranslationUnit, known: MacroTable) -> None:
    """Parse kernels that are in the text but not in the tree, each alone, and add them to the unit."""
    kernels = [function for function in unit.own if function.is_kernel]
    for start, end in lost_kernels(unit.original, kernels):
        parsed = _parse_best(unit.original[start:end], known)
        macros = MacroTable()
        part = TranslationUnit(unit.source, parsed.data, parsed.tree, macros, unit.offsets.from_position(start))
        part.original = unit.original[start:end]
        part.recorded = sorted(parsed.recorded, key=lambda record: (record.start, record.end))
        collect(part)
        part.error_nodes = parsed.errors
        found = [function for function in part.own if function.is_kernel]
        if found:
            unit.parts.append(part)
        for function in found:
            unit.own.append(function)
            unit.functions.setdefault(function.name, []).append(function)
    if unit.parts:
        unit.own.sort(key=lambda function: function.span.start)


@dataclass(frozen=True, slots=True)
class _Parsed:
    data: bytes
    tree: Tree
    recorded: tuple[Recorded, ...]
    errors: list[Node]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Error ranges, disjoint, in order."""
        return [(node.start_byte, node.end_byte) for node in self.errors]


def _parsed(tree: Tree, data: bytes, recorded: tuple[Recorded, ...]) -> _Parsed:
    return _Parsed(data, tree, recorded, error_nodes(tree.root_node) if tree.root_node.has_error else [])


def _is_better(tried: _Parsed, current: _Parsed) -> bool:
    """Whether a parse has fewer errors (or smaller ones) and no kernel less, or finds more kernels."""
    if not tried.errors and tried.data.count(b"__global__") == current.data.count(b"__global__"):
        return True
    if _badness(tried) < _badness(current):
        return kernel_count(tried.tree.root_node) >= kernel_count(current.tree.root_node)
    whole = any(end - start > len(current.data) // 2 for start, end in current.ranges)
    return whole and kernel_count(tried.tree.root_node) > kernel_count(current.tree.root_node)


def _badness(parsed: _Parsed) -> tuple[int, int]:
    return len(parsed.errors), sum(end - start for start, end in parsed.ranges)


def _parse_best(data: bytes, known: MacroTable) -> _Parsed:
    edits = annotation_edits(data)
    text = blanked(data, edits)
    current = _parsed(parse(text), text, tuple(record for edit in edits for record in edit.records))
    if not current.errors or len(data) > MAX_REPAIR_BYTES:
        return current
    table = MacroTable(dict(known.macros))
    for macro in defined_macros(data):
        table.add(macro)
    steps: tuple[Callable[[_Parsed], list[Edit]], ...] = (
        lambda now: construct_edits(now.data),
        lambda now: ambiguity_edits(now.data, now.ranges),
        lambda now: type_argument_edits(now.data, table, now.ranges),
        lambda now: specifier_edits(now.data, table, now.ranges, by_shape=False),
        lambda now: specifier_edits(now.data, table, now.ranges, by_shape=True),
        lambda now: statement_edits(now.data, table, now.ranges),
        lambda now: _branch_edits(now, 0),
        lambda now: _branch_edits(now, -1),
    )
    for _ in range(MAX_ROUNDS):
        before = current
        for step in steps:
            edits = step(current)
            if not edits:
                continue
            records = current.recorded + tuple(record for edit in edits for record in edit.records)
            text = blanked(current.data, edits)
            ranges = sorted((edit.start, edit.end) for edit in edits)
            tried = _parsed(reparse(current.tree, text, ranges), text, records)
            if _is_better(tried, current):
                current = tried
            if not current.errors:
                return current
        if current is before:
            break
    return current


def _branch_edits(now: _Parsed, branch: int) -> list[Edit]:
    unclosed = [
        (parent.start_byte, parent.start_byte + 1)
        for node in now.errors
        if node.is_missing and node.type == "#endif" and (parent := node.parent) is not None
    ]
    found = branches.near_errors(branches.conditionals(now.data), sorted(now.ranges + unclosed))
    return [edit for conditional in found for edit in conditional.keep(branch)]
