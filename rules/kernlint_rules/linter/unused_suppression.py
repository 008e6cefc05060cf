"""KL002: a suppression comment that suppresses nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Finding
from kernlint.rule import Example, FileFacts, Rule
from kernlint.source.suppressions import LINE, SuppressionUse


class UnusedSuppression(Rule):
    code = "KL002"
    name = "unused-suppression"
    kind = "linter"
    summary = (
        "A `kernlint: ignore` comment names a rule that finds nothing there, names no rule at all, or is malformed."
    )
    why = (
        "The comment claims that something is wrong here and accepted.  When the code has been fixed it misleads the "
        "reader, and it would hide the next fault that the same rule finds on that line."
    )
    advice = "Delete the comment, or the rule's name from its list."
    silent_when = (
        "the named rule is not among those that run (`--select`, `--ignore`)",
        "the finding it suppresses is only shown with `--pedantic` or `--audit`",
    )
    flagged = (
        Example(
            "nothing to suppress on this line",
            "__global__ void fill(float* x, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) x[i] = 0.0f;  // kernlint: ignore[unguarded-edge-tile]: guarded above  //~ KL002\n"
            "}\n",
        ),
        Example(
            "a misspelt rule",
            "import triton\nx = 1  # kernlint: ignore[ungarded-edge-tile]: sizes are padded  #~ KL002\n",
            language="python",
        ),
        Example(
            "a directive that does not exist",
            "import triton\nx = 1  # kernlint: disable[KL101]: sizes are padded  #~ KL002\n",
            language="python",
        ),
    )
    silent = (
        Example(
            "the word in a string is no comment",
            'import triton\nhelp = "write # kernlint: ignore[KL101]: reason"\n',
            language="python",
        ),
        Example(
            "a suppression that is needed, if only by itself",
            "import triton\nx = 1  # kernlint: ignore[suppression-without-reason]\n",
            language="python",
        ),
    )

    def check_file(self, facts: FileFacts) -> Iterator[Finding]:
        for use in facts.suppressions:
            yield from self._of(use)

    def _of(self, use: SuppressionUse) -> Iterator[Finding]:
        span = use.suppression.span
        if use.suppression.problem:
            yield self.finding(span, f"this suppression has no effect: {use.suppression.problem}.")
        for selector, near in use.unknown:
            hint = f"; did you mean `{near}`?" if near else "."
            yield self.finding(span, f"this suppression names no rule: `{selector}` is unknown{hint}")
        idle = [selector for selector in use.idle if selector not in (self.code, self.name)]
        if idle:
            names = ", ".join(f"`{selector}`" for selector in idle)
            here = "on this line" if use.suppression.scope == LINE else "where it applies"
            yield self.finding(span, f"unused suppression: {names} reports nothing {here}.", evidence={"rules": idle})
