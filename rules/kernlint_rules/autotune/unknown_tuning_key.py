"""KL602 unknown-tuning-key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_BODY = """\
@triton.jit
def scale(x_ptr, y_ptr, n_elements, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n_elements
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=ok) * s, mask=ok)
"""
_HEAD = "import triton\nimport triton.language as tl\n\n"
_CONFIGS = 'configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})]'


class UnknownTuningKey(Rule):
    code = "KL602"
    name = "unknown-tuning-key"
    kind = "autotune"
    frameworks = (Framework.TRITON,)
    severity = Severity.ERROR
    summary = "`key` of an autotuner names something that is not a parameter of the kernel."
    why = (
        "Older Triton drops the name in silence, so one configuration, tuned on the first size seen, serves every size."
        " Triton 3.9 raises at import."
    )
    advice = "Name the kernel's own parameters, as spelled in its definition."
    silent_when = ("every name is a parameter", "the key is computed")
    references = ("https://github.com/triton-lang/triton/blob/main/python/triton/runtime/autotuner.py",)
    flagged = (
        Example(
            "misspelt",
            _HEAD
            + f"""\
@triton.autotune(
    {_CONFIGS},
    key=["n_element"],  #~ KL602
)
"""
            + _BODY,
            language="python",
        ),
        Example(
            "the wrapper's name instead of the kernel's",
            _HEAD
            + f"""\
@triton.autotune(
    {_CONFIGS},
    key=["n_elements", "numel"],  #~ KL602
)
"""
            + _BODY,
            language="python",
        ),
    )
    silent = (
        Example(
            "a parameter", _HEAD + f'@triton.autotune({_CONFIGS}, key=["n_elements"])\n' + _BODY, language="python"
        ),
        Example(
            "a compile-time parameter",
            _HEAD
            + """\
@triton.autotune(configs=[triton.Config({}, num_warps=2), triton.Config({}, num_warps=8)], key=["BLOCK"])
"""
            + _BODY,
            language="python",
        ),
        Example("no key", _HEAD + f"@triton.autotune({_CONFIGS}, key=[])\n" + _BODY, language="python"),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.autotune is None or not kernel.autotune.key_known or not kernel.params:
            return
        names = [param.name for param in kernel.params]
        for name, span in kernel.autotune.key:
            if name in names:
                continue
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"Did you mean `{close[0]}`?" if close else f"The parameters are {', '.join(names)}."
            yield self.finding(
                span,
                f"Tuning key `{name}` is not a parameter of `{kernel.name}`. "
                f"It is ignored or rejected, and the kernel is not tuned again when it changes. {hint}",
                help=f"Write `{close[0]}`." if close else "",
                kernel=kernel.name,
                evidence={"key": name, "suggestion": close[0] if close else None},
            )
