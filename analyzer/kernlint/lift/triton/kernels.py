"""From the jit functions of one file to kernels."""

from __future__ import annotations

import ast

from kernlint.ir.expr import AtomKind, Expr, param
from kernlint.ir.kernel import Framework, Kernel, Loop, Param, ParamRole
from kernlint.ir.types import INT32, ElementType, Span
from kernlint.ir.value import Pointer, Value
from kernlint.lift.host.definitions import Assigned, Function
from kernlint.lift.host.scope import PythonScope, is_triton_jit
from kernlint.lift.triton import decorators
from kernlint.lift.triton.calls import default_of, prepare
from kernlint.lift.triton.closures import closure_of
from kernlint.lift.triton.control import run_block
from kernlint.lift.triton.memory import buffer_named
from kernlint.lift.triton.registry import type_named
from kernlint.lift.triton.state import Activation, BudgetExceededError, State
from kernlint.lift.triton.things import Callee, Static, Thing
from kernlint.source.file import Resolver, SourceFile


def lift_triton(tree: ast.Module, source: SourceFile, scope: PythonScope, resolver: Resolver) -> list[Kernel]:
    """Every jit function of a file, in source order, as a kernel.

    A function that other jit functions of the file call, or that returns a value, has `attrs["helper"]` set.
    """
    kernels: list[Kernel] = []
    called: set[int] = set()
    functions = _jit_functions(scope)
    shared: dict[tuple[str, str], Thing] = {}
    closures: dict[int, dict[str, Thing]] = {}
    for function in functions:
        kernel, state = _lift(function, scope, shared, closures)
        kernels.append(kernel)
        called |= state.called
    for function, kernel in zip(functions, kernels, strict=True):
        if id(function.node) in called or kernel.attrs.get("returns"):
            kernel.attrs["helper"] = True
    return kernels


def _jit_functions(scope: PythonScope) -> list[Function]:
    """Decorated functions, and those passed to `triton.jit(...)` at module level."""
    wrapped: set[int] = set()
    for definition in scope.names.values():
        if isinstance(definition, Assigned) and isinstance(definition.value, ast.Call):
            if not _makes_kernels(scope, definition.value):
                continue
            target = scope.resolve_node(_innermost(definition.value))
            if target is not None and target.scope is scope and isinstance(target.definition, Function):
                wrapped.add(id(target.definition.node))
    return [function for function in scope.functions if function.is_jit or id(function.node) in wrapped]


def _innermost(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return node


def _makes_kernels(scope: PythonScope, node: ast.expr) -> bool:
    """Whether `triton.jit` is among the calls around a function's name."""
    while isinstance(node, ast.Call):
        if is_triton_jit(scope.dotted(node.func)):
            return True
        node = node.args[0] if node.args else node.func  # also triton.autotune(...)(triton.jit(f))
    return False


def _lift(
    function: Function,
    scope: PythonScope,
    shared: dict[tuple[str, str], Thing],
    closures: dict[int, dict[str, Thing]],
) -> tuple[Kernel, State]:
    node = function.node
    state = State(scope)
    prepare(state)
    state.globals = shared
    callee = Callee(scope, node, True)
    incomplete = ""
    try:
        state.env.update(closure_of(state, function, closures))
        _parameters(state, callee)
        activation = Activation(callee, 0)
        state.activations.append(activation)
        run_block(state, node.body)
        state.attrs["returns"] = any(isinstance(thing, (Value, tuple)) for _, thing in activation.returns)
    except BudgetExceededError as error:
        incomplete = str(error)
    except RecursionError:
        incomplete = "nested too deeply"
    except Exception as error:  # odd input must never end the run; the corpus tests demand that this stays unused
        incomplete = f"internal: {type(error).__name__}: {error}"
    kernel = Kernel(
        node.name, Framework.TRITON, scope.text.name_span(node), _body_span(scope, node), tuple(state.params.values()),
        values=state.values, buffers=state.buffers, facts=state.facts, incomplete=incomplete,
        opaque_reasons=dict(sorted(state.opaque_reasons.items())), attrs=state.attrs,
    )  # fmt: skip
    kernel.body = state.body
    kernel.attrs["inlined"] = sorted(state.inlined_from)
    _settle_parameters(kernel, state)
    decorators.read(kernel, function, state)
    if function.class_name:
        kernel.attrs["class"] = function.class_name
    return kernel, state


def _body_span(scope: PythonScope, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
    first, last = scope.text.span(node.body[0]), scope.text.span(node.body[-1])
    return Span(first.path, first.start, last.end)


# ---- parameters ----------------------------------------------------------------------------------------------------


def _parameters(state: State, callee: Callee) -> None:
    spec = callee.node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    positional = [*spec.posonlyargs, *spec.args]
    defaults = dict(
        zip([a.arg for a in positional][len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
    )
    defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    if spec.vararg is not None:
        state.env[spec.vararg.arg] = ()
    for position, arg in enumerate(every):
        annotation = state.code(arg.annotation) if arg.annotation is not None else ""
        constexpr = "constexpr" in annotation
        dtype, pointer = _annotated_type(annotation) if annotation and not constexpr else (None, False)
        role = ParamRole.CONSTEXPR if constexpr else ParamRole.POINTER if pointer else ParamRole.UNKNOWN
        made = Param(arg.arg, role, state.span(arg), None if pointer else dtype, None, annotation, position)
        state.params[arg.arg] = made
        if pointer:
            state.pointer_params.add(arg.arg)
            buffer_named(state, arg.arg).dtype = dtype
        default = defaults.get(arg.arg)
        if default is not None:
            made.default = _default_value(state, default_of(state, callee, default), default)
        state.env[arg.arg] = _parameter_value(state, made, arg)


def _default_value(state: State, thing: Thing, node: ast.expr) -> Value:
    """A default as a value; strings too are constants here."""
    if isinstance(thing, Static) and isinstance(thing.value, str):
        return state.value("const", node=node, attrs={"value": thing.value, "constexpr": True})
    return state.as_value(thing, node)


def _parameter_value(state: State, made: Param, arg: ast.arg) -> Value:
    static = made.role is ParamRole.CONSTEXPR
    attrs: dict[str, object] = {"name": made.name}
    if static:
        attrs["constexpr"] = True
    floating = made.dtype is not None and made.dtype.is_float
    # Integers are int32 when they fit (`do_not_specialize` or not); a scalar that turns out to be a float loses it.
    dtype = None if static else made.dtype or INT32
    if not static and made.dtype is None:
        attrs["assumed"] = True
    value = state.value("param", node=arg, dtype=dtype, expr=None if floating else param(made.name), attrs=attrs)
    value.name = made.name
    return value


def _annotated_type(annotation: str) -> tuple[ElementType | None, bool]:
    """(element type, is a pointer) of an annotation such as `tl.int64`, `"*fp16"`, `tl.pointer_type(tl.float32)`."""
    text = annotation.strip("\"'")
    if text.startswith("*"):
        return type_named(text[1:].strip()), True
    if "pointer_type" in text:
        return type_named(text.partition("(")[2].strip("() ").rpartition(".")[2]), True
    return (type_named(text.rpartition(".")[2]), False) if text not in ("int", "float") else (type_named(text), False)


def _settle_parameters(kernel: Kernel, state: State) -> None:
    """Roles from use: dereferenced is a pointer, counted or compared is an integer, anything else is unknown."""
    indices = _index_params(kernel)
    read = {str(v.attrs["name"]) for value in kernel.values for v in value.args if v.op == "param"}
    for made in kernel.params:
        if made.role is ParamRole.CONSTEXPR:
            continue
        if made.name in state.descriptors:
            made.role = ParamRole.DESCRIPTOR
        elif made.name in state.pointer_params:
            made.role = ParamRole.POINTER
            made.dtype = buffer_named(state, made.name).dtype
        elif made.name in indices:
            made.role, made.dtype = ParamRole.SCALAR, made.dtype or INT32
        elif made.name in read or made.dtype is not None:
            made.role = ParamRole.SCALAR
    _pointer_values(kernel, state)
    floats = {made.name for made in kernel.params if made.role in (ParamRole.SCALAR, ParamRole.UNKNOWN)} - indices
    if floats:
        _forget_assumed(kernel, floats)


def _index_params(kernel: Kernel) -> set[str]:
    """Names of parameters in indices, masks, guards and loop bounds."""
    found: set[str] = set()

    def add(expr: Expr | None) -> None:
        if expr is not None:
            found.update(atom.name for atom in expr.deep_atoms if atom.kind is AtomKind.PARAM)

    for item in kernel.body.walk():
        if isinstance(item, Loop):
            for expr in (item.start, item.stop, item.step):
                add(expr)
        for frame in item.path[-1:]:
            found.update(atom.name for atom in frame.condition.deep_atoms if atom.kind is AtomKind.PARAM)
    for access in kernel.accesses:
        add(access.pointer.offset)
        if access.mask is not None:
            found.update(atom.name for atom in access.mask.deep_atoms if atom.kind is AtomKind.PARAM)
    return found


def _pointer_values(kernel: Kernel, state: State) -> None:
    """Give address arithmetic its pointers: `x_ptr + i` becomes buffer `x_ptr` with offset `i`."""
    keys = {f"p:{name}": name for name in state.pointer_params}
    if not keys:
        return
    for value in kernel.values:
        expr = value.expr
        if expr is None or value.op in ("load", "atomic"):
            continue
        for mono, coeff in expr.terms:
            if len(mono) > 1:
                break
            if len(mono) == 1 and coeff == 1 and mono[0].key in keys:
                buffer = buffer_named(state, keys[mono[0].key])
                offset = expr - param(buffer.name)
                value.pointer = Pointer(buffer, offset, buffer.dtype)
                value.expr, value.dtype, value.polymorphic = offset, None, False
                break


_ARITHMETIC = frozenset({"add", "sub", "mul", "neg", "min", "max", "where", "join", "carry"})


def _forget_assumed(kernel: Kernel, floats: set[str]) -> None:
    """Scalars that are never an index may be floats; so may what is computed from them alone."""
    unknown: set[int] = set()
    for value in kernel.values:
        if value.op == "param" and value.attrs.get("assumed") and value.attrs["name"] in floats:
            value.dtype = None
            unknown.add(id(value))
        elif value.dtype is INT32 and value.op in _ARITHMETIC:
            run_time = [arg for arg in value.args if not arg.attrs.get("constexpr")]
            if run_time and all(id(arg) in unknown for arg in run_time):
                value.dtype = None
                unknown.add(id(value))
