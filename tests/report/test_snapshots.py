"""What users see, whole: one file per format under __snapshots__."""

from __future__ import annotations

from typing import Any

import pytest
from report_sample import RULES, sample_report
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from kernlint.report import FORMATS, job_summary, render
from kernlint.report.documentation import index_markdown, rule_markdown, rule_text


class TextFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> Any:
    return snapshot.use_extension(TextFile)


@pytest.mark.parametrize("format_name", FORMATS)
def test_format(format_name: str, snapshot: Any) -> None:
    assert render(format_name, sample_report(), width=100) == snapshot


def test_full_in_color(snapshot: Any) -> None:
    assert render("full", sample_report(), color=True, width=100).replace("\x1b", "<ESC>") == snapshot


def test_job_summary(snapshot: Any) -> None:
    assert job_summary(sample_report()) == snapshot


def test_rule_page(snapshot: Any) -> None:
    assert index_markdown(RULES) + "\n---\n" + rule_markdown(RULES[0]) == snapshot


def test_rule_text(snapshot: Any) -> None:
    assert rule_text(RULES[0]) == snapshot
