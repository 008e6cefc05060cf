"""The pairs in `fixtures/pairs` and `tests/pairs`: each `bad` file is flagged on one of its lines, its `good` twin not.

A pair is judged when some rule of the pack has its kind and one of its frameworks; the rest is listed by name in
`WAITING`, so that a new rule makes this test ask for the pair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernlint.engine.packs import load_rules
from kernlint.finding import Confidence, Finding
from kernlint.ir.kernel import Framework
from kernlint.source.file import CUDA, PYTHON, SourceFile
from kernlint.testing import check_source

HERE = Path(__file__).resolve().parent
PAIRS = (HERE.parent / "fixtures" / "pairs", HERE / "pairs")
FRAMEWORKS = {f.value for f in Framework}

# Kinds and frameworks that no rule speaks for yet.
WAITING = {"checksoftmax", "nkisoftmax", "refrms", "tailsum", "timeops"}

# Kinds that are a matter of taste and reported with `--pedantic` only.
PERSONA = {"nondeterminism": Confidence.MEDIUM}


@dataclass(frozen=True)
class Pair:
    name: str
    kind: str
    framework: str
    lines: frozenset[int]
    bad: Path
    good: Path


def pairs() -> list[Pair]:
    found = []
    for folder in sorted(folder for root in PAIRS for folder in root.iterdir()):
        suffix = next(path.suffix for path in folder.iterdir() if path.stem == "bad")
        row = json.loads((folder / "expected.json").read_text())
        found.append(
            Pair(
                folder.name,
                row["kind"],
                row["framework"],
                frozenset(row["lines"]),
                folder / f"bad{suffix}",
                folder / f"good{suffix}",
            )
        )
    return found


def is_covered(pair: Pair) -> bool:
    return any(rule.kind == pair.kind and pair.framework in {f.value for f in rule.frameworks} for rule in load_rules())


def of_kind(path: Path, kind: str, confidence: Confidence = Confidence.HIGH) -> list[tuple[int, Finding]]:
    language = PYTHON if path.suffix == ".py" else CUDA
    data = path.read_bytes()
    source = SourceFile(path.name, data, language)
    findings = check_source(data.decode(), language, path=path.name, confidence=confidence)
    return [(source.line_of(f.span.start), f) for f in findings if f.kind == kind]


def test_what_is_waiting_is_waiting() -> None:
    assert {pair.name for pair in pairs() if not is_covered(pair)} == WAITING


@pytest.mark.parametrize("pair", [p for p in pairs() if p.name not in WAITING], ids=lambda p: p.name)
def test_the_fault_is_reported_and_the_fix_is_not(pair: Pair) -> None:
    persona = PERSONA.get(pair.kind, Confidence.HIGH)
    found = of_kind(pair.bad, pair.kind, persona)
    assert [line for line, _ in found if line in pair.lines], "the fault was not reported"
    quiet = Confidence.MEDIUM if pair.good.is_relative_to(PAIRS[0]) else Confidence.HIGH
    assert [(line, f.message) for line, f in of_kind(pair.good, pair.kind, quiet)] == []
