"""KL604 silently-infeasible-config."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.autotune_configs import Infeasible, infeasible_configs
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Autotune, Framework, Kernel
from kernlint.ir.types import Span
from kernlint.rule import Context, Example, Rule
from kernlint.target.vendors import is_for_other_hardware

_HEAD = "import triton\nimport triton.language as tl\n\n"
_SCALE = """\
@triton.jit
def scale(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=ok) * s, mask=ok)
"""
_MATMUL = """\
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
"""


class SilentlyInfeasibleConfig(Rule):
    code = "KL604"
    name = "silently-infeasible-config"
    kind = "autotune"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "A tuning configuration cannot compile or launch on the target."
    why = (
        "The tuner gives a configuration that fails infinite time and says nothing. The search is smaller than it "
        "looks; when every configuration fails, the launch reports only the first one's error."
    )
    advice = "Remove the configuration or prune it by target with `prune_configs_by`."
    silent_when = (
        "the estimate stays within the target's limit",
        "a value is not known",
        "the file stands in another vendor's folder",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/2596",
        "https://github.com/triton-lang/triton/blob/main/python/triton/runtime/autotuner.py",
    )
    flagged = (
        Example(
            "a block that is no power of two, and three warps",
            _HEAD
            + """\
@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1000}, num_warps=4),  #~ KL604
        triton.Config({"BLOCK": 1024}, num_warps=3),  #~ KL604
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=4),
    ],
    key=["n"],
)
"""
            + _SCALE,
            language="python",
        ),
        Example(
            "more shared memory than any GPU has",
            _HEAD
            + """\
@triton.autotune(
    configs=[
        triton.Config({"BM": 256, "BN": 256, "BK": 128}, num_warps=8, num_stages=5),  #~ KL604
        triton.Config({"BM": 128, "BN": 128, "BK": 32}, num_warps=8, num_stages=4),
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
"""
            + _MATMUL,
            language="python",
            confidence=Confidence.MEDIUM,
        ),
    )
    silent = (
        Example(
            "usual configurations",
            _HEAD
            + """\
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in [256, 512, 1024] for w in [2, 4, 8]],
    key=["n"],
)
"""
            + _SCALE,
            language="python",
        ),
        Example(
            "large but feasible tiles",
            _HEAD
            + """\
@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 64, "BN": 256, "BK": 32}, num_warps=4, num_stages=4),
    ],
    key=["M", "N", "K"],
)
"""
            + _MATMUL,
            language="python",
            confidence=Confidence.MEDIUM,
        ),
        Example(
            "a loop count need not be a power of two",
            _HEAD
            + """\
@triton.autotune(configs=[triton.Config({"REPEAT": 3}), triton.Config({"REPEAT": 5})], key=["n"])
@triton.jit
def scale(x_ptr, y_ptr, n, s, REPEAT: tl.constexpr):
    for j in range(REPEAT):
        i = (tl.program_id(0) * REPEAT + j) * 256 + tl.arange(0, 256)
        ok = i < n
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=ok) * s, mask=ok)
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        tuning = kernel.autotune
        if tuning is None or not tuning.configs or is_for_other_hardware(tuning.span.path):
            return
        bad = infeasible_configs(kernel, context.targets)
        sure = [item for item in bad if item.confidence is Confidence.HIGH]
        if sure and tuning.complete and len(sure) == len(tuning.configs):
            yield self._all(kernel, tuning, sure)
            return
        places: dict[Span, list[Infeasible]] = {}
        for item in bad:
            places.setdefault(item.config.span, []).append(item)
        for items in places.values():
            yield self._some(kernel, tuning, items)

    def _some(self, kernel: Kernel, tuning: Autotune, items: list[Infeasible]) -> Finding:
        """One finding for the configurations written at one place (a comprehension makes many)."""
        surest = max(items, key=lambda item: item.confidence)
        others = f" Likewise {len(items) - 1} more written here." if len(items) > 1 else ""
        return self.finding(
            surest.config.span,
            f"This configuration of `{kernel.name}` cannot run, and the tuner will not say so. "
            f"In it {surest.reason}.{others}",
            related=[(tuning.span, "tried by this autotuner")],
            confidence=surest.confidence,
            kernel=kernel.name,
            evidence={"reason": surest.reason, "configurations": len(items)},
        )

    def _all(self, kernel: Kernel, tuning: Autotune, bad: list[Infeasible]) -> Finding:
        return self.finding(
            bad[0].config.span,
            f"None of the {len(bad)} configurations of `{kernel.name}` can run. In the first {bad[0].reason}.",
            related=[(item.config.span, item.reason) for item in bad[1:6]],
            severity=Severity.ERROR,
            kernel=kernel.name,
            evidence={"reason": bad[0].reason, "configurations": len(bad)},
        )
