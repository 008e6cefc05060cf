"""KL504 shared-memory-over-limit."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launch_limits import (
    Size,
    dynamic_arrays,
    expr_size,
    launch_facts,
    may_exceed,
    static_shared_bytes,
)
from kernlint.analysis.sharing_extents import dynamic_shortages
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.expr import Expr
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Span
from kernlint.rule import Context, Example, Rule
from kernlint.target.limits import ARCHITECTURES, STATIC_SHARED_BYTES, most_shared_memory

_KERNEL = """\
#include <cuda_runtime.h>
__global__ void stage(const float* x, float* y) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[255 - threadIdx.x];
}
cudaError_t launch(const float* x, float* y) {
    LINES
    return cudaGetLastError();
}
"""
_OPT_IN = "cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);"
DEFAULT_TARGETS = ("sm_80",)
_ATTRIBUTES = ("MaxDynamicSharedMemorySize", "SharedMemoryMode")


def _launch(*lines: str) -> str:
    return _KERNEL.replace("LINES", "\n    ".join(lines))


class SharedMemoryOverLimit(Rule):
    code = "KL504"
    name = "shared-memory-over-limit"
    kind = "launch-config"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "A block asks for more shared memory than it gets, or for none although the kernel uses it."
    why = (
        "Above 48 KiB a kernel has to opt in with `cudaFuncSetAttribute`, and each device has a limit beyond that. The "
        "launch fails otherwise. An `extern __shared__` array launched without bytes overwrites nothing and faults."
    )
    advice = (
        "Call `cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)` before the launch."
    )
    silent_when = ("the attribute is set for the kernel", "the size stays within 48 KiB")
    references = (
        "https://github.com/punica-ai/punica/pull/20",
        "CUDA C++ Programming Guide, Technical Specifications per Compute Capability",
    )
    flagged = (
        Example("no opt-in", _launch("size_t bytes = 65536;", "stage<<<8, 256, bytes>>>(x, y);  //~ KL504")),
        Example("none passed", _launch("stage<<<8, 256>>>(x, y);  //~ KL504")),
        Example(
            "more than the device has",
            _launch("const int bytes = 300 * 1024;", _OPT_IN, "stage<<<8, 256, bytes>>>(x, y);  //~ KL504"),
        ),
    )
    silent = (
        Example("opt-in", _launch("const int bytes = 65536;", _OPT_IN, "stage<<<8, 256, bytes>>>(x, y);")),
        Example("small", _launch("stage<<<8, 256, 256 * sizeof(float)>>>(x, y);")),
        Example("exactly 48 KiB", _launch("stage<<<8, 256, 49152>>>(x, y);")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        known = static_shared_bytes(kernel, None) if kernel.framework is Framework.CUDA else None
        if known is not None and known[0] > STATIC_SHARED_BYTES and known[1]:
            message = f"Static shared arrays take {known[0]} bytes; the compiler's limit is {STATIC_SHARED_BYTES}."
            largest = max(known[1], key=lambda buffer: buffer.span.start)
            yield self.finding(largest.span, message, kernel=kernel.name, evidence={"bytes": known[0]})

        for short in dynamic_shortages(kernel) if kernel.framework is Framework.CUDA else ():
            launch, thread = short.scenario.launch, short.scenario.block.show(short.thread)
            if launch is not None:
                message = (
                    f"The kernel uses more dynamic shared memory than the {short.passed} bytes passed. "
                    f"Thread {thread} touches byte {short.needed - 1}."
                )
                sure = Confidence.HIGH if short.fixed else Confidence.MEDIUM
                yield self._report(launch, message, sure, [(short.access.span, "this access")])

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        kernel = launch.kernel
        if not launch.block:
            return
        asked = launch.shared.expr if launch.shared is not None else None
        if launch.shared is None or (asked is not None and asked.constant == 0):
            arrays = dynamic_arrays(kernel) if kernel is not None else []
            if kernel is not None and arrays:
                message = f"`{kernel.name}` uses dynamic shared memory, but the launch passes 0 bytes."
                yield self._report(launch, message, Confidence.HIGH, [(arrays[0].span, f"`{arrays[0].name}`")])
        elif asked is not None:
            yield from self._check_size(launch, asked, kernel, context)

    def _check_size(self, launch: Launch, asked: Expr, kernel: Kernel | None, context: Context) -> Iterator[Finding]:
        static = static_shared_bytes(kernel, launch) if kernel is not None else None
        total = asked + (static[0] if static is not None else 0)
        opted = any(part in name for name in launch.attributes for part in _ATTRIBUTES) or bool(
            launch.attrs.get("attribute_elsewhere")
        )
        declared = context.targets != DEFAULT_TARGETS  # sm_80 alone is what is assumed when nothing is configured
        value, most = total.constant, most_shared_memory(context.targets)
        oversized = any("SharedMemoryMode" in name for name in launch.attributes)
        if value is not None and most is not None and value > most[0] and not oversized:
            message = f"The block asks for {value} bytes of shared memory; {most[1]} has at most {most[0]}."
            sure = declared or value > max(row.shared_opt_in for row in ARCHITECTURES.values())
            yield self._report(launch, message, Confidence.HIGH if sure else Confidence.LOW)
        elif opted:
            return
        elif value is not None and value > STATIC_SHARED_BYTES:
            message = f"{value} bytes of shared memory need an opt-in; without it 49152 is the limit."
            yield self._report(launch, message, Confidence.HIGH)
        elif value is None and not total.is_opaque and may_exceed(total, STATIC_SHARED_BYTES, launch_facts(launch)):
            size = expr_size(total - total.constant_term) or Size.SMALL
            message = f"Shared memory of `{total!r}` bytes can pass 49152, the limit without an opt-in."
            yield self._report(launch, message, Confidence.MEDIUM if size is Size.LARGE else Confidence.LOW)

    def _report(
        self, launch: Launch, message: str, confidence: Confidence, related: list[tuple[Span, str]] | None = None
    ) -> Finding:
        return self.finding(
            launch.span, message, related=related or [], confidence=confidence, kernel=launch.kernel_name
        )
