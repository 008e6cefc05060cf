"""What names and attributes mean: locals, closures, module constants, functions of this and other files."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from kernlint.ir.expr import AtomKind
from kernlint.ir.expr import param as param_expr
from kernlint.ir.value import Value
from kernlint.lift.host.definitions import Assigned, Class, Function, Imported
from kernlint.lift.triton.memory import mark_pointer
from kernlint.lift.triton.registry import BUILTINS, type_named
from kernlint.lift.triton.state import Call
from kernlint.lift.triton.things import ARGUMENTS, Bound, Callee, DType, Pending, Ref, Static, Thing

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernlint.lift.host.scope import PythonScope
    from kernlint.lift.triton.state import State

_PYTHON = frozenset(dir(builtins))
_USUAL = {
    "tl": "triton.language",
    "triton": "triton",
    "math": "math",
    "gl": "triton.language",
    "ttgl": "triton.language",
}
# What a module-level constant may be computed from and still be read
_CONSTANT_NODES = (
    ast.Constant,
    ast.UnaryOp,
    ast.BinOp,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Tuple,
    ast.List,
    ast.IfExp,
)
_MAKERS = {"constexpr", "float", "int", "bool", "tuple", "list", "cdiv", "next_power_of_2", "dtype", "pointer_type"}


def lookup(state: State, name: str, node: ast.expr, evaluate: Callable[[State, ast.expr], Thing]) -> Thing:
    thing = state.env.get(name)
    if thing is not None:
        return carried(state, thing) if isinstance(thing, Pending) else thing
    key = hash_of(state.scope, name)
    found = state.globals.get(key)
    if found is None:
        found = state.globals[key] = _global(state, state.scope, name, evaluate)
    return found


def hash_of(scope: PythonScope, name: str) -> tuple[str, str]:
    return (scope.path, name)


def carried(state: State, pending: Pending) -> Thing:
    """The carried value a loop variable is at the start of an iteration."""
    if pending.made is None:
        pending.made = state.make_carry(state, pending)
    return pending.made


def _global(state: State, scope: PythonScope, name: str, evaluate: Callable[[State, ast.expr], Thing]) -> Thing:
    resolved = scope.resolve(name)
    if resolved is None:
        if name in _PYTHON:
            return Ref(f"builtins.{name}")
        return Ref(_USUAL.get(name, scope.dotted_name(name)))
    definition = resolved.definition
    if isinstance(definition, Imported):
        return Ref(scope.dotted_name(name))
    if isinstance(definition, Function):
        if name in BUILTINS and _is_stub(definition.node):
            return Ref(f"triton.language.{name}")
        return Callee(resolved.scope, definition.node, definition.is_jit)
    if isinstance(definition, Class):
        return Ref(f"{resolved.scope.path}:{name}")
    return _constant(state, resolved.scope, name, definition, evaluate)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A stand-in for a function that old versions lack: it only returns None or raises."""
    last = node.body[-1]
    plain = all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in node.body[:-1])
    if isinstance(last, ast.Return):
        return plain and (last.value is None or (isinstance(last.value, ast.Constant) and last.value.value is None))
    return plain and isinstance(last, (ast.Raise, ast.Pass))


def _constant(
    state: State, scope: PythonScope, name: str, definition: Assigned, evaluate: Callable[[State, ast.expr], Thing]
) -> Thing:
    """A module-level constant: its value where it can be read, a symbol of its own otherwise."""
    wrapped = scope.jit_function(ast.Name(name, ast.Load()))
    if wrapped is not None:
        return Callee(wrapped[0], wrapped[1].node, True)
    value = definition.value
    if value is not None and readable(scope, value, 0):
        outer, env = state.scope, state.env
        state.scope, state.env = scope, {}
        state.globals[hash_of(scope, name)] = Static(None)  # breaks cycles
        try:
            thing = evaluate(state, value)
        finally:
            state.scope, state.env = outer, env
        if not (isinstance(thing, Value) and thing.op == "opaque"):
            if isinstance(thing, Value) and thing.op != "const":
                thing.attrs.setdefault("constexpr", True)
            return thing
    return state.global_constant(name)


def readable(scope: PythonScope, node: ast.expr, depth: int) -> bool:
    if depth > 20 or not isinstance(node, _CONSTANT_NODES):
        return False
    if isinstance(node, ast.Call):
        name = scope.dotted(node.func).rpartition(".")[2]
        if name not in _MAKERS:
            return False
        return all(readable(scope, arg, depth + 1) for arg in node.args)
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return all(readable(scope, child, depth + 1) for child in children)


# ---- attributes ----------------------------------------------------------------------------------------------------


def attribute(state: State, base: Thing, node: ast.Attribute) -> Thing:
    name = node.attr
    if base is ARGUMENTS:
        return Bound(base, name)
    if isinstance(base, Ref):
        return _member(state, base, node)
    if isinstance(base, DType):
        return _dtype_attribute(state, base, node)
    if isinstance(base, Value):
        return _value_attribute(state, base, node)
    if isinstance(base, tuple) and name == "value":
        return base
    if isinstance(base, Static) and name == "value":
        return base
    return Bound(base, name)


def _member(state: State, base: Ref, node: ast.Attribute) -> Thing:
    dotted = f"{base.dotted}.{node.attr}"
    root = base.dotted.partition(".")[0]
    if root in ("triton", "tl"):
        element = type_named(node.attr)
        if element is not None:
            return DType(element)
        if node.attr in ("pi", "e") and node.attr not in BUILTINS:
            return state.constant(3.141592653589793 if node.attr == "pi" else 2.718281828459045, node)
        return Ref(dotted)
    key = (state.scope.path, dotted)
    found = state.globals.get(key)
    if found is None:
        resolved = state.scope.resolve_node(node)
        found = Ref(dotted)
        if resolved is not None:
            definition = resolved.definition
            if isinstance(definition, Function):
                found = Callee(resolved.scope, definition.node, definition.is_jit)
            elif isinstance(definition, Imported):
                found = Ref(resolved.dotted or dotted)
            elif isinstance(definition, Assigned) and definition.value is not None:
                number = resolved.scope.constant(definition.value)
                if isinstance(number, (int, float)):
                    found = state.constant(number, node)
        if isinstance(found, Ref):
            found = _known_constant(state, found, node)
        state.globals[key] = found
    return found


_NUMBERS = {
    "math.pi": 3.141592653589793, "math.e": 2.718281828459045, "math.inf": float("inf"), "math.nan": float("nan"),
    "numpy.pi": 3.141592653589793, "numpy.inf": float("inf"), "torch.inf": float("inf"),
}  # fmt: skip


def _known_constant(state: State, ref: Ref, node: ast.expr) -> Thing:
    known = _NUMBERS.get(ref.dotted)
    if known is not None:
        return state.constant(known, node)
    if ref.dotted.partition(".")[0] in ("torch", "numpy"):
        element = type_named(ref.dotted.rpartition(".")[2])
        if element is not None:
            return DType(element)
    return ref


def _value_attribute(state: State, base: Value, node: ast.Attribute) -> Thing:
    name = node.attr
    if name in ("dtype", "type"):
        return DType(None if base.polymorphic or _may_be_pointer(base) else base.dtype, base)
    if name == "shape":
        if base.op == "param" and not base.shape and base.block is None:
            return Bound(base, "shape")
        shape = base.block.block_shape if base.block is not None and not base.shape else base.shape
        return tuple(state.integer(extent, node) for extent in shape)
    if name == "block_shape" and base.block is not None:
        return tuple(state.integer(extent, node) for extent in base.block.block_shape)
    if name == "T":
        return BUILTINS["trans"](state, _call("T", [base], node))
    if name == "value":
        return base
    if name == "numel":
        return Bound(base, name)
    if name in ("element_ty", "scalar"):
        return DType(None, base)
    return Bound(base, name)


def _may_be_pointer(value: Value) -> bool:
    """Whether a parameter that has no type of its own is a term of it, as in `ptr + offset`."""
    if value.attrs.get("assumed") or value.block is not None:
        return True
    if value.op in ("load", "atomic", "const") or value.expr is None:
        return False
    return any(
        coeff == 1 and len(mono) == 1 and mono[0].kind in (AtomKind.PARAM, AtomKind.SELECT)
        for mono, coeff in value.expr.terms
    )


def _call(name: str, args: list[Thing], node: ast.expr) -> Call:
    return Call(name, args, {}, node)


def _dtype_attribute(state: State, base: DType, node: ast.Attribute) -> Thing:
    name = node.attr
    if name in ("element_ty", "scalar", "dtype"):
        if name == "element_ty" and base.like is not None:
            mark_pointer(state, base.like)
        return DType(base.type if base.pointer or name != "element_ty" else None, base.like)
    if name in ("primitive_bitwidth", "itemsize") and base.type is not None:
        return state.constant(base.type.bits if name == "primitive_bitwidth" else base.type.bytes, node)
    if name in ("primitive_bitwidth", "itemsize", "int_bitwidth", "fp_mantissa_width", "int_signedness"):
        return state.integer(param_expr(f"{_type_label(base)}.{name}"), node)
    if name in ("type", "value"):
        return base
    return Bound(base, name)


def _type_label(base: DType) -> str:
    if base.like is None:
        return "dtype"
    name = base.like.attrs.get("name") if base.like.op == "param" else None
    return f"{name or f'%{base.like.ordinal}'}.dtype"
