"""Declarators, parameter lists and template parameter lists: names, pointer depth, array extents, type text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.lift.cuda.parser import first_named
from kernlint.lift.cuda.unit import ParameterDeclaration, TemplateParameter, TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset({"identifier", "field_identifier", "type_identifier", "qualified_identifier"})
_RESTRICT = frozenset({"__restrict__", "__restrict", "restrict"})
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared name: `int *a[4] = init` has pointer_depth 1, array_sizes (4,) and value init."""

    name: str
    node: Node  # the name
    pointer_depth: int = 0
    is_reference: bool = False
    array_sizes: tuple[Node | None, ...] = ()
    is_function: bool = False
    value: Node | None = None
    const_pointer: bool = False
    restrict: bool = False
    pack: bool = False


def declared(unit: TranslationUnit, node: Node) -> list[Declared]:
    """Every name a declaration, field declaration, type definition or parameter declares, in order."""
    found: list[Declared] = []
    items = list(node.children_by_field_name("declarator"))
    values = node.children_by_field_name("default_value")
    for item in items:
        one = _unwrap(unit, item)
        if one is not None:
            found.append(one)
    if values and found and found[-1].value is None:
        found[-1] = _with_value(found[-1], values[0])
    return found


def _with_value(item: Declared, value: Node) -> Declared:
    return Declared(
        item.name, item.node, item.pointer_depth, item.is_reference, item.array_sizes, item.is_function, value
    )


def _unwrap(unit: TranslationUnit, node: Node) -> Declared | None:
    """Follow a declarator inwards to the name."""
    depth, reference, function, restrict, const_pointer, pack = 0, False, False, False, False, False
    sizes: list[Node | None] = []
    value: Node | None = None
    current: Node | None = node
    for _ in range(MAX_DEPTH):
        if current is None:
            return None
        kind = current.type
        if kind in _NAMES:
            name = unit.text(current)
            return Declared(
                name, current, depth, reference, tuple(sizes), function, value, const_pointer, restrict, pack
            )
        inner: Node | None = current.child_by_field_name("declarator")
        if kind == "init_declarator":
            value = current.child_by_field_name("value")
        elif kind in ("pointer_declarator", "abstract_pointer_declarator"):
            depth += 1
            words = {unit.text(c) for c in current.children if c.type in ("type_qualifier", "ms_pointer_modifier")}
            restrict = restrict or bool(words & _RESTRICT)
            const_pointer = const_pointer or "const" in words
        elif kind in ("reference_declarator", "abstract_reference_declarator"):
            reference = True
        elif kind in ("array_declarator", "abstract_array_declarator"):
            sizes.insert(0, current.child_by_field_name("size"))
        elif kind in ("function_declarator", "abstract_function_declarator"):
            function = True
        elif kind == "variadic_declarator":
            pack = True
        elif kind not in ("parenthesized_declarator", "attributed_declarator"):
            return None
        current = inner or next(
            (c for c in current.named_children if c.type in _NAMES or c.type.endswith("declarator")), None
        )
    return None


def type_text_of(unit: TranslationUnit, node: Node) -> str:
    """The declared type without qualifiers and declarators; '' when missing.  A type with a body gives its name."""
    kind = node.child_by_field_name("type")
    if kind is None:
        return ""
    if kind.child_by_field_name("body") is not None:
        name = kind.child_by_field_name("name")
        return unit.text(name) if name is not None else ""
    if kind.type in ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"):
        name = kind.child_by_field_name("name")
        return unit.text(name) if name is not None else ""
    if kind.type == "dependent_type" and first_named(kind) is not None:
        return unit.text(kind.named_children[0])
    return " ".join(unit.text(kind).split())


def parameters_of(unit: TranslationUnit, parameter_list: Node) -> tuple[ParameterDeclaration, ...]:
    """The parameters of a function in order; `(void)` has none."""
    found: list[ParameterDeclaration] = []
    for node in parameter_list.named_children:
        if node.type not in (
            "parameter_declaration",
            "optional_parameter_declaration",
            "variadic_parameter_declaration",
        ):
            continue
        type_text = type_text_of(unit, node)
        item = next(iter(declared(unit, node)), None)
        if item is None and type_text == "void" and node.child_by_field_name("declarator") is None:
            continue
        words = {unit.text(child) for child in node.children if child.type == "type_qualifier"}
        words |= {child.type for child in node.children if not child.is_named}
        declarator = node.child_by_field_name("declarator")
        abstract_depth = 0
        while item is None and declarator is not None and declarator.type == "abstract_pointer_declarator":
            abstract_depth += 1
            declarator = declarator.child_by_field_name("declarator")
        sizes = item.array_sizes if item is not None else ()
        is_reference = item is not None and item.is_reference
        found.append(
            ParameterDeclaration(
                name=item.name if item is not None else "",
                type_text=type_text,
                node=item.node if item is not None else node,
                pointer_depth=(item.pointer_depth if item is not None else abstract_depth)
                + (len(sizes[:1]) if not is_reference else 0),
                is_reference=is_reference,
                is_array=bool(sizes),
                array_sizes=sizes,
                const="const" in words,
                restrict=bool(words & _RESTRICT) or (item is not None and item.restrict),
                volatile="volatile" in words,
                default=node.child_by_field_name("default_value"),
                pack=node.type == "variadic_parameter_declaration" or (item is not None and item.pack),
                grid_constant="__grid_constant__" in words,
            )
        )
    return tuple(found)


def template_parameters_of(unit: TranslationUnit, template: Node) -> tuple[TemplateParameter, ...]:
    """The parameters of a template declaration; () for `template <>`."""
    parameter_list = template.child_by_field_name("parameters")
    if parameter_list is None:
        return ()
    found: list[TemplateParameter] = []
    for node in parameter_list.named_children:
        one = _template_parameter(unit, node)
        if one is not None:
            found.append(one)
    return tuple(found)


def _template_parameter(unit: TranslationUnit, node: Node) -> TemplateParameter | None:
    kind = node.type
    if kind in (
        "type_parameter_declaration",
        "optional_type_parameter_declaration",
        "variadic_type_parameter_declaration",
    ):
        named = node.child_by_field_name("name") or next(
            (child for child in node.named_children if child.type == "type_identifier"), None
        )
        default = node.child_by_field_name("default_type")
        name = unit.text(named) if named is not None else ""
        return TemplateParameter(name, "type", named or node, default, "", kind.startswith("variadic"))
    if kind == "template_template_parameter_declaration":
        inner = node.named_children[-1] if node.named_children else node
        named = next((child for child in inner.named_children if child.type == "type_identifier"), None)
        return TemplateParameter(unit.text(named) if named is not None else "", "template", node)
    if kind in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
        item = next(iter(declared(unit, node)), None)
        default = node.child_by_field_name("default_value")
        name = item.name if item is not None else ""
        where = item.node if item is not None else node
        return TemplateParameter(name, "value", where, default, type_text_of(unit, node), kind.startswith("variadic"))
    return None
