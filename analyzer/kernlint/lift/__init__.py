"""Front ends: text -> kernel IR.  `lift_module` never raises on odd input and never executes what it reads."""

from __future__ import annotations

from kernlint.ir.kernel import Module
from kernlint.source.file import CUDA, NoResolver, Resolver, SourceFile


def lift_module(source: SourceFile, resolver: Resolver | None = None) -> Module:
    """Lift one file.  Launches are bound to the kernels of the same file; the engine binds those across files."""
    resolver = resolver or NoResolver()
    if source.language == CUDA:
        from kernlint.lift.cuda.module import lift_cuda

        return lift_cuda(source, resolver)
    from kernlint.lift.python import lift_python

    return lift_python(source, resolver)
