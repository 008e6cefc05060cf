"""Parse CUDA text, blanking what the grammar cannot take without moving any offset."""

from __future__ import annotations

from kernlint.lift.cuda.declarations import collect, error_nodes
from kernlint.lift.cuda.macros import MacroTable
from kernlint.lift.cuda.parser import MAX_BYTES, nested_too_deep, parse
from kernlint.lift.cuda.unit import OffsetMap, TranslationUnit
from kernlint.source.file import NoResolver, Resolver, SourceFile


def parse_unit(
    source: SourceFile, text: bytes | None = None, offsets: OffsetMap | None = None, resolver: Resolver | None = None
) -> TranslationUnit | None:
    """Parse `text` (the file's bytes unless given, as for CUDA embedded in Python) and collect its declarations.

    None when it cannot be parsed at all (too large, nested too deep)."""
    data = source.data if text is None else text
    resolver = resolver or NoResolver()
    if len(data) > MAX_BYTES or nested_too_deep(data):
        return None
    unit = TranslationUnit(source, data, parse(data), MacroTable(), offsets or OffsetMap())
    collect(unit)
    unit.error_nodes = error_nodes(unit)
    return unit
