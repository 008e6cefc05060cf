"""KL001: a part of the file that could not be parsed, so nothing is known about it."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Module
from kernlint.rule import Context, Example, Rule


class UnparsedRegion(Rule):
    code = "KL001"
    name = "unparsed-region"
    kind = "linter"
    severity = Severity.INFO
    summary = "Part of the file could not be parsed, so kernlint says nothing about it."
    why = (
        "A fault inside a region that was not understood goes unreported.  Findings elsewhere in the file stand.  "
        "Usual causes are macros that stand for syntax, and a file that does not compile as it is."
    )
    advice = "Fix the syntax, or spell out the macro; a `;` after a macro that stands for a statement is often enough."
    silent_when = ("the region is outside kernels (shown with `--audit`)",)
    flagged = (
        Example(
            "a kernel with a syntax error",
            "def f(x):\n    return x +  #~ KL001\n\n# uses triton\n",
            language="python",
            confidence=Confidence.LOW,
        ),
        Example(
            "an error inside a kernel",
            "__global__ void scale(float* x, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) x[i] = 2 * * );  //~ KL001\n"
            "}\n",
        ),
    )
    silent = (
        Example(
            "a kernel that parses",
            "__global__ void scale(float* x, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) x[i] *= 2;\n"
            "}\n",
        ),
    )

    def check_module(self, module: Module, context: Context) -> Iterator[Finding]:
        for region in module.unparsed:
            # Where nothing at all was lifted, silence would look like a clean file.
            lost = bool(region.kernel) or not (module.kernels or module.launches or module.functions)
            where = f" in kernel `{region.kernel}`" if region.kernel else ""
            yield self.finding(
                region.span,
                f"not understood{where}: {region.reason}.",
                confidence=Confidence.HIGH if lost else Confidence.LOW,
                severity=Severity.WARNING if lost and not region.kernel else None,
                kernel=region.kernel,
                evidence={"bytes": region.span.end - region.span.start, "reason": region.reason},
            )
