"""What a piece of CUDA text declares: functions, structs, constants, aliases, file-scope variables, macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernlint.lift.cuda.declarators import Declared, declared, parameters_of, template_parameters_of, type_text_of
from kernlint.lift.cuda.macros import macro_from_directive
from kernlint.lift.cuda.parser import first_named, query
from kernlint.lift.cuda.unit import Constant, Field, FileArray, FunctionDefinition, Struct, TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.unit import TemplateParameter

_QUALIFIERS = {
    "__global__": "global",
    "__device__": "device",
    "__host__": "host",
    "__forceinline__": "forceinline",
    "__noinline__": "noinline",
}
_WORDS = {"static": "static", "inline": "inline", "constexpr": "constexpr", "consteval": "constexpr"}
_SPACES = {"__device__": "device", "__constant__": "constant", "__shared__": "shared", "__managed__": "managed"}
_CONTAINERS = frozenset(
    {
        "translation_unit",
        "namespace_definition",
        "linkage_specification",
        "declaration_list",
        "field_declaration_list",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "preproc_elifdef",
        "ERROR",
        "export_declaration",
    }
)
_CLASSES = frozenset({"struct_specifier", "class_specifier", "union_specifier"})
_KERNELS = '(function_definition "__global__" body: (compound_statement)) @kernel'
MAX_ERRORS = 2000
LAUNCH = re.compile(rb"<<<|\b(?:cuda|hip)Launch(?:Cooperative)?Kernel")


@dataclass(frozen=True, slots=True)
class _Scope:
    names: tuple[str, ...] = ()
    class_name: str = ""
    struct: Struct | None = None
    templates: tuple[TemplateParameter, ...] = ()


def collect(unit: TranslationUnit) -> None:
    """Fill the unit's tables from its own tree (appending to what includes have put there)."""
    seen: set[int] = set()
    pending: list[tuple[Node, _Scope]] = [(unit.root, _Scope())]
    while pending:
        node, scope = pending.pop()
        children: list[tuple[Node, _Scope]] = []
        for child in node.children:
            entered = _collect_one(unit, child, scope, seen)
            if entered is not None:
                children.append((child, entered))
        pending.extend(reversed(children))
    if unit.root.has_error:
        _collect_lost_kernels(unit, seen)
    unit.own.sort(key=lambda function: function.node.start_byte)


def _collect_one(unit: TranslationUnit, node: Node, scope: _Scope, seen: set[int]) -> _Scope | None:
    """Record a declaration; the scope to continue with when the node contains further ones."""
    kind = node.type
    if kind == "function_definition":
        _add_function(unit, node, scope, seen)
    elif kind == "template_declaration":
        return _Scope(scope.names, scope.class_name, scope.struct, scope.templates + template_parameters_of(unit, node))
    elif kind in ("declaration", "field_declaration"):
        return _collect_declaration(unit, node, scope)
    elif kind in _CLASSES:
        return _enter_class(unit, node, scope)
    elif kind == "enum_specifier":
        _add_enumerators(unit, node, scope)
    elif kind in ("alias_declaration", "type_definition"):
        _add_alias(unit, node, scope)
        return _enter_type(unit, node, scope)
    elif kind in ("preproc_def", "preproc_function_def"):
        _add_macro(unit, node)
    elif kind in _CONTAINERS:
        if kind == "namespace_definition":
            name = node.child_by_field_name("name")
            return _Scope((*scope.names, unit.text(name)) if name is not None else scope.names)
        return scope
    return None


def _enter_type(unit: TranslationUnit, node: Node, scope: _Scope) -> _Scope | None:
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type == "enum_specifier":
        _add_enumerators(unit, kind, scope)
    if kind is not None and kind.type in _CLASSES and kind.child_by_field_name("body") is not None:
        return scope
    return None


def _enter_class(unit: TranslationUnit, node: Node, scope: _Scope) -> _Scope | None:
    body = node.child_by_field_name("body")
    if body is None:
        return None
    named = node.child_by_field_name("name")
    parent = node.parent
    name, specialization = (unit.text(named), "") if named is not None else ("", "")
    if named is not None and named.type == "template_type":
        base, arguments = named.child_by_field_name("name"), named.child_by_field_name("arguments")
        name = unit.text(base) if base is not None else name
        specialization = unit.text(arguments) if arguments is not None else ""
    if not name and parent is not None and parent.type == "type_definition":
        declarator = parent.child_by_field_name("declarator")
        name = unit.text(declarator) if declarator is not None else ""
    bases = next((child for child in node.children if child.type == "base_class_clause"), None)
    struct = Struct(
        name,
        node,
        unit,
        template_parameters=scope.templates,
        bases=tuple(unit.text(base) for base in bases.named_children) if bases is not None else (),
        alignment=_alignment(unit, node, body),
        is_union=node.type == "union_specifier",
        specialization=specialization,
    )
    unit.structs.setdefault(name, []).append(struct)
    return _Scope((*scope.names, name) if name else scope.names, name, struct, ())


def _alignment(unit: TranslationUnit, node: Node, body: Node) -> str:
    following = node.next_sibling
    behind = unit.recorded_in(node.end_byte, following.start_byte) if following is not None else []
    for record in (*unit.recorded_before(node, body.start_byte), *behind):
        if record.name in ("__align__", "__builtin_align__", "alignas", "aligned") and record.arguments:
            return record.arguments[0]
    for child in node.children:
        if child.type == "alignas_qualifier" and first_named(child) is not None:
            return unit.text(child.named_children[0])
    return ""


def _add_function(unit: TranslationUnit, node: Node, scope: _Scope, seen: set[int]) -> None:
    body = node.child_by_field_name("body")
    seen.add(node.start_byte)
    if body is None or body.type != "compound_statement":
        return
    function = function_definition(unit, node, body, scope.names, scope.class_name, scope.templates)
    if function is None:
        return
    unit.functions.setdefault(function.name, []).append(function)
    unit.own.append(function)
    if scope.struct is not None:
        scope.struct.methods.setdefault(function.name, []).append(function)


def function_definition(
    unit: TranslationUnit,
    node: Node,
    body: Node,
    scope: tuple[str, ...],
    class_name: str,
    templates: tuple[TemplateParameter, ...],
) -> FunctionDefinition | None:
    """A function definition as a record, or None when it has no name."""
    declarator = node.child_by_field_name("declarator")
    outer = declarator
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or _last_declarator(declarator)
    if declarator is None:
        return None
    named = declarator.child_by_field_name("declarator")
    specialization = ""
    while named is not None and named.type in ("qualified_identifier", "template_function", "parenthesized_declarator"):
        if named.type == "qualified_identifier":
            owner = named.child_by_field_name("scope")
            if owner is not None:
                scope, class_name = (*scope, unit.text(owner)), unit.text(owner)
            inner = named.child_by_field_name("name")
        elif named.type == "template_function":
            arguments = named.child_by_field_name("arguments")
            specialization = unit.text(arguments) if arguments is not None else ""
            inner = named.child_by_field_name("name")
        else:
            inner = first_named(named)
        named = inner
    if named is None:
        return None
    qualifiers, bounds = _qualifiers(unit, node, declarator)
    recorded: dict[str, tuple[str, ...]] = {}
    for record in unit.recorded_before(node, body.start_byte):
        key = record.name.strip("_")
        if key in ("cluster_dims", "maxnreg", "block_size", "launch_bounds", "global", "device", "host"):
            recorded[key] = record.arguments
        if key in ("global", "device", "host", "forceinline", "noinline"):
            qualifiers.add(key)
    parameter_list = declarator.child_by_field_name("parameters")
    returned = node.child_by_field_name("type")
    stars = ""
    while outer is not None and outer.type in ("pointer_declarator", "reference_declarator"):
        stars += "*" if outer.type == "pointer_declarator" else "&"
        outer = outer.child_by_field_name("declarator") or _last_declarator(outer)
    name = unit.text(named)
    expanded = unit.macros.expand_text(name, None) if name in unit.macros else None  # `#define KERNEL_NAME kernel_17`
    return FunctionDefinition(
        name=expanded if expanded is not None and expanded.isidentifier() else name,
        node=node,
        name_node=named,
        body=body,
        unit=unit,
        qualifiers=frozenset(qualifiers),
        template_parameters=templates,
        parameters=parameters_of(unit, parameter_list) if parameter_list is not None else (),
        return_type=(unit.text(returned) if returned is not None else "") + stars,
        launch_bounds=tuple(bounds),
        recorded=recorded,
        scope=scope,
        class_name=class_name,
        parsed_with_errors=node.has_error,
        specialization=specialization,
        is_const_method=any(child.type == "type_qualifier" for child in declarator.children),
        launches=LAUNCH.search(unit.data, body.start_byte, body.end_byte) is not None,
    )


def _last_declarator(node: Node) -> Node | None:
    return next((c for c in reversed(node.named_children) if c.type.endswith("declarator")), None)


def _qualifiers(unit: TranslationUnit, node: Node, declarator: Node) -> tuple[set[str], list[Node]]:
    found: set[str] = set()
    bounds: list[Node] = []
    for child in (*node.children, *declarator.children):
        kind = child.type
        if kind in _QUALIFIERS:
            found.add(_QUALIFIERS[kind])
        elif kind in ("storage_class_specifier", "type_qualifier"):
            word = unit.text(child)
            if word in _WORDS:
                found.add(_WORDS[word])
            elif word in _QUALIFIERS:
                found.add(_QUALIFIERS[word])
        elif kind == "launch_bounds" and not bounds:
            bounds = list(child.named_children)
    return found, bounds


def _collect_declaration(unit: TranslationUnit, node: Node, scope: _Scope) -> _Scope | None:
    """Variables, constants and fields; a type defined in the declaration is entered through the returned scope."""
    entered: _Scope | None = _enter_type(unit, node, scope)
    words = [unit.text(c) for c in node.children if c.type in ("type_qualifier", "storage_class_specifier")]
    spaces = [_SPACES[child.type] for child in node.children if child.type in _SPACES]
    spaces += [_SPACES[word] for word in words if word in _SPACES]
    spaces += [
        _SPACES[f"__{record.name.strip('_')}__"]
        for record in unit.recorded_before(node, node.end_byte)
        if f"__{record.name.strip('_')}__" in _SPACES
    ]
    type_text = type_text_of(unit, node)
    constant = "const" in words or "constexpr" in words
    for item in declared(unit, node):
        if item.is_function:
            continue
        if node.type == "field_declaration" and scope.struct is not None:
            scope.struct.fields = (*scope.struct.fields, _field(item, type_text, "static" in words, constant))
        if constant and item.value is not None and not item.pointer_depth and not item.array_sizes:
            constants = unit.constants.setdefault(item.name, [])
            constants.append(Constant(item.name, item.value, unit, type_text, None, scope.class_name))
        elif spaces and node.type == "declaration":
            space = "constant" if "constant" in spaces else spaces[0]
            unit.variables[item.name] = FileArray(
                item.name, type_text, item.node, unit, space, item.pointer_depth, item.array_sizes, constant
            )
    return entered


def _field(item: Declared, type_text: str, static: bool, constant: bool) -> Field:
    return Field(item.name, type_text, item.node, item.pointer_depth, item.array_sizes, static, constant, item.value)


def _add_enumerators(unit: TranslationUnit, node: Node, scope: _Scope) -> None:
    body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None:
        return
    previous: Constant | None = None
    enum_name = unit.text(named) if named is not None else ""
    for child in body.named_children:
        name = child.child_by_field_name("name") if child.type == "enumerator" else None
        if name is None:
            continue
        owner = enum_name or scope.class_name
        value = child.child_by_field_name("value")
        previous = Constant(unit.text(name), value, unit, enum_name, previous, owner, True)
        unit.constants.setdefault(previous.name, []).append(previous)


def _add_alias(unit: TranslationUnit, node: Node, scope: _Scope) -> None:
    if node.type == "alias_declaration":
        name, target = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is not None and target is not None:
            unit.aliases[unit.text(name)] = unit.text(target)
            if scope.templates:
                unit.alias_templates[unit.text(name)] = scope.templates
        return
    target = node.child_by_field_name("type")
    for item in declared(unit, node):
        if target is not None and not item.array_sizes and not item.is_function:
            if target.type in _CLASSES and target.child_by_field_name("body") is not None:
                inner = target.child_by_field_name("name")
                text = unit.text(inner) if inner is not None else ""
            else:
                text = unit.text(target)
            if text and text != item.name:
                unit.aliases[item.name] = text + "*" * item.pointer_depth


def _add_macro(unit: TranslationUnit, node: Node) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    parameters = node.child_by_field_name("parameters")
    if name is None:
        return
    text = ""
    if value is not None:  # from the original: annotations in macro bodies were blanked too
        text = (unit.original or unit.data)[value.start_byte : value.end_byte].decode("utf-8", "replace")
    arguments = unit.text(parameters).strip()[1:-1] if parameters is not None else None
    unit.macros.add(macro_from_directive(unit.text(name), arguments, text))


def _collect_lost_kernels(unit: TranslationUnit, seen: set[int]) -> None:
    """Kernels that error recovery put where declarations are not looked for (inside another body, an argument)."""
    from tree_sitter import QueryCursor

    for node in QueryCursor(query(_KERNELS)).captures(unit.root).get("kernel", []):
        if node.start_byte in seen:
            continue
        templates: tuple[TemplateParameter, ...] = ()
        parent, names = node.parent, []
        while parent is not None:
            if parent.type == "template_declaration":
                templates = template_parameters_of(unit, parent) + templates
            elif parent.type == "namespace_definition":
                name = parent.child_by_field_name("name")
                names.append(unit.text(name) if name is not None else "")
            parent = parent.parent
        _add_function(unit, node, _Scope(tuple(reversed(names)), templates=templates), seen)


def kernel_count(root: Node) -> int:
    """How many kernel definitions with a body the tree holds."""
    from tree_sitter import QueryCursor

    return len(QueryCursor(query(_KERNELS)).captures(root).get("kernel", []))


def error_nodes(root: Node) -> list[Node]:
    """ERROR and MISSING nodes, outermost first in order of position; only broken subtrees are visited."""
    found: list[Node] = []
    pending = [root]
    while pending and len(found) < MAX_ERRORS:
        node = pending.pop()
        if node.is_error or node.is_missing:
            found.append(node)
            continue
        pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return found
