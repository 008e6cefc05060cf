"""What names mean: types, aliases, template arguments, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import Expr, const
from kernlint.ir.value import Value
from kernlint.lift.cuda.device_machine import Machine, Scope, Variable
from kernlint.lift.cuda.device_types import AUTO, UNKNOWN, VOID, CType, named_element, split_arguments, split_type
from kernlint.lift.cuda.unit import Constant, Struct, TemplateParameter, TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ALIASES = 20
_ARRAY_POINTER = re.compile(r"([^(]*)\(\s*[*&][^)]*\)\s*((?:\[[^\]]*\]\s*)+)$")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LITERAL_TYPES = {"true": "bool", "false": "bool"}


@contextmanager
def within(m: Machine, unit: TranslationUnit, scope: Scope) -> Iterator[None]:
    """Evaluate nodes of another unit under another scope."""
    saved = (m.unit, m.data, m.scope)
    m.unit, m.data, m.scope = unit, unit.data, scope
    try:
        yield
    finally:
        m.unit, m.data, m.scope = saved


def resolve_type(m: Machine, text: str, scope: Scope | None = None) -> CType:
    """The type `text` names, seen from `scope` (the current one unless given)."""
    scope = scope or m.scope
    known = scope.types.get(text)
    if known is None:
        known = _resolve(m, text, scope, 0)
        scope.types[text] = known
    return known


def _resolve(m: Machine, text: str, scope: Scope, level: int) -> CType:
    if text.endswith("]") and "(" in text:
        behind = _ARRAY_POINTER.match(text)
        if behind is not None:  # a pointer to an array, `T (*)[N]`: as an array of unknown outer extent
            base = _resolve(m, behind.group(1), scope, level + 1)
            sizes = [m.expr_of(argument_value(m, size.strip(), scope)) for size in _BRACKETS.findall(behind.group(2))]
            return replace(base, extents=(const(0), *sizes))
    name, arguments, depth, _, is_const = split_type(text)
    found = _named(m, name, arguments, scope, level)
    if depth or is_const:
        found = replace(found, depth=found.depth + depth, const=found.const or is_const)
    return found


def _named(m: Machine, name: str, arguments: tuple[str, ...], scope: Scope, level: int) -> CType:
    if name in ("auto", "decltype(auto)"):
        return AUTO
    if name == "void":
        return VOID
    bound = scope.lookup(name)
    if isinstance(bound, CType):
        return bound
    element = named_element(name) if not arguments else None
    if element is not None:
        return CType(name, element)
    if level > MAX_ALIASES:
        return CType(name)
    owner, _, short = name.rpartition("::")
    enclosing = scope.lookup(owner.split("<")[0]) if owner else None
    dependent = isinstance(enclosing, CType) and enclosing.struct is None
    alias = m.home.aliases.get(name) or (m.home.aliases.get(short) if not name.startswith("std::") else None)
    if alias is not None and _split_name(alias) != short:
        parameters = m.home.alias_templates.get(short, ())
        if parameters and arguments:
            alias = substitute_words(alias, {p.name: a for p, a in zip(parameters, arguments, strict=False)})
        if not (parameters and not arguments) or alias:
            return _resolve(m, alias, scope, level + 1)
    structs = m.home.structs.get(short)
    if structs and not dependent and not name.startswith("std::"):
        struct = _specialized(structs, arguments)
        return CType(short, None, 0, (), struct, _canonical_arguments(m, arguments, scope, level))
    if short != name:
        element = named_element(short) if not arguments else None
        if element is not None and not name.startswith(("cuda::", "cooperative_groups")):
            return CType(short, element)
    return CType(name, None, 0, (), None, _canonical_arguments(m, arguments, scope, level))


def _split_name(text: str) -> str:
    return split_type(text)[0].rpartition("::")[2]


def _canonical_arguments(m: Machine, arguments: tuple[str, ...], scope: Scope, level: int) -> tuple[str, ...]:
    """Type arguments that are names bound to types in scope, by their meaning."""
    found = []
    for text in arguments:
        bound = scope.lookup(text)
        if isinstance(bound, CType) and bound.name:
            text = bound.name + "*" * bound.depth
        found.append(text)
    return tuple(found)


def _specialized(structs: list[Struct], arguments: tuple[str, ...]) -> Struct:
    """The explicit specialisation for these arguments, else the primary template."""
    if len(structs) > 1 and arguments:
        wanted = tuple("".join(argument.split()) for argument in arguments)
        for struct in structs:
            if struct.specialization:
                given = split_arguments(struct.specialization.strip()[1:-1])
                if tuple("".join(argument.split()) for argument in given) == wanted:
                    return struct
    return next((struct for struct in structs if not struct.specialization), structs[0])


def substitute_words(text: str, mapping: dict[str, str]) -> str:
    return _WORD.sub(lambda match: mapping.get(match.group(), match.group()), text)


def bind_templates(
    m: Machine,
    scope: Scope,
    parameters: tuple[TemplateParameter, ...],
    arguments: tuple[CType | Value | None, ...],
    unit: TranslationUnit,
    label: str,
) -> None:
    """Enter template parameters into `scope`: the arguments given, else defaults, else symbols named after `label`."""
    for index, parameter in enumerate(parameters):
        given = arguments[index] if index < len(arguments) else None
        if given is None and parameter.default is not None:
            with within(m, unit, scope):
                if parameter.kind == "value":
                    given = m.eval(parameter.default)
                else:
                    given = resolve_type(m, m.text(parameter.default), scope)
        if parameter.kind == "value":
            if not isinstance(given, Value):
                element = named_element(parameter.type_text)
                given = m.symbol(f"{label}{parameter.name}", CType(parameter.type_text, element))
            variable = _enter(m, scope, parameter.name, given)
            variable_type = named_element(parameter.type_text)
            if variable_type is not None:
                variable.ctype = CType(parameter.type_text, variable_type)
        elif parameter.kind == "type":
            scope.names[parameter.name] = given if isinstance(given, CType) else CType(parameter.name)


def _enter(m: Machine, scope: Scope, name: str, value: Value) -> Variable:
    m.vids += 1
    variable = Variable(name, m.vids, UNKNOWN, str(m.vids))
    scope.names[name] = variable
    m.write_base(variable.key, value)
    return variable


def struct_scope(m: Machine, ctype: CType) -> Scope:
    """The scope in which a struct's member declarations are read: its template parameters bound."""
    scope = Scope()
    struct = ctype.struct
    if struct is None:
        return scope
    bound: list[CType | Value | None] = []
    if not struct.specialization:
        for parameter, text in zip(struct.template_parameters, ctype.arguments, strict=False):
            if parameter.kind == "type":
                bound.append(resolve_type(m, text))
            else:
                bound.append(argument_value(m, text, m.scope))
    bind_templates(m, scope, struct.template_parameters, tuple(bound), struct.unit, f"{struct.name}::")
    return scope


def argument_value(m: Machine, text: str, scope: Scope) -> Value:
    """A non-type template argument given as text."""
    from kernlint.ir.types import BOOL, INT32
    from kernlint.lift.cuda.device_types import integer_literal

    literal = integer_literal(text) if text[:1].isdigit() else None
    if literal is not None:
        return m.constant(literal[0], literal[1])
    if text in _LITERAL_TYPES:
        return m.constant(text == "true", BOOL)
    found = scope.lookup(text)
    if isinstance(found, Variable):
        held = m.read(found.key)
        if held is not None:
            return held
    constant = constant_named(m, text.rpartition("::")[2]) if "(" not in text else None
    return constant if constant is not None else m.symbol(text, CType("int", INT32))


def constant_named(m: Machine, name: str, class_name: str = "") -> Value | None:
    """The value of a constexpr, enumerator or static constant member, evaluated once."""
    found = m.home.constants.get(name)
    if not found:
        return None
    chosen: Constant | None = None
    for candidate in found:
        if class_name:
            if candidate.class_name == class_name:
                chosen = candidate
        elif not candidate.class_name or candidate.is_enumerator:
            chosen = candidate
    if chosen is None:
        return None
    key = f"{class_name}::{name}"
    if key not in m.constants:
        m.constants[key] = None  # a constant defined by itself stays unknown
        m.constants[key] = evaluate_constant(m, chosen)
    return m.constants[key]


def constant_of(m: Machine, ctype: CType, scope: Scope, name: str) -> Value | None:
    """A static constant member of an instantiated class, read with its template parameters bound in `scope`."""
    if ctype.struct is None:
        return None
    owner = ctype.struct.name
    chosen = next((item for item in m.home.constants.get(name, ()) if item.class_name == owner), None)
    if chosen is None:
        return None
    key = f"{owner}<{','.join(ctype.arguments)}>::{name}@{id(scope)}"
    if key not in m.constants:
        m.constants[key] = None
        m.constants[key] = evaluate_constant(m, chosen, scope)
    return m.constants[key]


def evaluate_constant(m: Machine, constant: Constant, scope: Scope | None = None) -> Value | None:
    from kernlint.ir.types import INT32
    from kernlint.lift.cuda.device_ops import convert

    if constant.value is None:
        steps = 0
        origin: Constant | None = constant
        while origin is not None and origin.value is None and steps < 10_000:
            origin = origin.previous
            steps += origin is not None
        if origin is None or origin.value is None:
            return m.constant(steps, INT32)
        with within(m, origin.unit, Scope()):
            base = m.eval(origin.value)
        return m.value("const", (), INT32, None, m.expr_of(base) + steps, None, {"value": steps})
    scope = Scope(parent=scope)
    with within(m, constant.unit, scope):
        if constant.value.type == "initializer_list":
            from kernlint.lift.cuda.evaluate_declare import braced

            return braced(m, constant.value, resolve_type(m, constant.type_text, scope), constant.name)
        value = m.eval(constant.value)
        if constant.type_text and not constant.is_enumerator:
            value = convert(m, value, resolve_type(m, constant.type_text, scope), None, False)
    value.name = value.name or constant.name
    return value


def extent(m: Machine, size: Node | None) -> Expr | None:
    """An array extent; None when empty."""
    if size is None:
        return None
    value = m.eval(size)
    return m.expr_of(value)


def size_of(m: Machine, ctype: CType) -> Expr:
    """Bytes of a value of this type; symbolic when not known."""
    total = ctype.size
    struct = ctype.struct
    if struct is not None and not ctype.depth and struct.fields and not struct.is_union:
        size = _struct_size(m, ctype, struct)
        total = const(size) if size is not None else total
    for count in ctype.extents:
        total = total * count
    return total


def _struct_size(m: Machine, ctype: CType, struct: Struct) -> int | None:
    layout = struct_layout(m, ctype)
    return layout[0] if layout is not None else None


def sized(m: Machine, ctype: CType) -> CType:
    """A struct made to move several elements at once (`struct alignas(16) { half v[8]; }`) as the vector type it stands
    for, with all its bytes aligned; any other type as it is."""
    struct = ctype.struct
    if struct is None or ctype.depth or ctype.extents or ctype.element is not None or not struct.alignment:
        return ctype
    layout = struct_layout(m, ctype)
    scope = struct_scope(m, ctype)
    elements = {resolve_type(m, item.type_text, scope).element for item in struct.fields if not item.static}
    element = elements.pop() if len(elements) == 1 else None
    if layout is None or element is None or any(item.pointer_depth for item in struct.fields):
        return ctype
    whole = layout[0] in (4, 8, 16, 32) and layout[0] % element.bytes == 0
    stated = struct.alignment.strip()
    if not whole or (stated != str(layout[0]) and "sizeof" not in stated):
        return ctype
    lanes = layout[0] // element.bytes * element.lanes
    return replace(ctype, element=replace(element, lanes=lanes))


def struct_layout(m: Machine, ctype: CType) -> tuple[int, dict[str, int]] | None:
    """(bytes, offset of each member) of a struct of scalars, vectors, pointers and constant arrays of them, as the
    Itanium ABI lays it out; None when a member's size is not known."""
    struct = ctype.struct
    if struct is None or struct.is_union or struct.bases or not struct.fields:
        return None
    scope = struct_scope(m, ctype)
    size, largest = 0, 1
    offsets: dict[str, int] = {}
    for member in struct.fields:
        if member.static:
            continue
        element = resolve_type(m, member.type_text, scope).element
        width = 8 if member.pointer_depth else (element.bytes if element is not None else 0)
        count = 1
        with within(m, struct.unit, scope):
            for item in member.array_sizes:
                extent_value = m.expr_of(m.eval(item)).constant if item is not None else None
                count = count * extent_value if extent_value is not None else 0
        if width <= 0 or count <= 0:
            return None
        align = width if width in (1, 2, 4, 8, 16) else 4
        largest = max(largest, align)
        size = -(-size // align) * align
        offsets[member.name] = size
        size += width * count
    return -(-size // largest) * largest, offsets
