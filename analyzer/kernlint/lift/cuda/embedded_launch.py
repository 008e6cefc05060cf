"""Launches of raw kernels from Python: `kernel((grid,), (block,), (arguments,))` and pycuda's keyword form.

CuPy and pycuda raise when a launch fails, so its status counts as read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernlint.ir import arith
from kernlint.ir.expr import Expr, const, host
from kernlint.ir.host import GridDim, HostFunction, HostValue, Launch
from kernlint.ir.kernel import Kernel, Module
from kernlint.ir.types import Span
from kernlint.lift.cuda.embedded_text import StringReader
from kernlint.lift.cuda.host_bind import bind
from kernlint.source.file import PYTHON, SourceFile

_MAKERS = frozenset({"RawKernel", "get_function", "get_kernel", "get_global_func"})
_WRAPPED = frozenset({"int32", "int64", "uint32", "uint64", "intc", "uintc", "int", "longlong"})
MAX_DEPTH = 40


def python_launches(
    tree: ast.Module, source: SourceFile, reader: StringReader, kernels: Sequence[Kernel]
) -> Module | None:
    """A module with the launches of raw kernels in the Python code, bound to `kernels`; None when there are none."""
    raw = _raw_kernels(tree)
    if not raw:
        return None
    module = Module(source.path, PYTHON)
    by_name = {kernel.name: kernel for kernel in kernels}
    constants = {name: value for name, value in reader.names.items() if isinstance(value, ast.Constant)}
    for function, body in _functions(tree):
        record: HostFunction | None = None
        values = {**constants, **(_single_assignments(function) if function is not None else {})}
        for node in body:
            target = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
            if isinstance(node.func, ast.Call):
                name = _made(node.func)
            else:
                name = raw.get(target, "")
            if not name:
                continue
            if record is None and function is not None:
                record = _record(function, reader, source.path)
            launch = _launch(node, name, record, reader, source.path, values)
            if launch is None:
                continue
            if name in by_name:
                bind(launch, by_name[name])
            module.launches.append(launch)
            if record is not None:
                record.launches.append(launch)
        if record is not None and record.launches:
            module.functions.append(record)
    return module if module.launches else None


def _raw_kernels(tree: ast.Module) -> dict[str, str]:
    """The text of a variable (`kern`, `self.kern`) -> the name of the CUDA kernel it holds."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = _made(node.value)
            for target in node.targets:
                if name and isinstance(target, (ast.Name, ast.Attribute)):
                    found[ast.unparse(target)] = name
    return found


def _made(call: ast.Call) -> str:
    """The kernel's name when a call makes a raw kernel, else ''."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in _MAKERS:
        return ""
    wanted = call.args[1:2] if name == "RawKernel" else call.args[:1]
    wanted = wanted or [keyword.value for keyword in call.keywords if keyword.arg == "name"]
    value = wanted[0] if wanted else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value.partition("<")[0].rpartition("::")[2]
    return ""


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.Module) -> Iterator[tuple[_Function | None, list[ast.Call]]]:
    """Each function with the calls in it, innermost function wins; module-level calls under None."""
    pending: list[tuple[ast.AST, _Function | None]] = [(tree, None)]
    calls: dict[_Function | None, list[ast.Call]] = {None: []}
    while pending:
        node, owner = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner = node
            calls.setdefault(owner, [])
        elif isinstance(node, ast.Call):
            calls[owner].append(node)
        pending.extend((child, owner) for child in reversed(list(ast.iter_child_nodes(node))))
    yield from calls.items()


def _record(function: _Function, reader: StringReader, path: str) -> HostFunction:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    span = _span(function, reader, path)
    return HostFunction(function.name, span, span, tuple(names), is_test=function.name.startswith("test"))


def _span(node: ast.expr | ast.stmt, reader: StringReader, path: str) -> Span:
    start = reader.offset(node.lineno, node.col_offset)
    return Span(path, start, reader.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset))


def _launch(
    node: ast.Call,
    name: str,
    record: HostFunction | None,
    reader: StringReader,
    path: str,
    values: dict[str, ast.expr],
) -> Launch | None:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    positional = list(node.args)
    if "block" in keywords or "grid" in keywords:  # pycuda: arguments first, geometry by keyword
        grid, block, arguments = keywords.get("grid"), keywords.get("block"), positional
        shared = keywords.get("shared")
    elif len(positional) >= 3 and isinstance(_followed(positional[2], values), (ast.Tuple, ast.List)):
        listed = _followed(positional[2], values)
        grid, block = positional[0], positional[1]
        arguments = list(listed.elts) if isinstance(listed, (ast.Tuple, ast.List)) else []
        shared = keywords.get("shared_mem")
    else:
        return None
    launch = Launch(name, _span(node, reader, path), record, status="checked")
    launch.grid = _dims(grid, reader, path, values)
    launch.block = _dims(block, reader, path, values)
    if shared is not None:
        launch.shared = _value(shared, reader, path, values)
    launch.positional = tuple(_value(argument, reader, path, values) for argument in arguments)
    return launch


def _followed(node: ast.expr | None, values: dict[str, ast.expr]) -> ast.expr | None:
    return values.get(node.id, node) if isinstance(node, ast.Name) else node


def _dims(
    node: ast.expr | None, reader: StringReader, path: str, values: dict[str, ast.expr]
) -> tuple[GridDim, ...] | None:
    node = _followed(node, values)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(GridDim(integer(item, values), _span(item, reader, path)) for item in node.elts)
    return None


def _value(node: ast.expr, reader: StringReader, path: str, values: dict[str, ast.expr]) -> HostValue:
    expr = integer(node, values)
    literal = node.value if isinstance(node, ast.Constant) else None
    is_known = isinstance(node, ast.Constant)
    return HostValue(expr, None, literal, is_known, span=_span(node, reader, path), text=ast.unparse(node))


def _single_assignments(function: _Function) -> dict[str, ast.expr]:
    """Names assigned exactly once in a function."""
    found: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for node in ast.walk(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.For, ast.NamedExpr)):
            targets = [node.target]
            twice.update(target.id for target in targets if isinstance(target, ast.Name))
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                if target.id in found:
                    twice.add(target.id)
                found[target.id] = node.value
            elif isinstance(target, (ast.Tuple, ast.List)):
                twice.update(item.id for item in target.elts if isinstance(item, ast.Name))
    return {name: value for name, value in found.items() if name not in twice}


def integer(node: ast.expr, values: dict[str, ast.expr], depth: int = 0) -> Expr | None:
    """A Python integer expression in normal form, or None."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return const(node.value) if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.Name):
        bound = values.get(node.id)
        if bound is not None:
            known = integer(bound, values, depth + 1)
            if known is not None:
                return known
            if not isinstance(bound, (ast.Attribute, ast.Subscript, ast.Call)):
                return None
        return host(node.id)
    if isinstance(node, ast.Attribute):
        return host(ast.unparse(node)) if node.attr in ("size", "ndim", "nbytes", "itemsize") else None
    if isinstance(node, ast.Subscript):
        shape = node.value
        plain = isinstance(shape, ast.Attribute) and shape.attr == "shape" and isinstance(node.slice, ast.Constant)
        return host(ast.unparse(node)) if plain else None
    if isinstance(node, ast.BinOp):
        return _binary(node, values, depth)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        quotient = node.operand
        if isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.FloorDiv):  # -(-a // b)
            top, bottom = integer(quotient.left, values, depth + 1), integer(quotient.right, values, depth + 1)
            return arith.cdiv(-top, bottom) if top is not None and bottom is not None else None
        inner = integer(node.operand, values, depth + 1)
        return -inner if inner is not None else None
    if isinstance(node, ast.Call):
        return _call(node, values, depth)
    return None


def _binary(node: ast.BinOp, values: dict[str, ast.expr], depth: int) -> Expr | None:
    a, b = integer(node.left, values, depth + 1), integer(node.right, values, depth + 1)
    if a is None or b is None:
        return None
    if isinstance(node.op, ast.Add):
        return a + b
    if isinstance(node.op, ast.Sub):
        return a - b
    if isinstance(node.op, ast.Mult):
        return a * b
    if b.constant == 0:
        return None
    if isinstance(node.op, ast.FloorDiv):
        return arith.floordiv(a, b)
    return arith.mod(a, b) if isinstance(node.op, ast.Mod) else None


def _call(node: ast.Call, values: dict[str, ast.expr], depth: int) -> Expr | None:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    arguments = [integer(argument, values, depth + 1) for argument in node.args]
    known = [argument for argument in arguments if argument is not None]
    if len(known) != len(arguments):
        return None
    if name in _WRAPPED and len(known) == 1:
        return known[0]
    if name in ("min", "max") and len(known) == 2:
        return arith.minimum(*known) if name == "min" else arith.maximum(*known)
    if name.replace("_", "") in ("cdiv", "ceildiv", "divup") and len(known) == 2:
        return arith.cdiv(*known)
    if name in ("numel", "size") and isinstance(function, ast.Attribute):
        return host(ast.unparse(node))
    return host(ast.unparse(node)) if name == "len" else None
