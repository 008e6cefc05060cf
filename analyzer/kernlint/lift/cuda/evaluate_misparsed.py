"""Declarations and loop headers that the grammar takes for something else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import const
from kernlint.lift.cuda.device_machine import Machine, Variable, pointee
from kernlint.lift.cuda.device_resolve import resolve_type
from kernlint.lift.cuda.device_types import split_arguments
from kernlint.lift.cuda.macros import Expansion

if TYPE_CHECKING:
    from tree_sitter import Node


_MACRO_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)$")  # of text that was blanked


def loop_header(m: Machine, previous: Node | None, node: Node) -> Expansion | None:
    """The `for (...)` that a macro blanked before this statement stands for, as in `CUDA_1D_KERNEL_LOOP(i, n) {`."""
    parent = node.parent
    if previous is not None:
        start = previous.end_byte
    else:  # behind the opening brace
        start = parent.start_byte + 1 if parent is not None and parent.type == "compound_statement" else node.start_byte
    if start >= node.start_byte:
        return None
    gap = m.unit.original[start : node.start_byte].strip()
    if not gap.endswith(b")") or m.data[start : node.start_byte].strip():
        return None
    written = _MACRO_CALL.search(gap.decode("utf-8", "replace"))
    if written is None or written.group(1) not in m.home.macros:
        return None
    use = m.unit.span_of(start + m.unit.original[start : node.start_byte].find(gap), node.start_byte)
    expansion = m.home.expand(written.group(1), split_arguments(written.group(2)), use)
    if expansion is None or expansion.is_expression or not expansion.nodes:
        return None
    last = expansion.nodes[-1]
    body = last.child_by_field_name("body")
    is_loop = last.type in ("for_statement", "while_statement") and body is not None and body.named_child_count == 0
    return expansion if is_loop else None


def declares(m: Machine, node: Node) -> bool:
    """`ns::type<32> name = value;` that the grammar took for two comparisons: declare it."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if (
        left is None
        or right is None
        or left.type != "binary_expression"
        or right.type
        not in (
            "assignment_expression",
            "identifier",
            "call_expression",
        )
    ):
        return False
    operators = [side.child_by_field_name("operator") for side in (left, node)]
    if [operator.type if operator is not None else "" for operator in operators] != ["<", ">"]:
        return False
    name_node = right.child_by_field_name("left") if right.type == "assignment_expression" else right
    if right.type == "call_expression":
        name_node = right.child_by_field_name("function")
    if name_node is None or name_node.type != "identifier":
        return False
    ctype = resolve_type(m, m.text(node)[: left.end_byte - node.start_byte] + ">")
    name = m.text(name_node)
    value_node = right.child_by_field_name("right") if right.type == "assignment_expression" else None
    if value_node is not None:
        value = m.eval(value_node)
    else:
        from kernlint.lift.cuda.evaluate_declare import construct
        from kernlint.lift.cuda.evaluate_inline import arguments_of

        value = construct(m, ctype, arguments_of(m, right.child_by_field_name("arguments")), node, name)
    variable = m.new_variable(name, ctype)
    m.write(variable.key, value)
    return True


def declares_array_pointer(m: Machine, node: Node) -> bool:
    """`float (*p)[4] = a;` that the grammar took for an assignment to a subscripted call: declare `p`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sizes: list[Node] = []
    current = left
    while current is not None and current.type == "subscript_expression":
        indices = current.child_by_field_name("indices")
        sizes[:0] = (
            [child for child in indices.named_children if child.type != "comment"] if indices is not None else []
        )
        current = current.child_by_field_name("argument")
    if not sizes or right is None or current is None or current.type != "call_expression":
        return False
    function, arguments = current.child_by_field_name("function"), current.child_by_field_name("arguments")
    inner = arguments.named_children[0] if arguments is not None and arguments.named_child_count == 1 else None
    if function is None or inner is None or inner.type != "pointer_expression":
        return False
    target = inner.child_by_field_name("argument")
    name = m.text(target) if target is not None and target.type == "identifier" else ""
    if not name or isinstance(m.scope.lookup(m.text(function)), Variable):
        return False
    base = resolve_type(m, m.text(function))
    extents = (const(0), *(m.expr_of(m.eval(size)) for size in sizes))
    value = m.eval(right)
    ctype = replace(base, extents=extents)
    if value.pointer is not None and not pointee(value).extents:
        value = m.typed("cast", (value,), node, pointer=value.pointer, ctype=ctype, attrs={"explicit": True})
    m.write(m.new_variable(name, ctype).key, value)
    return True
