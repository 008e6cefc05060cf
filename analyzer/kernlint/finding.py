"""What a rule yields: a finding with its place, its evidence and, later, its verdict."""

from __future__ import annotations

import enum
from dataclasses import field, replace
from typing import Any

from kernlint.ir.types import Span
from kernlint.records import dataclass


class Severity(enum.IntEnum):
    """How bad it is if true."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Confidence(enum.IntEnum):
    """How certain the argument behind one finding is; decides which persona sees it.

    HIGH is shown by default, MEDIUM with `--pedantic`, LOW with `--audit`.
    """

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Verdict(enum.Enum):
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to the finding: the other access of a race, the launch, the declaration."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.  `message`'s first sentence stands alone in 80 characters; names are in backticks.

    `evidence` is plain data (str, int, float, bool, None, lists and dicts of them).  `kernel` is the kernel's name, ''
    when the finding is not about one.
    """

    code: str
    name: str
    kind: str
    severity: Severity
    confidence: Confidence
    span: Span
    message: str
    related: tuple[Related, ...] = ()
    help: str = ""
    kernel: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    verdict: Verdict = Verdict.SUSPECTED

    def lowered(self, confidence: Confidence) -> Finding:
        """The same finding, at most this confident."""
        return replace(self, confidence=min(self.confidence, confidence))
