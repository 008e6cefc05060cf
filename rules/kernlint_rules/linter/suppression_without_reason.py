"""KL003: a suppression comment that does not say why."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.finding import Finding
from kernlint.rule import Example, FileFacts, Rule


class SuppressionWithoutReason(Rule):
    code = "KL003"
    name = "suppression-without-reason"
    kind = "linter"
    summary = "A `kernlint: ignore[...]` comment gives no reason.  It takes effect all the same."
    why = (
        "Whoever reads the kernel next cannot tell a finding that was examined and dismissed from one that was in the "
        "way, and has to work out again whether the code is right."
    )
    advice = "Add the reason after a colon: `kernlint: ignore[rule-name]: rows are padded to the tile on the host`."
    flagged = (
        Example(
            "no reason after the bracket",
            "import triton\nx = 1  # kernlint: ignore[KL101]  #~ KL003\n",
            language="python",
        ),
        Example(
            "an empty reason",
            "// kernlint: ignore-file[uncoalesced-access]:   //~ KL003\n__global__ void nothing() {}\n",
        ),
    )
    silent = (
        Example(
            "a reason",
            "import triton\nx = 1  # kernlint: ignore[KL101]: rows are padded to the tile by the caller\n",
            language="python",
        ),
    )

    def check_file(self, facts: FileFacts) -> Iterator[Finding]:
        for use in facts.suppressions:
            suppression = use.suppression
            if not suppression.problem and not suppression.reason:
                names = ", ".join(f"`{selector}`" for selector in suppression.selectors)
                yield self.finding(suppression.span, f"suppression of {names} gives no reason.")
