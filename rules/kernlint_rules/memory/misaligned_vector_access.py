"""KL113 misaligned-vector-access."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.lanes_alignment import Misaligned, misaligned_accesses
from kernlint.analysis.prove import divisibility_facts
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.condition import Condition
from kernlint.ir.expr import AtomKind
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework, Kernel, ParamRole
from kernlint.ir.types import Span
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
#include <cuda_runtime.h>
__global__ void row_copy(const float* x, float* y, int n) {
    const float* row = x + (size_t)blockIdx.x * LENGTH;
    const float4* wide = reinterpret_cast<const float4*>(row);MARK
    for (int i = threadIdx.x; i < n / 4; i += 256) {
        float4 v = wide[i];
        y[blockIdx.x * 256 + threadIdx.x] = v.x + v.y + v.z + v.w;
    }
}
void launch(const float* x, float* y, int rows, int n) {
    CHECK
    row_copy<<<rows, 256>>>(x, y, n);
}
"""


def _kernel(length: str, check: str = "", mark: str = "") -> str:
    return _KERNEL.replace("LENGTH", length).replace("CHECK", check).replace("MARK", mark)


class MisalignedVectorAccess(Rule):
    code = "KL113"
    name = "misaligned-vector-access"
    kind = "alignment"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "A vector access through a reinterpreted pointer whose offset need not be a multiple of the vector."
    why = (
        "An access of 8 or 16 bytes must be aligned to its size; otherwise the kernel stops with a misaligned address "
        "error. With an odd row length, row 0 is aligned and row 1 is not, so one-row tests pass."
    )
    advice = "Check the row length (`n % 4 == 0`) or the address, and fall back to scalar accesses otherwise."
    silent_when = (
        "the length is checked by the host or asserted",
        "the address is tested in the kernel",
        "the offset is a multiple of the vector by construction",
    )
    references = (
        "https://github.com/lightseekorg/tokenspeed/pull/683",
        "CUDA C++ Programming Guide, Device Memory Accesses, Size and Alignment Requirement",
    )
    flagged = (
        Example("rows of any length", _kernel("n", mark="  //~ KL113")),
        Example("rows of 33", _kernel("33", mark="  //~ KL113")),
        Example(
            "a window that moves by one element",
            _kernel("n", "if (n % 4 != 0) return;")
            .replace("        float4 v = wide[i];\n", "        float4 v = load4(row + 4 * i + taps);  //~ KL113\n")
            .replace("    for (int i", "    for (int taps = 0; taps < 3; ++taps)\n    for (int i")
            .replace("__global__", "__device__ float4 load4(const float* p) { return *(const float4*)p; }\n__global__"),
        ),
    )
    silent = (
        Example("length checked by the host", _kernel("n", "if (n % 4 != 0) return;")),
        Example("rows of 32", _kernel("32")),
        Example(
            "a window that moves by whole vectors",
            _kernel("n", "if (n % 4 != 0) return;")
            .replace("        float4 v = wide[i];\n", "        float4 v = load4(row + 4 * i + taps);\n")
            .replace("    for (int i", "    for (int taps = 0; taps < 12; taps += 4)\n    for (int i")
            .replace("__global__", "__device__ float4 load4(const float* p) { return *(const float4*)p; }\n__global__"),
        ),
        Example("length counted in vectors", _kernel("4 * n")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is not Framework.CUDA:
            return
        reported: set[tuple[str, int]] = set()
        for problem in misaligned_accesses(kernel):
            span = problem.cast or problem.access.span
            checked = not problem.constant and _is_checked_by_host(kernel, problem)
            if checked or (span.path, span.start) in reported:
                continue
            reported.add((span.path, span.start))
            yield self._report(kernel, problem, span)

    def _report(self, kernel: Kernel, found: Misaligned, span: Span) -> Finding:
        buffer = found.access.buffer
        name = buffer.name if buffer is not None else "?"
        what = ", ".join(f"`{atom.name}`" for atom in found.sizes)
        reason = f"nothing makes {what} a multiple" if what else "the offset is not always a multiple"
        message = (
            f"A {found.bytes}-byte access to `{name}` need not be aligned: {reason}. "
            f"The byte offset contains `{found.term!r}`."
        )
        roles = {p.role for p in kernel.params for atom in found.sizes if p.name == atom.name}
        if found.constant or (kernel.launches and ParamRole.SCALAR in roles):
            confidence = Confidence.HIGH
        else:
            confidence = Confidence.MEDIUM if ParamRole.SCALAR in roles else Confidence.LOW
        if ParamRole.CONSTEXPR in roles or any("sizeof" in atom.name for atom in found.sizes):
            confidence = min(confidence, Confidence.MEDIUM)  # generic in the vector's length: callers choose both
        if found.guessed or any("stride" in atom.name.lower() for atom in found.sizes):
            confidence = Confidence.LOW  # strides come from the allocator, which rounds them
        related = [(found.access.span, "the access")] if span is not found.access.span else []
        return self.finding(span, message, related=related, confidence=confidence, kernel=kernel.name)


def _is_checked_by_host(kernel: Kernel, problem: Misaligned) -> bool:
    """Whether every launch is behind a condition on one of the sizes' remainders, or on something not understood."""
    return bool(kernel.launches) and all(_mentions(launch, problem) for launch in kernel.launches)


def _mentions(launch: Launch, problem: Misaligned) -> bool:
    facts: list[Condition] = [*launch.facts, *(launch.host.facts if launch.host is not None else ())]
    keys = {atom.key for atom in problem.sizes}
    for size in problem.sizes:
        bound = launch.bindings.get(size.key)
        keys |= {atom.key for atom in bound.deep_atoms} if bound is not None else set()
        if bound is not None and bound.constant is not None and (bound.constant * 4) % problem.bytes == 0:
            return True
    multiples = [*launch.divisible, *divisibility_facts(facts)]
    if any(atom.key in keys for a, _ in multiples for atom in a.deep_atoms):
        return True
    tested = [atom for fact in facts for atom in fact.deep_atoms if atom.kind in (AtomKind.MOD, AtomKind.BITAND)]
    return bool(tested) or any(fact.flags for fact in facts)
