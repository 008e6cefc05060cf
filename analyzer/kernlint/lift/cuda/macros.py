"""Object-like and function-like macros of a file and its local includes, expanded on demand.

The tree is that of the unexpanded text.  A use is expanded textually and parsed as a small unit of its own, in which
every node stands at the use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from kernlint.ir.types import Span
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from kernlint.lift.cuda.unit import TranslationUnit

MAX_EXPANSION = 20_000  # characters
MAX_DEPTH = 16

_TOKEN = re.compile(
    r'[A-Za-z_]\w*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\d(?:[\w.]|\'(?=\w))*|\s+|##|.', re.DOTALL
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Macro:
    """`parameters` is None for an object-like macro.  `body` has line continuations and comments removed."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    variadic: bool = False


@dataclass(slots=True, eq=False)
class Expansion:
    """`nodes` of `unit`: one expression when `is_expression`, else the statements the macro stands for."""

    unit: TranslationUnit
    nodes: tuple[Node, ...]
    is_expression: bool
    text: str


@dataclass(slots=True, eq=False)
class MacroTable:
    """The last definition of a name wins; one defined differently in several places is listed in `conflicting`."""

    macros: dict[str, Macro] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)
    _parsed: dict[str, tuple[bytes, Tree, bool] | None] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        return name in self.macros

    def get(self, name: str) -> Macro | None:
        return self.macros.get(name)

    def add(self, macro: Macro) -> None:
        known = self.macros.get(macro.name)
        if known is not None and known != macro:
            self.conflicting.add(macro.name)
        self.macros[macro.name] = macro

    def update(self, other: MacroTable) -> None:
        for macro in other.macros.values():
            self.add(macro)
        self.conflicting |= other.conflicting

    def expand(self, unit: TranslationUnit, name: str, arguments: Sequence[str] | None, use: Span) -> Expansion | None:
        """The parsed meaning of `name` (or `name(arguments)`), fully expanded; None when it is no macro, does not
        parse, or is too big.  A macro with several definitions expands to the last one; see `conflicting`."""
        text = self.expand_text(name, arguments)
        if text is None or not text.strip():
            return None
        if text not in self._parsed:
            self._parsed[text] = _parse_fragment(text)
        parsed = self._parsed[text]
        if parsed is None:
            return None
        data, tree, is_expression = parsed
        synthetic = replace(unit, data=data, tree=tree, use_span=use, original=b"", recorded=[], own=[], error_nodes=[])
        return Expansion(synthetic, _fragment_nodes(tree.root_node, is_expression), is_expression, text)

    def expand_text(self, name: str, arguments: Sequence[str] | None) -> str | None:
        """The text a use expands to, or None."""
        macro = self.macros.get(name)
        if macro is None:
            return None
        pieces = _substituted(macro, arguments, self)
        if pieces is None:
            return None
        return self._rescan(pieces, frozenset((name,)), 0)

    def _rescan(self, text: str, hidden: frozenset[str], depth: int) -> str | None:
        """Expand the macros in `text` except those in `hidden`."""
        if depth > MAX_DEPTH or len(text) > MAX_EXPANSION:
            return None
        tokens = _TOKEN.findall(text)
        out: list[str] = []
        at, size = 0, 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            macro = self.macros.get(token) if token not in hidden else None
            replacement: str | None = token
            if macro is not None:
                arguments: list[str] | None = None
                end = at
                if macro.parameters is not None:
                    found = _call_arguments(tokens, at)
                    if found is None:
                        macro = None
                    else:
                        arguments, end = found
                if macro is not None:
                    body = _substituted(macro, arguments, self)
                    if body is not None:
                        replacement = self._rescan(body, hidden | {token}, depth + 1)
                        at = end
            if replacement is None:
                return None
            out.append(replacement)
            size += len(replacement)
            if size > MAX_EXPANSION:
                return None
        return "".join(out)


def _call_arguments(tokens: list[str], at: int) -> tuple[list[str], int] | None:
    """The comma-separated texts of a parenthesised list starting at or after `at`, and the position behind it."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at >= len(tokens) or tokens[at] != "(":
        return None
    depth, arguments, current = 0, [], ""
    for position in range(at, len(tokens)):
        token = tokens[position]
        if token in "([{" and token:
            depth += 1
            if depth == 1:
                continue
        elif token in ")]}":
            depth -= 1
            if depth == 0:
                arguments.append(current.strip())
                return ([] if arguments == [""] else arguments), position + 1
        elif token == "," and depth == 1:
            arguments.append(current.strip())
            current = ""
            continue
        current += token
    return None


def _substituted(macro: Macro, arguments: Sequence[str] | None, table: MacroTable) -> str | None:
    """The macro's body with arguments in place (`#` stringises, `##` pastes), not rescanned."""
    if macro.parameters is None:
        return macro.body
    if arguments is None:
        return None
    names = list(macro.parameters)
    values = [argument.strip() for argument in arguments]
    if macro.variadic:
        rest = ", ".join(values[len(names) :])
        values = [*values[: len(names)], rest]
        names = [*names, "__VA_ARGS__"]
    if len(values) < len(names):
        values += [""] * (len(names) - len(values)) if len(names) - len(values) == 1 else []
    if len(values) != len(names):
        return None
    bound = dict(zip(names, values, strict=True))
    tokens = _TOKEN.findall(macro.body)
    out: list[str] = []
    for index, token in enumerate(tokens):
        if token == "##":
            while out and out[-1].isspace():
                out.pop()
            out.append("")
            continue
        if token.isspace() and index and _previous_word(tokens, index) == "##":
            continue
        if token == "#" and macro.parameters and _next_word(tokens, index) in bound:
            continue
        if token in bound:
            if _previous_word(tokens, index) == "#":
                quoted = bound[token].replace("\\", "\\\\").replace('"', '\\"')
                out.append(f'"{quoted}"')
            else:
                out.append(bound[token])
            continue
        out.append(token)
    text = "".join(out)
    return text if len(text) <= MAX_EXPANSION else None


def _previous_word(tokens: list[str], index: int) -> str:
    index -= 1
    while index >= 0 and tokens[index].isspace():
        index -= 1
    return tokens[index] if index >= 0 else ""


def _next_word(tokens: list[str], index: int) -> str:
    index += 1
    while index < len(tokens) and tokens[index].isspace():
        index += 1
    return tokens[index] if index < len(tokens) else ""


def _parse_fragment(text: str) -> tuple[bytes, Tree, bool] | None:
    """Parse as an expression, else as statements; None when neither parses without errors."""
    from kernlint.lift.cuda.parser import nested_too_deep, parse

    if nested_too_deep(text.encode("utf-8", "replace")):
        return None
    for before, after, is_expression in (("auto kl_ = ", ";", True), ("void kl_() { ", "; }", False)):
        body = text if is_expression else text.rstrip().rstrip(";")
        data = f"{before}{body}{after}".encode("utf-8", "replace")
        tree = parse(data)
        if not tree.root_node.has_error and (not is_expression or _fragment_nodes(tree.root_node, True)):
            return data, tree, is_expression
    return None


def _fragment_nodes(root: Node, is_expression: bool) -> tuple[Node, ...]:
    from kernlint.lift.cuda.parser import first_named

    first = first_named(root)
    if first is None:
        return ()
    if is_expression:
        declarators = [child for child in first.named_children if child.type == "init_declarator"]
        if root.named_child_count != 1 or first.type != "declaration" or len(declarators) != 1:
            return ()
        value = declarators[0].child_by_field_name("value")
        return (value,) if value is not None else ()
    body = first.child_by_field_name("body")
    if root.named_child_count != 1 or body is None:
        return ()
    return tuple(body.named_children)


def macro_from_directive(name: str, parameters: str | None, body: str) -> Macro:
    """A macro from the parts of its `#define`: parameters without their parentheses, or None."""
    clean = _without_comments(body.replace("\\\r\n", " ").replace("\\\n", " ")).strip()
    if parameters is None:
        return Macro(name, None, clean)
    names = [part.strip() for part in parameters.replace("\\\n", " ").replace("\\\r\n", " ").split(",") if part.strip()]
    variadic = bool(names) and names[-1].endswith("...")
    if variadic:
        last = names.pop()[:-3].strip()
        if last:  # GNU `args...`
            clean = "".join("__VA_ARGS__" if token == last else token for token in _TOKEN.findall(clean))
    return Macro(name, tuple(name for name in names if _IDENTIFIER.match(name)), clean, variadic)


def _without_comments(text: str) -> str:
    if "/*" not in text and "//" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
            out.append(" ")
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text[at] in "\"'":
            end = at + 1
            while end < len(text) and text[end] != text[at]:
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
        else:
            out.append(text[at])
            at += 1
    return "".join(out)
