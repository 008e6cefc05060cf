"""Baselines: findings that are known and not to be reported again.  A baseline shrinks; it grows only when made anew.

The file is JSON: `{"version": 1, "findings": [{"rule", "path", "kernel", "fingerprint", "message"}, ...]}`.  A finding
is known when an entry has its fingerprint (rule, kernel and flagged text), wherever it is now; each entry stands for
one.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kernlint.finding import Finding
from kernlint.fingerprint import finding_fingerprint
from kernlint.records import dataclass
from kernlint.source.file import SourceFile

_VERSION = 1


class BaselineError(Exception):
    """A baseline file that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    path: str
    rule: str
    kernel: str
    fingerprint: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule} {self.message}"


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings that are new, how many are known, and entries that no finding answers to any more."""

    new: tuple[Finding, ...]
    known: int
    stale: tuple[Entry, ...]
    kept: tuple[Entry, ...]


def entry_of(finding: Finding, sources: Mapping[str, SourceFile], paths: Mapping[str, str]) -> Entry:
    """`paths` maps shown paths to those relative to the repository where they differ."""
    path = finding.span.path
    message = finding.message.split("\n", 1)[0]
    fingerprint = finding_fingerprint(finding, sources.get(path))
    return Entry(paths.get(path, path), finding.code, finding.kernel, fingerprint, message)


def compare(
    findings: Sequence[Finding],
    entries: Sequence[Entry],
    sources: Mapping[str, SourceFile],
    paths: Mapping[str, str],
    others: Sequence[Finding] = (),
    checked: Collection[str] = (),
    active: Collection[str] = (),
    root: str = "",
) -> Compared:
    """Split findings into new and known.

    Each entry answers for one finding.  An entry is stale when no finding claims it, not even one of `others` (found
    but hidden for another reason), although its rule ran and its file was looked at (`checked`, repository paths) or is
    no longer below `root`.
    """
    budget = Counter(entry.fingerprint for entry in entries)
    new: list[Finding] = []
    for finding in findings:
        fingerprint = entry_of(finding, sources, paths).fingerprint
        if budget[fingerprint] > 0:
            budget[fingerprint] -= 1
        else:
            new.append(finding)
    budget.subtract(entry_of(finding, sources, paths).fingerprint for finding in others)
    stale: list[Entry] = []
    kept: list[Entry] = []
    for entry in sorted(entries, reverse=True):
        judged = entry.rule in active and (entry.path in checked or not os.path.exists(os.path.join(root, entry.path)))
        if judged and budget[entry.fingerprint] > 0:
            budget[entry.fingerprint] -= 1
            stale.append(entry)
        else:
            kept.append(entry)
    return Compared(tuple(new), len(findings) - len(new), tuple(sorted(stale)), tuple(sorted(kept)))


def read_baseline(path: str) -> list[Entry]:
    """Raises BaselineError when the file is missing or no baseline."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BaselineError(f"cannot read baseline `{path}`: {(error.strerror or '').lower()}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"baseline `{path}` is not valid JSON: {error}") from error
    try:
        if data["version"] != _VERSION:
            raise BaselineError(f"baseline `{path}` has version {data['version']!r}; this kernlint knows {_VERSION}")
        return [
            Entry(
                str(item["path"]),
                str(item["rule"]),
                str(item.get("kernel", "")),
                str(item["fingerprint"]),
                str(item.get("message", "")),
            )
            for item in data["findings"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"`{path}` is no kernlint baseline (made with --init-baseline)") from error


def write_baseline(path: str, entries: Sequence[Entry]) -> None:
    """Raises BaselineError when the file cannot be written."""
    rows = [
        {
            "rule": entry.rule,
            "path": entry.path,
            "kernel": entry.kernel,
            "fingerprint": entry.fingerprint,
            "message": entry.message,
        }
        for entry in sorted(entries)
    ]
    text = json.dumps({"version": _VERSION, "findings": rows}, indent=2) + "\n"
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise BaselineError(f"cannot write baseline `{path}`: {(error.strerror or '').lower()}") from error
