"""CUDA inside Python strings: which strings hold it, lifted with positions in the Python file.

`load_inline`, `cupy.RawKernel` and `RawModule`, pycuda's `SourceModule`, `cuda.core.Program` and NVRTC take source as a
string; that string is lifted whole, with what it is concatenated from.  Other strings that hold a `__global__` are
lifted by themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernlint.ir.kernel import Module
from kernlint.lift.cuda.embedded_launch import python_launches
from kernlint.lift.cuda.embedded_text import MAX_TEXT, EmbeddedText, StringReader
from kernlint.lift.cuda.module import lift_cuda_text
from kernlint.source.file import NoResolver, Resolver, SourceFile

_COMPILERS = frozenset(
    {
        "load_inline",
        "RawKernel",
        "RawModule",
        "SourceModule",
        "DynamicSourceModule",
        "Program",
        "nvrtcCreateProgram",
        "compile_cuda",
        "_compile_kernel",
        "ElementwiseKernel",
        "compile_using_nvrtc",
    }
)
_SOURCE_KEYWORDS = frozenset({"cuda_sources", "cuda_source", "code", "source", "src", "cuda_src", "kernel_source"})


def embedded_cuda(tree: ast.Module, source: SourceFile, resolver: Resolver | None = None) -> list[Module]:
    """One module per CUDA text in the file's strings; all spans are the Python file's.  The last one may hold launches
    of raw kernels from Python."""
    if not _has_mark(source.data):
        return []
    reader = StringReader(source, string_names(tree))
    modules: list[Module] = []
    covered: set[int] = set()
    for text in _texts(tree, reader):
        content = text.text
        places = {piece.offset for piece in text.pieces if not piece.frozen and _has_mark(piece.text)}
        if not _has_mark(content) or len(content) > MAX_TEXT or (places and places <= covered):
            continue
        covered |= places
        module = lift_cuda_text(source, content, text.offsets, resolver or NoResolver())
        if module.kernels or module.launches or module.unparsed or module.functions:
            modules.append(module)
    _drop_repeated(modules)
    launches = python_launches(tree, source, reader, [kernel for module in modules for kernel in module.kernels])
    if launches is not None:
        modules.append(launches)
    return modules


def _has_mark(text: bytes) -> bool:
    """Whether a text can hold a kernel or a launch (`<<<` alone is also a heredoc or a merge conflict)."""
    return b"__global__" in text or (b"<<<" in text and b">>>(" in text)


def _texts(tree: ast.Module, reader: StringReader) -> Iterator[EmbeddedText]:
    """Candidate texts: arguments of compilers first, since they are complete, then every other string."""
    calls: list[ast.Call] = []
    others: list[ast.expr] = []
    docstrings: set[int] = set()
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        if isinstance(node, ast.Call) and _called(node) in _COMPILERS:
            calls.append(node)
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)):
            if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes)):
                continue
            if not isinstance(node, ast.Constant) or _marked(node.value):
                others.append(node)
            if not isinstance(node, ast.Constant):
                inner.update(id(child) for child in _string_parts(node))
    for call in calls:
        arguments = [keyword.value for keyword in call.keywords if keyword.arg in _SOURCE_KEYWORDS]
        for argument in (*arguments, *call.args):
            text = reader.read(argument)
            if text is not None:
                yield text
    for expression in others:
        if id(expression) in inner or id(expression) in docstrings:
            continue
        text = reader.read(expression)
        if text is not None:
            yield text


def _marked(value: object) -> bool:
    text = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return isinstance(text, bytes) and _has_mark(text)


def _string_parts(node: ast.expr) -> list[ast.expr]:
    """The direct parts of a composite string expression."""
    if isinstance(node, ast.JoinedStr):
        return list(node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [node.func.value]
    return []


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def string_names(tree: ast.Module) -> dict[str, ast.expr]:
    """Names bound exactly once in the file, anywhere, to an expression that may be a string or a number."""
    bound: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.AugAssign, ast.For)):
            if isinstance(node.target, ast.Name):
                twice.add(node.target.id)
            continue
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                if target.id in bound:
                    twice.add(target.id)
                bound[target.id] = value
    return {name: value for name, value in bound.items() if name not in twice}


def _drop_repeated(modules: list[Module]) -> None:
    """A string that is part of several texts is reported once."""
    seen: set[tuple[int, int]] = set()
    for module in modules:
        module.kernels = [k for k in module.kernels if (k.span.start, k.span.end) not in seen]
        module.functions = [f for f in module.functions if (f.span.start, f.span.end) not in seen]
        module.launches = [launch for launch in module.launches if launch.host in module.functions]
        module.unparsed = [u for u in module.unparsed if (u.span.start, u.span.end) not in seen]
        seen |= {(k.span.start, k.span.end) for k in module.kernels}
        seen |= {(f.span.start, f.span.end) for f in module.functions}
        seen |= {(u.span.start, u.span.end) for u in module.unparsed}
