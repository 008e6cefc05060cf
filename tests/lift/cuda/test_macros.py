"""Macro expansion: text, parsing, positions, limits."""

from __future__ import annotations

import pytest

from kernlint.ir.types import Span
from kernlint.lift.cuda.macros import MacroTable, macro_from_directive
from kernlint.lift.cuda.prepare import parse_unit
from kernlint.source.file import SourceFile


def table(*definitions: tuple[str, str | None, str]) -> MacroTable:
    made = MacroTable()
    for name, parameters, body in definitions:
        made.add(macro_from_directive(name, parameters, body))
    return made


@pytest.mark.parametrize(
    ("definitions", "name", "arguments", "expected"),
    [
        ([("N", None, "4")], "N", None, "4"),
        ([("N", None, "4"), ("M", None, "(N * 2)")], "M", None, "(4 * 2)"),
        ([("CDIV", "a, b", "(((a) + (b) - 1) / (b))")], "CDIV", ["n", "32"], "(((n) + (32) - 1) / (32))"),
        ([("CAT", "a, b", "a##b")], "CAT", ["x", "1"], "x1"),
        ([("CAT", "a, b", "a ## _ ## b")], "CAT", ["x", "y"], "x_y"),
        ([("STR", "a", "#a")], "STR", ['x "y"'], '"x \\"y\\""'),
        ([("CALL", "f, ...", "f(__VA_ARGS__)")], "CALL", ["g", "1", "2"], "g(1, 2)"),
        ([("CALL", "f, args...", "f(args)")], "CALL", ["g", "1", "2"], "g(1, 2)"),
        ([("A", None, "B"), ("B", None, "A")], "A", None, "A"),
        ([("F", "x", "F(x + 1)")], "F", ["y"], "F(y + 1)"),
        ([("N", None, "4 /* four */ // really")], "N", None, "4"),
        ([("TWO", "x", "x x"), ("P", "a, b", "TWO((a, b))")], "P", ["1", "2"], "(1, 2) (1, 2)"),
    ],
)
def test_expansion_text(
    definitions: list[tuple[str, str | None, str]], name: str, arguments: list[str] | None, expected: str
) -> None:
    assert table(*definitions).expand_text(name, arguments) == expected


def test_what_is_no_macro_or_has_too_few_arguments_has_no_expansion() -> None:
    macros = table(("F", "a, b, c", "a"))
    assert macros.expand_text("G", None) is None
    assert macros.expand_text("F", ["1"]) is None


def test_exponential_expansion_is_cut_off() -> None:
    macros = table(("M0", None, "x + x"), *((f"M{i}", None, f"M{i - 1} + M{i - 1}") for i in range(1, 40)))
    assert macros.expand_text("M39", None) is None


def test_expansion_nodes_stand_at_the_use() -> None:
    text = b"#define CDIV(a, b) (((a) + (b) - 1) / (b))\n#define TWICE(s) s; s\nint x;"
    unit = parse_unit(SourceFile("a.cu", text, "cuda"))
    assert unit is not None
    use = Span("a.cu", 3, 9)
    expression = unit.expand("CDIV", ["n", "4"], use)
    assert expression is not None
    assert expression.is_expression
    (node,) = expression.nodes
    assert expression.unit.text(node) == "(((n) + (4) - 1) / (4))"
    assert expression.unit.span(node) == use
    statements = unit.expand("TWICE", ["f()"], use)
    assert statements is not None
    assert not statements.is_expression
    assert [statements.unit.text(node) for node in statements.nodes] == ["f();", "f();"]


def test_macro_bodies_keep_annotations_blanked_in_the_tree() -> None:
    unit = parse_unit(SourceFile("a.cu", b"#define SH __shared__ __align__(16)\n#define LONG(a) a + \\\n  1\n", "cuda"))
    assert unit is not None
    assert unit.macros.macros["SH"].body == "__shared__ __align__(16)"
    assert unit.macros.expand_text("LONG", ["2"]) == "2 +    1"


def test_redefinition_with_another_body_is_conflicting() -> None:
    macros = table(("N", None, "4"), ("N", None, "4"), ("M", None, "1"), ("M", None, "2"))
    assert macros.conflicting == {"M"}
