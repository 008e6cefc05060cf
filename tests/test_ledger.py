"""The precision ledger: its rows, the precision computed from them, and the words SARIF uses for it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from kernlint import ledger
from kernlint.ledger import (
    LedgerError,
    Precision,
    measured_precision,
    parse_ledger,
    precision_by_rule,
    precision_document,
    precision_of,
    precision_text,
    precision_word,
)

LEDGER = Path(__file__).parent.parent / "benchmarks" / "ledger.jsonl"
ROW: dict[str, Any] = {
    "package": "liger-kernel",
    "version": "0.8.5",
    "path": "liger_kernel/ops/rms_norm.py",
    "line": 12,
    "code": "KL101",
    "message": "`x` is read past `n`",
    "verdict": True,
    "reason": "the caller passes any width",
}


def rows(*changes: dict[str, Any]) -> str:
    return "\n".join(json.dumps({**ROW, **change}) for change in changes)


def test_the_ledger_of_this_repository_is_valid_and_agrees_with_the_packaged_counts() -> None:
    parsed = parse_ledger(LEDGER.read_text("utf-8"))
    assert measured_precision() == precision_by_rule(parsed)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "line 1: not an object"),
        (json.dumps({key: value for key, value in ROW.items() if key != "reason"}), "missing ['reason']"),
        (rows({"extra": 1}), "unknown ['extra']"),
        (rows({}, {"line": 13, "verdict": "true"}), "line 2: `verdict` must be bool"),
        (rows({"verdict": None}), "`verdict` must be bool"),
        (rows({"line": True}), "`line` must be int"),
        (rows({"line": 0}), "1-based line"),
        (rows({"path": "/home/x.py"}), "path inside the package"),
        (rows({"reason": " "}), "`reason` must be one line"),
        (rows({"reason": "a\nb"}), "`reason` must be one line"),
        (rows({}, {"verdict": False}), "line 2: the same finding as line 1"),
    ],
)
def test_wrong_rows_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(LedgerError) as error:
        parse_ledger(text)
    assert complaint in str(error.value)


def test_precision_is_the_share_of_true_findings() -> None:
    text = rows({}, {"line": 2, "verdict": False}, {"line": 3}, {"code": "KL001"})
    assert precision_by_rule(parse_ledger(text)) == {"KL001": Precision(1, 1), "KL101": Precision(3, 2)}


def test_document_is_read_back() -> None:
    document = json.loads(precision_document({"KL103": Precision(4, 3), "KL101": Precision(3, 2)}))
    assert list(document) == ["KL101", "KL103"]
    assert document["KL101"] == {"sampled": 3, "true": 2, "precision": 0.6667}


@pytest.mark.parametrize(
    ("sampled", "true", "word"),
    [
        (50, 50, "very-high"),
        (50, 49, "very-high"),
        (50, 48, "high"),
        (49, 49, "high"),
        (10, 9, "high"),
        (9, 9, "medium"),
        (10, 7, "medium"),
        (4, 4, "low"),
        (100, 69, "low"),
        (0, 0, "low"),
    ],
)
def test_words_are_earned_by_share_and_number(sampled: int, true: int, word: str) -> None:
    assert Precision(sampled, true).word == word


def test_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "measured_precision", lambda: {"KL101": Precision(40, 38)})
    assert (precision_of("KL101"), precision_word("KL101"), precision_text("KL101")) == (0.95, "high", "0.95 (n=40)")
    assert (precision_of("KL999"), precision_word("KL999"), precision_text("KL999")) == (None, "low", "not measured")


# -- the script that draws and sums up ---------------------------------------------------------------------------


def script() -> Any:
    spec = importlib.util.spec_from_file_location("ledger_script", LEDGER.with_name("ledger.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_draw_is_seeded_and_does_not_depend_on_order() -> None:
    found = [{**ROW, "line": line} for line in range(1, 100)]
    draw = script().draw
    first = draw(found, 10, "1:KL101")
    assert first == draw(found[::-1], 10, "1:KL101")
    assert first != draw(found, 10, "2:KL101")
    assert len({row["line"] for row in first}) == 10
    assert len(draw(found[:3], 10, "1:KL101")) == 3


def test_package_and_version_come_from_the_metadata(tmp_path: Path) -> None:
    package_of = script().package_of
    info = tmp_path / "fla_core" / "fla_core-0.6.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: FLA_core\nVersion: 0.6.0\n\ntext\n")
    assert package_of(info.parent) == ("fla-core", "0.6.0")
    assert package_of(tmp_path / "deepspeed-0.17.0") == ("deepspeed", "0.17.0")


def test_triaged_rows_are_added_and_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script()
    monkeypatch.setattr(module, "LEDGER", tmp_path / "ledger.jsonl")
    monkeypatch.setattr(module, "PRECISION", tmp_path / "precision.json")
    triage = tmp_path / "triage.jsonl"
    triage.write_text(rows({"context": ["x"]}, {"line": 30, "verdict": False}, {"line": 40, "verdict": None}))
    assert module.main(["add", str(triage)]) == 0
    assert module.main(["add", str(triage)]) == 2  # the same findings again
    assert module.main(["summarise"]) == 0
    assert parse_ledger((tmp_path / "ledger.jsonl").read_text()) == parse_ledger(
        rows({}, {"line": 30, "verdict": False})
    )
    assert json.loads((tmp_path / "precision.json").read_text()) == {
        "KL101": {"sampled": 2, "true": 1, "precision": 0.5}
    }
    assert "2 rows added, 1 without a verdict left out" in capsys.readouterr().out
