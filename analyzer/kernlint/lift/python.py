"""Lift a Python file: Triton kernels, CUDA in strings, host functions and launches."""

from __future__ import annotations

from kernlint.ir.kernel import Module, UnparsedRegion
from kernlint.ir.types import Span
from kernlint.lift.binding import bind_module
from kernlint.lift.host.definitions import Imported
from kernlint.lift.host.functions import lift_host
from kernlint.lift.host.scope import PythonScope, scope_of
from kernlint.lift.host.text import ParseFailure, parse_python
from kernlint.source.file import PYTHON, Resolver, SourceFile

# A file with none of these has no kernel, launch, test or benchmark in it and is not parsed.
_MARKS = (b"triton", b"__global__", b"RawKernel", b"RawModule", b"load_inline", b"cpp_extension", b"gluon")
_CUDA_MARKS = (b"__global__", b"<<<")


def is_of_interest(data: bytes) -> bool:
    """Whether the text can hold a kernel or launch."""
    if any(mark in data for mark in _MARKS) or b")](" in data:  # `kernel[(n,)](...)`
        return True
    return b"](" in data and (b"grid" in data or b"num_warps" in data)


def lift_python(source: SourceFile, resolver: Resolver) -> Module:
    """The kernels, functions and launches of a file; never raises on odd input."""
    module = Module(source.path, PYTHON)
    if not is_of_interest(source.data):
        return module
    scope = scope_of(source, resolver)
    if scope is None:
        module.unparsed.append(_failure(source))
        return module
    _lift_kernels(module, scope)
    module.functions, launches = lift_host(scope)
    module.launches += launches
    module.imports = {
        name: ("." * definition.level + definition.module, definition.name)
        for name, definition in scope.names.items()
        if isinstance(definition, Imported) and definition.name is not None
    }
    bind_module(module)
    module.dependencies = scope.files_read()
    return module


def _failure(source: SourceFile) -> UnparsedRegion:
    failure = parse_python(source)
    if isinstance(failure, ParseFailure):
        return UnparsedRegion(Span(source.path, failure.offset, failure.offset), failure.reason)
    return UnparsedRegion(Span(source.path, 0, 0), "not lifted")


def _lift_kernels(module: Module, scope: PythonScope) -> None:
    if any(function.is_jit for function in scope.functions):
        from kernlint.lift.triton.kernels import lift_triton

        module.kernels += lift_triton(scope.tree, scope.source, scope, scope.resolver)
    if any(mark in scope.source.data for mark in _CUDA_MARKS):
        from kernlint.lift.cuda.embedded import embedded_cuda

        for part in embedded_cuda(scope.tree, scope.source, scope.resolver):
            module.kernels += part.kernels
            module.launches += part.launches
            module.functions += part.functions
            module.unparsed += part.unparsed
