"""KL606 reset-and-restore-overlap."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_HEAD = "import triton\nimport triton.language as tl\n\n"
_CONFIGS = 'configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"]'
_BODY = """\
@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))
"""
_HOOK = "def clear(args, reset_only=False):\n    args['out_ptr'].zero_()\n\n\n"


class ResetAndRestoreOverlap(Rule):
    code = "KL606"
    name = "reset-and-restore-overlap"
    kind = "autotune"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "`reset_to_zero` and `restore_value` name the same argument, or a `pre_hook` replaces both."
    why = (
        "The tuner zeroes first and copies afterwards, so what it restores is zeros. A `pre_hook` of one's own "
        "replaces the hook that does either, and both lists are ignored."
    )
    advice = "Use one of the three for each argument."
    silent_when = ("the lists name different arguments", "only a `pre_hook` is given")
    references = ("https://github.com/triton-lang/triton/blob/main/python/triton/runtime/autotuner.py",)
    flagged = (
        Example(
            "in both lists",
            _HEAD
            + f'@triton.autotune({_CONFIGS}, reset_to_zero=["out_ptr"], restore_value=["out_ptr"])  #~ KL606\n'
            + _BODY,
            language="python",
        ),
        Example(
            "hook replaces the list",
            _HEAD
            + _HOOK
            + f'@triton.autotune({_CONFIGS}, restore_value=["out_ptr"], pre_hook=clear)  #~ KL606\n'
            + _BODY,
            language="python",
        ),
    )
    silent = (
        Example(
            "one list",
            _HEAD + f'@triton.autotune({_CONFIGS}, reset_to_zero=["out_ptr"])\n' + _BODY,
            language="python",
        ),
        Example(
            "different arguments",
            _HEAD + f'@triton.autotune({_CONFIGS}, reset_to_zero=["out_ptr"], restore_value=["x_ptr"])\n' + _BODY,
            language="python",
        ),
        Example(
            "hook only", _HEAD + _HOOK + f"@triton.autotune({_CONFIGS}, pre_hook=clear)\n" + _BODY, language="python"
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        tuning = kernel.autotune
        if tuning is None:
            return
        both = sorted(set(tuning.reset_to_zero) & set(tuning.restore_value))
        listed = sorted({*tuning.reset_to_zero, *tuning.restore_value})
        if both:
            names = ", ".join(f"`{name}`" for name in both)
            message = f"{names} is both reset and restored: what is restored is zeros. The copy is taken after zeroing."
        elif tuning.pre_hook and listed:
            names = ", ".join(f"`{name}`" for name in listed)
            message = f"`pre_hook` replaces the hook that handles {names}. The lists are ignored."
        else:
            return
        yield self.finding(tuning.span, message, kernel=kernel.name, evidence={"arguments": both or listed})
