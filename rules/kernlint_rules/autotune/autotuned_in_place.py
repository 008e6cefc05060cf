"""KL601 autotuned-in-place."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.autotune import InPlaceArgument, Reuse, unprotected_arguments
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Autotune, Framework, Kernel
from kernlint.ir.types import Span
from kernlint.rule import Context, Example, Rule

_HEAD = """\
import triton
import triton.language as tl

"""
_CONFIGS = (
    'configs=[triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024}, num_warps=4)], key=["n"]'
)


class AutotunedInPlace(Rule):
    code = "KL601"
    name = "autotuned-in-place"
    kind = "autotune"
    frameworks = (Framework.TRITON,)
    severity = Severity.ERROR
    summary = "A kernel that updates its arguments or adds to them is autotuned without restoring them."
    why = (
        "The tuner runs every configuration many times on the caller's tensors. The first call for a new key therefore "
        "applies the update dozens of times; later calls are right, and so is a kernel with a single configuration."
    )
    advice = "List the arguments in `restore_value=[...]`, or in `reset_to_zero=[...]` when they start at zero."
    silent_when = (
        "`restore_value`, `reset_to_zero` or a `pre_hook` covers the argument",
        "only one configuration is given",
        "the kernel only stores, or reads back only what it stored itself",
        "doing it again changes nothing (`atomic_max`, clamping in place)",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/6547",
        "https://github.com/triton-lang/triton/issues/781",
        "https://github.com/lucidrains/lion-pytorch/pull/36",
    )
    flagged = (
        Example(
            "optimiser step",
            _HEAD
            + f"@triton.autotune({_CONFIGS})  #~ KL601\n"
            + """\
@triton.jit
def sgd_step(p_ptr, g_ptr, n, lr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    p = tl.load(p_ptr + i, mask=ok)
    g = tl.load(g_ptr + i, mask=ok)
    tl.store(p_ptr + i, p - lr * g, mask=ok)
""",
            language="python",
        ),
        Example(
            "atomic partial sums",
            _HEAD
            + f"@triton.autotune({_CONFIGS})  #~ KL601\n"
            + """\
@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "restored",
            _HEAD
            + f'@triton.autotune({_CONFIGS}, restore_value=["p_ptr"])\n'
            + """\
@triton.jit
def sgd_step(p_ptr, g_ptr, n, lr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    p = tl.load(p_ptr + i, mask=ok)
    tl.store(p_ptr + i, p - lr * tl.load(g_ptr + i, mask=ok), mask=ok)
""",
            language="python",
        ),
        Example(
            "only stores",
            _HEAD
            + f"@triton.autotune({_CONFIGS})\n"
            + """\
@triton.jit
def scale(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=ok) * s, mask=ok)
""",
            language="python",
        ),
        Example(
            "one configuration is not benchmarked",
            _HEAD
            + """\
@triton.autotune(configs=[triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def relu_(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i, mask=ok)
    tl.store(x_ptr + i, x * 0.5, mask=ok)
""",
            language="python",
        ),
        Example(
            "clamping twice is clamping once",
            _HEAD
            + f"@triton.autotune({_CONFIGS})\n"
            + """\
@triton.jit
def relu_(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i, mask=ok)
    tl.store(x_ptr + i, tl.maximum(x, 0.0), mask=ok)
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        arguments = unprotected_arguments(kernel)
        if arguments and kernel.autotune is not None:
            yield self._report(kernel, kernel.autotune, arguments)

    def _report(self, kernel: Kernel, tuning: Autotune, arguments: list[InPlaceArgument]) -> Finding:
        confidence = max(argument.confidence for argument in arguments)
        shown = [argument for argument in arguments if argument.confidence is confidence]
        names = ", ".join(f"`{argument.name}`" for argument in shown)
        related: list[tuple[Span, str]] = []
        for argument in shown[:4]:
            if argument.read is not None:
                related.append((argument.read.span, f"`{argument.through or argument.name}` is read here"))
            how = "added to" if argument.reuse is Reuse.ACCUMULATED else "overwritten"
            related.append((argument.write.span, f"`{argument.name}` is {how} here"))
        adds = all(argument.reuse is Reuse.ACCUMULATED for argument in shown)
        effect = "adds to them again" if adds else "applies the update again"
        option = "reset_to_zero" if adds else "restore_value"
        quoted = ", ".join(f'"{argument.name}"' for argument in shown)
        return self.finding(
            tuning.span,
            f"Tuning `{kernel.name}` changes {names}, which nothing restores. "
            f"Every trial run of the autotuner {effect}; the first call for each key gives a wrong result.",
            related=related,
            confidence=confidence,
            help=f"Add `{option}=[{quoted}]` to the decorator.",
            kernel=kernel.name,
            severity=Severity.ERROR if confidence is Confidence.HIGH else Severity.WARNING,
            evidence={"arguments": [argument.name for argument in shown]},
        )
