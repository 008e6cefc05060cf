"""Evaluate calls: known functions, tensor methods, and the user's own functions by entering them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernlint.ir import arith
from kernlint.ir.expr import Expr, const, param
from kernlint.lift.host import tensors, views
from kernlint.lift.host.sequences import expanded
from kernlint.lift.host.state import Frame, join_values
from kernlint.lift.host.value import (
    Bound,
    Callable,
    Choice,
    Given,
    HostVal,
    Int,
    KernelRef,
    Literal,
    Mapping,
    Meta,
    Seq,
    SizesOf,
    Tensor,
    as_int,
    as_tensor,
    given,
)

MAX_DEPTH = 3
MAX_ENTERED_STATEMENTS = 40
MAX_LAUNCHER_STATEMENTS = 200

# Wrappers that return their first argument's meaning unchanged.
_TRANSPARENT = frozenset({"int", "torch.library.wrap_triton", "torch._library.wrap_triton", "wrap_triton"})
# Methods that change the length of a list.
GROWING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})
_CDIV = frozenset({"cdiv", "ceil_div", "ceildiv", "div_up", "divup"})


def call(frame: Frame, node: ast.Call) -> HostVal:
    """The value of a call expression."""
    from kernlint.lift.host.expressions import evaluate

    dotted = frame.scope.dotted(node.func)
    if isinstance(node.func, ast.Attribute) and not _is_module_function(frame, node.func):
        base = evaluate(frame, node.func.value)
        if isinstance(base, Meta):
            return _from_meta(frame, node)
        args, keywords = arguments(frame, node)
        if isinstance(base, Seq) and node.func.attr in GROWING and isinstance(node.func.value, ast.Name):
            return _changed_list(frame, node.func, node.func.value, base, args)
        found = tensors.method_of_tensor(frame, node, base, node.func.attr, args, keywords)
        if found is not None:
            return found
        if isinstance(base, (KernelRef, Bound)):
            return frame.unknown(node)
        entered = enter(frame, node, evaluate(frame, node.func), args, keywords)
        return entered if entered is not None else _unknown_call(frame, node, args)
    if isinstance(node.func, ast.Subscript):
        return _indexed_call(frame, node, node.func)
    local = frame.state.variables.get(node.func.id) if isinstance(node.func, ast.Name) else None
    args, keywords = arguments(frame, node)
    if not isinstance(local, (Callable, Bound)):
        known = _known_function(frame, node, dotted, args, keywords)
        if known is not None:
            return known
    entered = enter(frame, node, evaluate(frame, node.func), args, keywords)
    if entered is not None:
        return entered
    number = _by_name(dotted, args)
    return number if number is not None else _unknown_call(frame, node, args)


def _indexed_call(frame: Frame, node: ast.Call, func: ast.Subscript) -> HostVal:
    """`kernel[grid](...)`, described already where the statement was recorded, or a call of a table's entry."""
    from kernlint.lift.host.expressions import evaluate

    base = evaluate(frame, func.value)
    values = [frame.state.variables.get(arg.id) for arg in node.args if isinstance(arg, ast.Name)]
    values += [frame.state.variables.get(key.value.id) for key in node.keywords if isinstance(key.value, ast.Name)]
    if isinstance(base, (KernelRef, Given)):
        return _unknown_call(frame, node, [value for value in values if value is not None])
    args, keywords = arguments(frame, node)
    entered = enter(frame, node, evaluate(frame, func), args, keywords)
    return entered if entered is not None else _unknown_call(frame, node, args)


def _is_module_function(frame: Frame, func: ast.Attribute) -> bool:
    """Whether `a.b` is a member of an imported module rather than a method of a value."""
    node: ast.expr = func
    while isinstance(node, ast.Attribute):
        node = node.value
    return (
        isinstance(node, ast.Name) and node.id not in frame.state.variables and frame.scope.resolve(node.id) is not None
    )


def arguments(frame: Frame, node: ast.Call) -> tuple[list[HostVal], dict[str, HostVal]]:
    from kernlint.lift.host.expressions import evaluate

    args: list[HostVal] = []
    for arg in node.args:
        value = evaluate(frame, arg.value if isinstance(arg, ast.Starred) else arg)
        inner = expanded(frame, value) if isinstance(arg, ast.Starred) else None
        args.extend((value,) if inner is None else inner)
    keywords: dict[str, HostVal] = {}
    for keyword in node.keywords:
        value = evaluate(frame, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords.update(value.items)
    return args, keywords


def _changed_list(frame: Frame, func: ast.Attribute, name: ast.Name, base: Seq, args: Sequence[HostVal]) -> HostVal:
    """`items.append(x)`: outside loops the list has one item more; otherwise nothing is known of it any more."""
    if func.attr == "append" and len(args) == 1 and not frame.loops and len(base.items) < 64:
        spans = (*base.spans, frame.scope.text.span(func)) if len(base.spans) == len(base.items) else ()
        frame.state.variables[name.id] = Seq((*base.items, args[0]), spans)
        return Literal(None)
    fresh = frame.fresh_given(name.id)
    fresh.is_list = True
    frame.state.variables[name.id] = fresh
    return frame.unknown(func)


def _from_meta(frame: Frame, node: ast.Call) -> HostVal:
    """`meta.get("BLOCK", default)`"""
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr == "get" and node.args:
        key = node.args[0]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return Int(param(key.value))
    return frame.unknown(node)


def _unknown_call(frame: Frame, node: ast.Call, args: Sequence[HostVal]) -> HostVal:
    """The result of a function not known; it may have written the tensors it was given.

    Given one kernel, it is taken to return it wrapped: for autotuning by device, or for tracing."""
    from dataclasses import replace

    for arg in args:
        if isinstance(arg, Tensor) and arg.init == "empty":
            frame.state.replace_tensor(arg, replace(arg, init="computed"))
    kernels = [arg for arg in args if isinstance(arg, KernelRef) and arg.function is not None]
    return kernels[0] if len(kernels) == 1 else frame.unknown(node)


def _known_function(
    frame: Frame, node: ast.Call, dotted: str, args: list[HostVal], keywords: dict[str, HostVal]
) -> HostVal | None:
    if not dotted:
        return None
    module, _, name = dotted.rpartition(".")
    if module == "torch":
        return _torch_function(frame, node, name, args, keywords)
    if dotted in ("torch.library.wrap_triton", "torch._library.wrap_triton", "wrap_triton") and args:
        return args[0]
    if dotted == "types.SimpleNamespace" and not args:
        return Mapping(keywords)
    if dotted in ("functools.partial", "partial") and node.args:
        rest = list(zip(args[1:], node.args[1:], strict=False))
        named = [(key.arg, keywords[key.arg], key.value) for key in node.keywords if key.arg in keywords and key.arg]
        return Bound(args[0], tuple(rest), tuple(named))
    numbers = _numbers(args) if dotted != "len" else None
    if numbers is not None:
        return _integer_function(frame, dotted, numbers, keywords)
    return _sequence_function(frame, dotted, args)


def _numbers(args: Sequence[HostVal]) -> list[Expr] | None:
    if not args or any(isinstance(arg, (Tensor, SizesOf, Seq)) for arg in args):
        return None
    if any(isinstance(arg, Given) and arg.is_tensor for arg in args):
        return None
    found = [as_int(arg) for arg in args]
    numbers = [number for number in found if number is not None]
    return numbers if len(numbers) == len(args) else None


def _integer_function(frame: Frame, dotted: str, args: list[Expr], keywords: dict[str, HostVal]) -> HostVal | None:
    if dotted == "triton.cdiv" or dotted == "triton.language.cdiv":
        if len(args) == 1 and (divisor := as_int(keywords.get("y") or keywords.get("div"))) is not None:
            args = [*args, divisor]
        return Int(arith.cdiv(args[0], args[1])) if len(args) == 2 and args[1].constant != 0 else None
    if dotted in ("triton.next_power_of_2", "triton.language.next_power_of_2") and len(args) == 1:
        return Int(arith.call("next_power_of_2", args[0]))
    if dotted in ("min", "max") and len(args) > 1:
        total = args[0]
        for other in args[1:]:
            total = arith.minimum(total, other) if dotted == "min" else arith.maximum(total, other)
        return Int(total)
    if dotted in ("int", "math.floor", "math.ceil", "round") and len(args) == 1:
        return Int(args[0])
    if dotted == "abs" and len(args) == 1:
        return Int(arith.call("abs", args[0]))
    if dotted == "pow" and len(args) == 2:
        return None
    if dotted == "math.prod" and len(args) == 1:
        return Int(args[0])
    return None


def _sequence_function(frame: Frame, dotted: str, args: Sequence[HostVal]) -> HostVal | None:
    """Functions of quotients, tuples and shapes."""
    if len(args) != 1:
        return None
    (value,) = args
    if dotted in ("math.ceil", "numpy.ceil"):
        number = tensors.ceiling(frame, value)
        return Int(number) if number is not None else None
    if dotted in ("int", "math.floor", "numpy.floor"):
        number = tensors.floor(frame, value)
        return Int(number) if number is not None else None
    if dotted == "len":
        return _length(frame, value)
    if dotted in ("tuple", "list", "torch.Size", "reversed") and isinstance(value, (Seq, SizesOf)):
        if dotted == "reversed":
            return Seq(value.items[::-1], value.spans[::-1]) if isinstance(value, Seq) else None
        return value
    if dotted in ("math.prod", "numpy.prod", "functools.reduce", "sum", "min", "max"):
        return _folded_sequence(frame, dotted, value)
    return None


def _length(frame: Frame, value: HostVal) -> HostVal | None:
    if isinstance(value, Seq) and not any(isinstance(item, SizesOf) for item in value.items):
        return Int(const(len(value.items)))
    if isinstance(value, SizesOf):
        rank = frame.state.knowledge.rank(value.shape)
        return Int(const(len(range(rank)[value.start : value.stop]))) if rank is not None else None
    if isinstance(value, Given) and value.is_list:
        return given(f"{value.key}.len", f"len({value.name})")
    tensor = value if isinstance(value, Tensor) else value.tensor if isinstance(value, Given) else None
    if tensor is not None and isinstance(value, (Tensor, Given)):
        return Int(frame.state.knowledge.dim(tensor.shape, 0))
    return None


def _folded_sequence(frame: Frame, dotted: str, value: HostVal) -> HostVal | None:
    if isinstance(value, SizesOf) and dotted.endswith("prod"):
        size = views.sizes_product(frame, value)
        return Int(size) if size is not None else None
    if not isinstance(value, Seq) or not value.items:
        return None
    numbers = _numbers(value.items)
    if numbers is None:
        return None
    total = numbers[0]
    for number in numbers[1:]:
        if dotted.endswith("prod"):
            total = total * number
        elif dotted == "sum":
            total = total + number
        elif dotted in ("min", "max"):
            total = arith.minimum(total, number) if dotted == "min" else arith.maximum(total, number)
        else:
            return None
    return Int(total)


def _torch_function(
    frame: Frame, node: ast.Call, name: str, args: list[HostVal], keywords: dict[str, HostVal]
) -> HostVal | None:
    if name in tensors.FACTORIES:
        return tensors.constructed(frame, node, name, args, keywords)
    if name in tensors.LIKE:
        return tensors.constructed_like(frame, node, name, args, keywords)
    if args and as_tensor_if_seen(args[0]) is not None:
        found = tensors.method_of_tensor(frame, node, args[0], name, args[1:], keywords)
        if found is not None:
            return found
    return None


def as_tensor_if_seen(value: HostVal) -> Tensor | None:
    return as_tensor(value) if isinstance(value, (Tensor, Given)) else None


def _by_name(dotted: str, args: Sequence[HostVal]) -> HostVal | None:
    """A ceiling division not found in the project, by its name: `cdiv(a, b)`."""
    if dotted.rpartition(".")[2].lower().lstrip("_") in _CDIV and len(args) == 2:
        numbers = _numbers(args)
        if numbers is not None and numbers[1].constant != 0:
            return Int(arith.cdiv(numbers[0], numbers[1]))
    if dotted.rpartition(".")[2].lstrip("_") == "next_power_of_2" and len(args) == 1:
        numbers = _numbers(args)
        return Int(arith.call("next_power_of_2", numbers[0])) if numbers is not None else None
    return None


def method_named(frame: Frame, base: Given, name: str) -> Callable | None:
    """`self.method` of the class around the function."""
    if base.name not in ("self", "cls") or not frame.class_name:
        return None
    method = frame.scope.methods.get((frame.class_name, name))
    if method is None or any(isinstance(d, ast.Name) and d.id == "property" for d in method.node.decorator_list):
        return None
    decorators = [frame.scope.dotted(decorator) for decorator in method.node.decorator_list]
    return Callable(method.node, frame.scope, bound="staticmethod" not in decorators)


def enter(
    frame: Frame, node: ast.Call, target: HostVal, args: Sequence[HostVal], keywords: dict[str, HostVal]
) -> HostVal | None:
    """The value of a call of the user's own function, by evaluating its body; None when it is not simple enough."""
    if isinstance(target, Bound) and target.grid is None:
        args = [value for value, _ in target.args] + list(args)
        keywords = {**{name: value for name, value, _ in target.keywords}, **keywords}
        target = target.target
    if isinstance(target, Choice) or not isinstance(target, Callable) or frame.depth >= MAX_DEPTH:
        return None
    return apply(frame, target, args, keywords, node)


def apply(
    frame: Frame, target: Callable, args: Sequence[HostVal], keywords: dict[str, HostVal], node: ast.expr | None
) -> HostVal | None:
    """Evaluate a function's body with these arguments; its own checks become facts of the caller."""
    from kernlint.lift.host.expressions import evaluate
    from kernlint.lift.host.statements import is_simple, run_body

    function = target.node
    place = f"{node.lineno}:{node.col_offset}" if node is not None else "grid"
    variables = _bound_parameters(frame, target, args, keywords, place)
    if variables is None:
        return None
    recorder = frame.recorder
    if isinstance(function, ast.Lambda) or recorder is None or not recorder.enters(target.scope, function):
        recorder = None
    limit = MAX_ENTERED_STATEMENTS if recorder is None else MAX_LAUNCHER_STATEMENTS
    if not isinstance(function, ast.Lambda) and not is_simple(function, limit):
        return None
    state = frame.state.copy()
    if target.local:
        state.variables.update(variables)
    else:
        state.variables = variables
    inner = Frame(target.scope, state, frame.budget, depth=frame.depth + 1, nesting=frame.nesting)
    inner.prefix = frame.prefix if target.local else f"{frame.prefix}{place}/"
    inner.versions = dict(frame.versions) if target.local else {}
    inner.guarded, inner.loops = frame.guarded, frame.loops
    if recorder is not None and node is not None:
        inner.recorder = recorder
        inner.call_site = frame.call_site or frame.scope.text.span(node)
        if target.scope is not frame.scope:
            inner.call_span = frame.call_span or frame.scope.text.span(node)
        else:
            inner.call_span = frame.call_span
    inner.class_name = frame.class_name if target.scope is frame.scope else ""
    if isinstance(function, ast.Lambda):
        return evaluate(inner, function.body)
    run_body(inner, function.body)
    if inner.state.live:
        inner.leave(Literal(None))
    if not inner.returns or inner.final is None:
        return None
    result = inner.returns[-1][1]
    for condition, value in reversed(inner.returns[:-1]):
        result = join_values(frame, function.name, condition, value, result)
    frame.state.facts, frame.state.divisible = inner.final.facts, inner.final.divisible
    frame.state.knowledge = inner.final.knowledge
    return result


def _bound_parameters(
    frame: Frame, target: Callable, args: Sequence[HostVal], keywords: dict[str, HostVal], place: str
) -> dict[str, HostVal] | None:
    """Parameter name -> value; None when the arguments do not fit.  `place` makes those not passed unique."""
    from kernlint.lift.host.expressions import evaluate

    signature = target.node.args
    if any(isinstance(arg, SizesOf) for arg in args) and signature.vararg is None and len(args) > 1:
        return None
    names = [arg.arg for arg in (*signature.posonlyargs, *signature.args)]
    variables: dict[str, HostVal] = {}
    if target.bound and names:
        owner = names.pop(0)
        known = frame.state.variables
        variables = {name: value for name, value in known.items() if name == owner or name.startswith(f"{owner}.")}
    variables |= dict(zip(names, args, strict=False))
    if len(args) > len(names):
        if signature.vararg is None:
            return None
        variables[signature.vararg.arg] = Seq(tuple(args[len(names) :]))
    names += [arg.arg for arg in signature.kwonlyargs]
    for name, value in keywords.items():
        if name in names:
            variables[name] = value
        elif signature.kwarg is None:
            return None
    defaults: list[tuple[str, ast.expr | None]] = []
    if signature.defaults:
        positional = [arg.arg for arg in (*signature.posonlyargs, *signature.args)]
        defaults += list(zip(positional[-len(signature.defaults) :], signature.defaults, strict=True))
    defaults += [(arg.arg, default) for arg, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True)]
    empty = Frame(target.scope, type(frame.state)(), frame.budget, depth=frame.depth + 1)
    for name, default in defaults:
        if name not in variables and default is not None:
            variables[name] = evaluate(empty, default)
    for name in names:
        if name not in variables:
            variables[name] = given(f"{frame.prefix}{place}/{name}", name)
    return variables
