"""Quoted includes of the same project: found, parsed once, and merged into the unit that includes them."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import field
from weakref import WeakKeyDictionary

from kernlint.lift.cuda.macros import MacroTable
from kernlint.lift.cuda.unit import TranslationUnit
from kernlint.records import dataclass
from kernlint.source.file import Resolver, SourceFile

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
MAX_DEPTH = 8
MAX_FILES = 60
MAX_FILE_BYTES = 400_000
MAX_TOTAL_BYTES = 1_500_000
_CACHE_BYTES = 12_000_000


@dataclass(slots=True)
class _Cache:
    """Units by path with the text they were made of, newest last, and the include names of texts seen."""

    units: OrderedDict[str, tuple[bytes, TranslationUnit | None]] = field(default_factory=OrderedDict)
    names: dict[str, tuple[bytes, tuple[str, ...]]] = field(default_factory=dict)
    size: int = 0


_CACHES: WeakKeyDictionary[Resolver, _Cache] = WeakKeyDictionary()


def _cache_of(resolver: Resolver) -> _Cache:
    try:
        return _CACHES.setdefault(resolver, _Cache())
    except TypeError:  # a resolver that cannot be a dictionary key
        return _Cache()


def _include_names(cache: _Cache, path: str, data: bytes) -> tuple[str, ...]:
    """The names of quoted includes in a text, in order."""
    text, names = cache.names.get(path, (b"", ()))
    if text is not data:
        names = tuple(match.group(1).decode("utf-8", "replace") for match in _INCLUDE.finditer(data))
        if len(cache.names) > 4 * MAX_FILES:
            cache.names.clear()
        cache.names[path] = (data, names)
    return names


def included_files(source: SourceFile, text: bytes, resolver: Resolver) -> list[SourceFile]:
    """The local files a text includes, directly or through others, each once, those included first first.

    Cycles, missing files and whatever exceeds the limits are left out."""
    found: list[SourceFile] = []
    seen = {source.path}
    total = 0
    cache = _cache_of(resolver)

    def visit(path: str, data: bytes, depth: int) -> None:
        nonlocal total
        if depth > MAX_DEPTH:
            return
        for name in _include_names(cache, path, data):
            if len(seen) > MAX_FILES:
                return
            try:
                included = resolver.include(name, path)
            except (OSError, ValueError):  # a resolver should answer None; a strange name must not stop the lint
                continue
            if included is None or included.path in seen or len(included.data) > MAX_FILE_BYTES:
                continue
            if total + len(included.data) > MAX_TOTAL_BYTES:
                continue
            seen.add(included.path)
            total += len(included.data)
            visit(included.path, included.data, depth + 1)
            found.append(included)

    if b"#" in text and b"include" in text:
        visit(source.path, text, 0)
    return found


def included_units(files: list[SourceFile], resolver: Resolver) -> list[TranslationUnit]:
    """The parsed units of included files (each with its own declarations only), cached for the resolver's life."""
    from kernlint.lift.cuda.prepare import parse_alone

    cache = _cache_of(resolver)
    units: list[TranslationUnit] = []
    known = MacroTable()
    for file in files:
        data, unit = cache.units.get(file.path, (None, None))
        if data is not None and (data is file.data or data == file.data):
            cache.units.move_to_end(file.path)
        else:
            unit = parse_alone(file, file.data, None, known)
            cache.size += len(file.data) - len(data or b"")
            cache.units[file.path] = (file.data, unit)
            while cache.size > _CACHE_BYTES and len(cache.units) > 1:
                cache.size -= len(cache.units.popitem(last=False)[1][0])
        if unit is not None:
            units.append(unit)
            known.update(unit.macros)
    return units


def merge(unit: TranslationUnit, included: TranslationUnit) -> None:
    """Make the declarations of an included unit visible in `unit`, behind those it already has."""
    for name, functions in included.functions.items():
        unit.functions.setdefault(name, []).extend(functions)
    for name, constants in included.constants.items():
        unit.constants.setdefault(name, []).extend(constants)
    for name, structs in included.structs.items():
        unit.structs.setdefault(name, []).extend(structs)
    for name, alias in included.aliases.items():
        unit.aliases.setdefault(name, alias)
    for name, templates in included.alias_templates.items():
        unit.alias_templates.setdefault(name, templates)
    for name, variable in included.variables.items():
        unit.variables.setdefault(name, variable)
    unit.dependencies.append(included.path)
