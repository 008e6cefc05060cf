"""Identities of findings that survive edits elsewhere in the file.

Two of them: GitHub's own hash of the primary line, which decides whether an alert is the same alert after a push, and
kernlint's, which the baseline uses.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kernlint.finding import Finding
from kernlint.source.file import SourceFile

if TYPE_CHECKING:
    from numpy import uint64
    from numpy.typing import NDArray

# The window, base and end mark of the line hash that GitHub's upload action computes (codeql-action,
# src/fingerprints.ts).  The action warns when a value differs from its own, so these are not ours to choose.
_WINDOW = 100
_BASE = 37
_INVERSE = pow(_BASE, -1, 2**64)
_END_OF_FILE = 65535
_TAB, _LINE_FEED, _CARRIAGE_RETURN, _SPACE = 9, 10, 13, 32

_SNIPPET_BYTES = 2000
_SNIPPET_CHARACTERS = 200  # of a span over a whole kernel, an edit far down must not make it another finding


def primary_location_line_hashes(data: bytes) -> list[str]:
    """`primaryLocationLineHash` of every line of a file, first line first.

    The hash of a line is the value mod 2^64 of the polynomial in 37 whose coefficients are the 100 UTF-16 units that
    begin at the line's first unit, blanks dropped and line ends made LF, in lower-case hexadecimal; `:n` counts how
    often that value has occurred so far.  There are exactly as many lines as `SourceFile.line_starts` has.
    """
    import numpy as np

    kept = _kept_units(data)
    units = np.concatenate([kept, np.array([_END_OF_FILE] + [0] * (_WINDOW - 1), dtype=np.uint64)])
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.flatnonzero(kept == _LINE_FEED) + 1])
    # 37 is odd, so it has an inverse mod 2^64 and every window is a difference of two prefix sums.
    prefix = np.zeros(len(units) + 1, dtype=np.uint64)
    np.cumsum(units * _powers(_INVERSE, len(units)), out=prefix[1:])
    scale = _powers(_BASE, len(units) + 1)[starts + (_WINDOW - 1)]
    values = (prefix[starts + _WINDOW] - prefix[starts]) * scale

    seen: Counter[int] = Counter()
    hashes = []
    for value in values.tolist():
        seen[value] += 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes


def _kept_units(data: bytes) -> NDArray[uint64]:
    """The file's UTF-16 units without blanks, every line end as one LF."""
    import numpy as np

    raw = np.frombuffer(data.decode("utf-8", "replace").encode("utf-16-le"), dtype="<u2")
    returns = raw == _CARRIAGE_RETURN
    second_half = np.zeros(len(raw), dtype=bool)
    second_half[1:] = returns[:-1] & (raw[1:] == _LINE_FEED)
    kept = ~((raw == _SPACE) | (raw == _TAB) | second_half)
    units: NDArray[uint64] = np.where(returns, np.uint16(_LINE_FEED), raw)[kept].astype(np.uint64)
    return units


def _powers(base: int, count: int) -> NDArray[uint64]:
    """base^0 .. base^(count-1) mod 2^64."""
    import numpy as np

    powers = np.full(count, base, dtype=np.uint64)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    return powers


def finding_fingerprint(finding: Finding, source: SourceFile | None, occurrence: int = 1) -> str:
    """Rule, kernel and flagged text without its blanks, and which of several such findings this is; 32 hex digits.

    Neither path nor line is in it: a finding keeps its identity when code above it moves or the file is renamed.
    """
    parts = (finding.code, "".join(finding.kernel.split()), _snippet(finding, source), str(occurrence))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def finding_fingerprints(findings: Iterable[Finding], sources: Mapping[str, SourceFile]) -> list[str]:
    """The fingerprints of findings in report order, alike ones in one file counted from the top."""
    seen: Counter[tuple[str, str]] = Counter()
    prints = []
    for finding in findings:
        source = sources.get(finding.span.path)
        first = finding_fingerprint(finding, source)
        seen[finding.span.path, first] += 1
        occurrence = seen[finding.span.path, first]
        prints.append(first if occurrence == 1 else finding_fingerprint(finding, source, occurrence))
    return prints


def _snippet(finding: Finding, source: SourceFile | None) -> str:
    """The beginning of the flagged text without blanks; of the whole line where the span is empty."""
    if source is None:
        return ""
    start, end = max(0, finding.span.start), min(finding.span.end, len(source.data))
    data = source.data[start : min(end, start + _SNIPPET_BYTES)] if start < end else b""
    text = data.decode("utf-8", "replace") or source.line_text(source.line_of(start))
    return "".join(text.split())[:_SNIPPET_CHARACTERS]
