"""Hits and silence on pairs of a faulty file and its fix:  python benchmarks/pairs.py [DIR]

Each pair is a folder with `expected.json` (kind, lines) and two files, `bad` and `good`.  A hit is a finding of the
kind on one of the lines of `bad`; silence is no finding of the kind in `good`; both as a user sees them by default.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from kernlint.finding import Confidence
from kernlint.source.file import CUDA, PYTHON, SourceFile
from kernlint.testing import check_source

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "pairs"


def lines_of_kind(path: Path, kind: str) -> list[int]:
    """Lines of the findings of a kind in one file, default persona."""
    language = PYTHON if path.suffix == ".py" else CUDA
    source = SourceFile(path.name, path.read_bytes(), language)
    findings = check_source(source.data.decode(), language, path=path.name, confidence=Confidence.HIGH)
    return [source.line_of(f.span.start) for f in findings if f.kind == kind]


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES
    rows: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    missed = []
    for folder in sorted(p.parent for p in root.glob("*/expected.json")):
        expected = json.loads((folder / "expected.json").read_text())
        suffix = next(p.suffix for p in folder.iterdir() if p.stem == "bad")
        bad, good = folder / f"bad{suffix}", folder / f"good{suffix}"
        row = rows[expected["kind"], expected["framework"]]
        hit = bool(set(lines_of_kind(bad, expected["kind"])) & set(expected["lines"]))
        row[0] += hit
        row[1] += not lines_of_kind(good, expected["kind"])
        row[2] += 1
        if not hit:
            missed.append(folder.name)
    print(f"{'kind':<20} {'framework':<12} {'hit':>4} {'silent':>6} {'pairs':>5}")
    for (kind, framework), (hit, silent, pairs) in sorted(rows.items()):
        print(f"{kind:<20} {framework:<12} {hit:>4} {silent:>6} {pairs:>5}")
    totals = [sum(row[i] for row in rows.values()) for i in range(3)]
    print(f"{'all':<33} {totals[0]:>4} {totals[1]:>6} {totals[2]:>5}")
    print("missed:", ", ".join(missed) or "none")


if __name__ == "__main__":
    main()
