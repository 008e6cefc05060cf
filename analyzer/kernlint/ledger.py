"""The precision ledger: triaged findings on named public packages, and the precision of each rule computed from them.

`benchmarks/ledger.jsonl` in the repository holds one row per triaged finding; the package carries only the counts per
rule, `kernlint/data/precision.json`.  A rule's precision is never guessed: without rows it has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from importlib import resources

from kernlint.records import dataclass

# word, least precision, fewest triaged findings that may carry the word.
_WORDS = (("very-high", 0.98, 50), ("high", 0.90, 10), ("medium", 0.70, 5))


class LedgerError(ValueError):
    """A row of the ledger is not what a row must be.  The text names the line."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One triaged finding: where it was reported, whether it is true, and the reason in one line."""

    package: str
    version: str
    path: str
    line: int
    code: str
    message: str
    verdict: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Precision:
    """How many findings of a rule were triaged, and how many of them were true."""

    sampled: int
    true: int

    @property
    def value(self) -> float:
        return self.true / self.sampled if self.sampled else 0.0

    @property
    def word(self) -> str:
        """SARIF's word for it.  A good share of a handful of findings does not earn a high word."""
        for word, least, fewest in _WORDS:
            if self.value >= least and self.sampled >= fewest:
                return word
        return "low"


def parse_ledger(text: str) -> list[LedgerRow]:
    """The rows of a ledger file.  Raises LedgerError on the first row that is wrong, or there twice."""
    rows: list[LedgerRow] = []
    seen: dict[tuple[str, str, str, int, str, str], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        row = _parse_row(line, number)
        key = (row.package, row.version, row.path, row.line, row.code, row.message)
        if key in seen:
            raise LedgerError(f"line {number}: the same finding as line {seen[key]}")
        seen[key] = number
        rows.append(row)
    return rows


def _parse_row(line: str, number: int) -> LedgerRow:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise LedgerError(f"line {number}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise LedgerError(f"line {number}: not an object")
    wanted = {field.name: {"str": str, "int": int, "bool": bool}[str(field.type)] for field in fields(LedgerRow)}
    if set(data) != set(wanted):
        missing, unknown = sorted(set(wanted) - set(data)), sorted(set(data) - set(wanted))
        raise LedgerError(f"line {number}: missing {missing}, unknown {unknown}")
    for name, kind in wanted.items():
        if type(data[name]) is not kind:
            raise LedgerError(f"line {number}: `{name}` must be {kind.__name__}, not {data[name]!r}")
        if kind is str and (not data[name].strip() or "\n" in data[name]):
            raise LedgerError(f"line {number}: `{name}` must be one line of text")
    row = LedgerRow(**data)
    if row.line < 1 or row.path.startswith("/") or "\\" in row.path:
        raise LedgerError(f"line {number}: the place must be a path inside the package and a 1-based line")
    return row


def precision_by_rule(rows: Iterable[LedgerRow]) -> dict[str, Precision]:
    """Precision per rule code, sorted by code."""
    sampled: dict[str, int] = {}
    true: dict[str, int] = {}
    for row in rows:
        sampled[row.code] = sampled.get(row.code, 0) + 1
        true[row.code] = true.get(row.code, 0) + row.verdict
    return {code: Precision(sampled[code], true[code]) for code in sorted(sampled)}


def precision_document(precision: dict[str, Precision]) -> str:
    """The text of `data/precision.json`."""
    table = {
        code: {"sampled": item.sampled, "true": item.true, "precision": round(item.value, 4)}
        for code, item in sorted(precision.items())
    }
    return json.dumps(table, indent=2) + "\n"


@lru_cache(maxsize=1)
def measured_precision() -> dict[str, Precision]:
    """The precision per rule that this version of kernlint was released with."""
    text = resources.files("kernlint").joinpath("data/precision.json").read_text("utf-8")
    return {code: Precision(item["sampled"], item["true"]) for code, item in json.loads(text).items()}


def precision_of(code: str) -> float | None:
    """The share of a rule's triaged findings that were true; None when none were triaged."""
    measured = measured_precision().get(code)
    return measured.value if measured and measured.sampled else None


def precision_word(code: str) -> str:
    """SARIF's precision word for a rule.  An unmeasured rule is `low`: the better words are earned."""
    return measured_precision().get(code, Precision(0, 0)).word


def precision_text(code: str) -> str:
    """For people: `0.95 (n=40)`, or `not measured`."""
    measured = measured_precision().get(code)
    if measured is None or not measured.sampled:
        return "not measured"
    return f"{measured.value:.2f} (n={measured.sampled})"
