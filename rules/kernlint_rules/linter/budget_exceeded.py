"""KL004: a kernel or file so large that its analysis was ended early."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Finding, Severity
from kernlint.rule import Example, FileFacts, Rule


def _nested(levels: int) -> str:
    """A kernel with so many conditions inside one another."""
    return (
        "__global__ void pick(int* x, int i) {  //~ KL004\n"
        + "".join(f"if (i != {level}) {{\n" for level in range(levels))
        + "x[0] = i;\n"
        + "}" * (levels + 1)
    )


class BudgetExceeded(Rule):
    code = "KL004"
    name = "budget-exceeded"
    kind = "linter"
    severity = Severity.INFO
    summary = "The analysis of a kernel or a file was ended early because it would have cost too much."
    why = (
        "Faults in the part that was given up go unreported.  Budgets are far above what real kernels need; what "
        "exceeds them is usually generated code."
    )
    advice = "Split the kernel, or leave generated files out with `exclude`."
    flagged = (Example("generated code, nested without end", _nested(180)),)
    silent = (Example("a few levels", _nested(8).replace("  //~ KL004", "")),)

    def check_file(self, facts: FileFacts) -> Iterator[Finding]:
        for span, kernel, what in facts.overruns:
            subject = f"kernel `{kernel}`" if kernel else "this file"
            yield self.finding(span, f"analysis of {subject} ended early: {what}.", kernel=kernel)
