"""Lift CUDA text given in a test."""

from __future__ import annotations

from kernlint.ir.kernel import Access, AccessKind, Kernel
from kernlint.lift.cuda.evaluate import lift_kernel
from kernlint.lift.cuda.prepare import parse_unit
from kernlint.source.file import CUDA, SourceFile


def lifted(text: str, name: str = "") -> Kernel:
    """The (first, or named) kernel of a CUDA text; errors inside the lifter are raised."""
    unit = parse_unit(SourceFile("test.cu", text.encode(), CUDA))
    assert unit is not None
    kernels = [function for function in unit.own if function.is_kernel and name in ("", function.name)]
    return lift_kernel(kernels[0], unit, strict=True)


def body(statements: str, parameters: str = "float* x, const float* y, int n, int m") -> Kernel:
    return lifted(f"__global__ void k({parameters}) {{\n{statements}\n}}")


def source_text(text: str, access: Access) -> str:
    return text.encode()[access.span.start : access.span.end].decode()


def shown(kernel: Kernel) -> list[str]:
    """One line per access: `kind buffer[index]`, with the guard when there is one."""
    lines = []
    for access in kernel.accesses:
        line = f"{access.kind.value} {access.buffer}[{access.index!r}]"
        guard = repr(access.guard)
        lines.append(line if guard == "true" else f"{line} if {guard}")
    return lines


def stores(kernel: Kernel) -> list[Access]:
    return [access for access in kernel.accesses if access.kind is AccessKind.STORE]
