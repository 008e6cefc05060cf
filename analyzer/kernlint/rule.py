"""The public interface for rules.

A rule is one class in one file with everything about it inside: identity, documentation, examples, the check.  Rule
packs register through the entry point group `kernlint.rules`; the entry point names a module or package whose `RULES`
is a sequence of rule classes.

    class UnguardedEdgeTile(Rule):
        code = "KL101"
        name = "unguarded-edge-tile"
        ...
        def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]: ...

Class creation fails when documentation or examples are missing, so an undocumented rule cannot exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar

from kernlint.finding import Confidence, Finding, Related, Severity
from kernlint.ir.kernel import Framework, Kernel, Launch, Module
from kernlint.ir.types import Span
from kernlint.records import dataclass
from kernlint.source.suppressions import SuppressionUse

_REQUIRED_TEXT = ("code", "name", "kind", "summary", "why", "advice")


class RuleDefinitionError(TypeError):
    """A rule class lacks a part every rule must have."""


@dataclass(frozen=True, slots=True)
class Example:
    """A small source file.  Lines that must be flagged end in `//~ KL201` or `#~ KL103` (several codes separated by
    commas); the markers are removed before analysis.  An example without markers must stay silent.

    `confidence` is the persona the example is run under: HIGH default, MEDIUM pedantic, LOW audit.
    """

    title: str
    source: str
    language: str = "cuda"  # cuda or python
    confidence: Confidence = Confidence.HIGH
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """What a rule may ask for besides the IR it is given."""

    module: Module
    targets: tuple[str, ...] = ("sm_80",)
    versions: dict[str, str] = field(default_factory=dict)  # framework -> version, from configuration
    cache: dict[Any, Any] = field(default_factory=dict)  # analyses share results here, per module

    def launches_of(self, kernel: Kernel) -> Sequence[Launch]:
        return kernel.launches


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the linter noticed about one file while reading it, for rules about the linting itself.

    `problem` says why the file could not be read ('' when it was); `overruns` are places where a budget ended the
    analysis early, each with the kernel's name ('' for the whole file) and what was given up.
    """

    path: str
    problem: str = ""
    suppressions: tuple[SuppressionUse, ...] = ()
    overruns: tuple[tuple[Span, str, str], ...] = ()


class Rule:
    """Base class.  Override one or more of `check_kernel`, `check_launch`, `check_module` (and `check_file`, which runs
    once per file after all others and sees no IR)."""

    code: ClassVar[str] = ""
    name: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    frameworks: ClassVar[tuple[Framework, ...]] = ()
    severity: ClassVar[Severity] = Severity.WARNING
    default_confidence: ClassVar[Confidence] = Confidence.HIGH
    since: ClassVar[str] = "0.1.0"
    summary: ClassVar[str] = ""  # what it does, one or two sentences
    why: ClassVar[str] = ""  # what goes wrong on hardware
    advice: ClassVar[str] = ""  # what to do instead
    silent_when: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ()
    flagged: ClassVar[tuple[Example, ...]] = ()
    silent: ClassVar[tuple[Example, ...]] = ()
    abstract: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("abstract", False):
            return
        missing = [part for part in _REQUIRED_TEXT if not getattr(cls, part)]
        missing += [part for part in ("flagged", "silent") if not getattr(cls, part)]
        if missing:
            raise RuleDefinitionError(f"rule {cls.__name__} lacks {', '.join(missing)}")

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        return iter(())

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        return iter(())

    def check_module(self, module: Module, context: Context) -> Iterator[Finding]:
        return iter(())

    def check_file(self, facts: FileFacts) -> Iterator[Finding]:
        return iter(())

    def finding(
        self,
        span: Span,
        message: str,
        *,
        related: Iterable[tuple[Span, str]] = (),
        confidence: Confidence | None = None,
        severity: Severity | None = None,
        help: str = "",
        kernel: str = "",
        evidence: dict[str, Any] | None = None,
    ) -> Finding:
        """Build a finding of this rule."""
        return Finding(
            code=self.code,
            name=self.name,
            kind=self.kind,
            severity=severity or self.severity,
            confidence=confidence or self.default_confidence,
            span=span,
            message=message,
            related=tuple(Related(where, what) for where, what in related),
            help=help or self.advice,
            kernel=kernel,
            evidence=evidence or {},
        )
