"""Results of files as JSON data and back."""

from __future__ import annotations

from typing import Any

from kernlint.engine.check import FileResult, UnboundLaunch
from kernlint.finding import Confidence, Finding, Related, Severity, Verdict
from kernlint.ir.types import Span
from kernlint.source.project import Lookup
from kernlint.source.suppressions import Suppression


def encode_result(result: FileResult) -> dict[str, Any]:
    """Plain data.  Notifications are left out: a result that has some is not kept."""
    return {
        "path": result.path,
        "findings": [_encode_finding(finding) for finding in result.findings],
        "suppressions": [
            [s.scope, list(s.selectors), s.reason, _encode_span(s.span), s.first, s.last, s.problem]
            for s in result.suppressions
        ],
        "overruns": [[_encode_span(span), kernel, what] for span, kernel, what in result.overruns],
        "problem": result.problem,
        "kernels": list(result.kernels),
        "unbound": [
            [x.kernel, list(x.import_from) if x.import_from else None, x.path, x.offset] for x in result.unbound
        ],
        "dependencies": list(result.dependencies),
        "lookups": [[x.kind, x.name, x.level, x.asker, x.found] for x in result.lookups],
    }


def decode_result(data: dict[str, Any]) -> FileResult:
    """Raises KeyError, TypeError, ValueError or IndexError when the data is not what `encode_result` makes."""
    return FileResult(
        path=data["path"],
        findings=tuple(_decode_finding(item) for item in data["findings"]),
        suppressions=tuple(
            Suppression(scope, tuple(selectors), reason, Span(*span), first, last, problem)
            for scope, selectors, reason, span, first, last, problem in data["suppressions"]
        ),
        overruns=tuple((Span(*span), kernel, what) for span, kernel, what in data["overruns"]),
        problem=data["problem"],
        kernels=tuple(data["kernels"]),
        unbound=tuple(
            UnboundLaunch(kernel, (origin[0], origin[1]) if origin else None, path, offset)
            for kernel, origin, path, offset in data["unbound"]
        ),
        dependencies=tuple(data["dependencies"]),
        lookups=tuple(Lookup(*item) for item in data["lookups"]),
    )


def _encode_span(span: Span) -> list[Any]:
    return [span.path, span.start, span.end]


def _encode_finding(finding: Finding) -> list[Any]:
    return [
        finding.code,
        finding.name,
        finding.kind,
        int(finding.severity),
        int(finding.confidence),
        _encode_span(finding.span),
        finding.message,
        [[*_encode_span(related.span), related.message] for related in finding.related],
        finding.help,
        finding.kernel,
        finding.evidence,
        finding.verdict.value,
    ]


def _decode_finding(data: list[Any]) -> Finding:
    code, name, kind, severity, confidence, span, message, related, advice, kernel, evidence, verdict = data
    return Finding(
        code,
        name,
        kind,
        Severity(severity),
        Confidence(confidence),
        Span(*span),
        message,
        tuple(Related(Span(path, start, end), text) for path, start, end, text in related),
        advice,
        kernel,
        evidence,
        Verdict(verdict),
    )
