"""Sources whose findings depend on no rule but those about the linting itself, and how tests see a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# KL003 on line 2, suppressed by itself.
NO_REASON = "import triton\nx = 1  # kernlint: ignore[KL003]\n"
# KL002 on line 4.
UNUSED = "import triton\n\n\nx = 1  # kernlint: ignore[KL101]: padded by the caller\n"


@dataclass(frozen=True)
class Result:
    """Exit code, standard output, standard error."""

    code: int
    out: str
    err: str


Kernlint = Callable[..., Result]
