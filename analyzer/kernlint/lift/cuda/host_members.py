"""Compile-time members of structs: `Config<16, 4>::kThreads`, also through `using` and `typedef` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.expr import Expr, const
from kernlint.lift.cuda.host_types import element_type
from kernlint.lift.cuda.host_values import Known, State
from kernlint.lift.cuda.unit import Constant, Struct

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker

MAX_HOPS = 8
MAX_NAMES = 60  # nodes looked at in one initialiser


def add_alias(w: Walker, node: Node, state: State) -> None:
    """`using C = Config<16, 4>;` and `typedef Config<16, 4> C;` among statements."""
    kind = node.child_by_field_name("type")
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    if kind is None or name is None or name.type != "type_identifier":
        return
    text = " ".join(w.text(kind).split())
    state.aliases = {**state.aliases, w.text(name): text}
    element = element_type(text)
    if element is not None:
        state.types = {**state.types, w.text(name): (element,)}


def member_constant(w: Walker, owner: str, member: str, state: State, hops: int = 0) -> Expr | None:
    """The value of a static constexpr member (or enumerator) of the type `owner` names; None when it is not known."""
    found = owner_struct(w, owner, state)
    if w.member_depth >= MAX_HOPS or hops > MAX_HOPS or found is None:
        return None
    struct, arguments = found
    w.member_depth += 1
    try:
        return _member(w, struct, member, _bound(w, struct, arguments, state, hops), hops)
    finally:
        w.member_depth -= 1


def owner_struct(w: Walker, owner: str, state: State) -> tuple[Struct, list[str]] | None:
    """The struct a type text means, aliases followed, and its template arguments as written."""
    name, arguments = _resolved(w, owner, state)
    structs = w.program.structs.get(name, ()) if name else ()
    if not structs:
        return None
    return next((struct for struct in structs if not struct.specialization), structs[0]), arguments


def _resolved(w: Walker, text: str, state: State) -> tuple[str, list[str]]:
    """(struct name, template arguments as written) of a type, aliases followed."""
    for _ in range(MAX_HOPS):
        text = text.removeprefix("typename ").removesuffix("::").strip()
        head, _, rest = text.partition("<")
        last = head.strip().rpartition("::")[2].strip()
        if rest:
            return last, split_arguments(rest.rpartition(">")[0])
        known = state.aliases.get(last) or w.program.aliases.get(last)
        if known is None or known == text:
            return last, []
        text = known
    return "", []


def split_arguments(text: str) -> list[str]:
    """Template arguments separated at the top level: `A<1, 2>, 3` -> [`A<1, 2>`, `3`]."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def _bound(w: Walker, struct: Struct, arguments: list[str], state: State, hops: int) -> State:
    """Template parameters of a struct by name: integers as variables, types as aliases."""
    inner = State()
    for index, template in enumerate(struct.template_parameters):
        text = arguments[index] if index < len(arguments) else ""
        if template.kind == "type" and text:
            inner.aliases = {**inner.aliases, template.name: text}
        elif template.kind == "value":
            value = _argument(w, text, state, hops) if text else None
            if value is None and not text and template.default is not None:
                with w.inside(struct.unit):
                    value = w.evaluate(template.default, inner).expr
            inner.variables[template.name] = Known(expr=value, text=template.name)
    return inner


def _argument(w: Walker, text: str, state: State, hops: int) -> Expr | None:
    from kernlint.lift.cuda.host_eval import integer_literal

    number = integer_literal(text)
    if number is not None:
        return const(number)
    if text in ("true", "false"):
        return const(int(text == "true"))
    owner, _, last = text.rpartition("::")
    if owner:
        return member_constant(w, owner, last, state, hops + 1)
    known = state.variables.get(text)
    if known is not None:
        return known.expr
    constants = w.program.constants.get(text, [])
    return w.constant_value(constants[0]) if len(constants) == 1 else None


def _member(w: Walker, struct: Struct, member: str, bound: State, hops: int) -> Expr | None:
    """The member's value with the template parameters bound; members its initialiser names come first."""
    constant = _constant_of(w, struct, member)
    if constant is None:
        for base in struct.bases:
            found = member_constant(w, base, member, bound, hops + 1)
            if found is not None:
                return found
        return None
    if constant.value is None or hops > MAX_HOPS:
        return None
    pending, names = [constant.value], 0
    while pending and names < MAX_NAMES:
        node = pending.pop()
        names += 1
        name = struct.unit.text(node) if node.type == "identifier" else ""
        if name and name != member and name not in bound.variables and _constant_of(w, struct, name) is not None:
            bound.variables[name] = Known(expr=_member(w, struct, name, bound, hops + 1), text=name)
        pending.extend(node.named_children)
    w.quiet += 1
    try:
        with w.inside(constant.unit):
            value = w.evaluate(constant.value, bound)
    finally:
        w.quiet -= 1
    if value.items is not None and len(value.items) == 1:
        value = value.items[0]
    return value.expr if not value.floating else None


def _constant_of(w: Walker, struct: Struct, name: str) -> Constant | None:
    for constant in w.program.constants.get(name, ()):
        if constant.class_name == struct.name and constant.unit is struct.unit:
            return constant
    return None
