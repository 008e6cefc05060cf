"""GitLab Code Quality: a JSON list with fingerprints that survive line moves and are unique in the file."""

from __future__ import annotations

import hashlib
import json

from kernlint.finding import Severity
from kernlint.fingerprint import finding_fingerprints
from kernlint.report.place import locate, repository_path
from kernlint.report.text import clean
from kernlint.report_data import Report

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: Report, *, color: bool, width: int) -> str:
    issues = []
    used: set[str] = set()
    for finding, identity in zip(report.findings, finding_fingerprints(report.findings, report.sources), strict=True):
        place = locate(finding.span, report.sources)
        path = clean(repository_path(place.path, report))
        issues.append(
            {
                "description": f"{finding.code} {finding.name}: {clean(finding.message)}",
                "check_name": finding.name,
                "fingerprint": _unique(f"{path}\0{identity}", used),
                "severity": _SEVERITIES[finding.severity],
                "categories": ["Bug Risk"],
                "location": {"path": path, "lines": {"begin": place.line, "end": place.last_line}},
            }
        )
    return json.dumps(issues, indent=2) + "\n"


def _unique(identity: str, used: set[str]) -> str:
    """A hash of the identity, salted until no other issue has it; GitLab drops issues with equal fingerprints."""
    salt = 0
    while True:
        text = f"{identity}\0{salt}" if salt else identity
        fingerprint = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        if fingerprint not in used:
            used.add(fingerprint)
            return fingerprint
        salt += 1
