"""KL505 unchecked-launch."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Confidence, Finding
from kernlint.ir.host import HostFunction, Launch
from kernlint.ir.kernel import Framework
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
#include <cuda_runtime.h>
__global__ void scale(float* x, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= k;
}
RETURNS run(float* x, int n, float k, int threads) {
    scale<<<(n + threads - 1) / threads, threads>>>(x, n, k);MARK
    REST
}
"""


def _host(returns: str, rest: str, mark: str = "") -> str:
    return _KERNEL.replace("RETURNS", returns).replace("REST", rest).replace("MARK", mark)


class UncheckedLaunch(Rule):
    code = "KL505"
    name = "unchecked-launch"
    kind = "unchecked-launch"
    frameworks = (Framework.CUDA,)
    summary = "Nothing reads the launch status after a kernel launch."
    why = (
        "A launch that fails (bad configuration, no kernel image for the device) reports nothing by itself. The output "
        "keeps its old contents and the caller is told that all went well; a later call reports the error as its own."
    )
    advice = "Return or check `cudaGetLastError()` after the launch (`C10_CUDA_KERNEL_LAUNCH_CHECK()` in PyTorch code)."
    silent_when = (
        "the status is read after the launch, directly or by a checking macro or helper",
        "a checked synchronising call follows",
    )
    references = (
        "https://github.com/pytorch/pytorch/pull/46474",
        "CUDA C++ Programming Guide, Error Checking",
    )
    flagged = (
        Example("success whatever happened", _host("bool", "return true;", "  //~ KL505")),
        Example(
            "other calls are checked",
            _host("void", "cudaFree(x);", "  //~ KL505").replace(
                "    scale<<<", "    CHECK(cudaSetDevice(0));\n    scale<<<"
            ),
        ),
        Example("status type, constant result", _host("cudaError_t", "return cudaSuccess;", "  //~ KL505")),
    )
    silent = (
        Example("returned", _host("cudaError_t", "return cudaGetLastError();")),
        Example("compared", _host("bool", "return cudaGetLastError() == cudaSuccess;")),
        Example("macro", _host("void", "C10_CUDA_KERNEL_LAUNCH_CHECK();")),
        Example(
            "a later call that is checked reports it",
            _host("void", "CHECK(cudaMemcpy(x, x + n, 4 * n, cudaMemcpyDefault));"),
        ),
        Example("kept and returned", _host("int", "cudaError_t e = cudaPeekAtLastError();\n    return (int)e;")),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        if launch.status != "unchecked" or launch.block is None or not launch.block:
            return
        host = launch.host
        tells = host is not None and _reports_status(host)
        promise = f" `{host.name}` still reports success." if tells and host is not None else ""
        yield self.finding(
            launch.span,
            f"The status of the launch of `{launch.kernel_name}` is never read.{promise}",
            confidence=Confidence.HIGH if tells or _is_exception(launch, context) else Confidence.MEDIUM,
            kernel=launch.kernel_name,
        )


def _reports_status(host: HostFunction) -> bool:
    """Whether callers get something from the function that they take for its outcome."""
    returns = host.returns.replace("static", "").replace("inline", "").strip()
    return host.name != "main" and not host.is_test and returns not in ("", "void", "auto")


def _is_exception(launch: Launch, context: Context) -> bool:
    """Whether nobody but this launch goes unchecked: the function checks its other calls of the runtime, or other
    functions of the file read the status of their launches."""
    host = launch.host
    if host is None or host.name == "main" or host.is_test:
        return False
    if launch.template_arguments:
        return False  # a template only passes types on: its instantiations' callers decide what to read
    return bool(launch.attrs.get("other calls checked")) or any(
        other.status == "checked" and other.host is not host for other in context.module.launches
    )
