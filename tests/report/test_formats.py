"""Formats one by one: frames and columns, escapes, uniqueness, and any finding at all."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_sample import RULES, SCALE_CU, sample_report, span_of
from sarif_conformance import complaints

from kernlint.finding import Confidence, Finding, Related, Severity
from kernlint.ir.types import Span
from kernlint.report import FORMATS, render, statistics
from kernlint.report.text import width_of
from kernlint.report_data import Notification, Report
from kernlint.source.file import CUDA, SourceFile


def finding_at(span: Span, message: str = "message", severity: Severity = Severity.ERROR, **more: Any) -> Finding:
    return Finding("KL101", "unguarded-edge-tile", "oob-edge", severity, Confidence.HIGH, span, message, **more)


def report_on(text: str, *findings: Finding) -> Report:
    source = SourceFile("a.cu", text.encode("utf-8", "surrogatepass"), CUDA)
    return Report(findings=findings, sources={"a.cu": source}, rules=RULES, files=1, kernels=1, version="0.1.0")


def frame_rows(text: str, start: int, end: int, width: int = 100) -> list[str]:
    """The source line and mark row of a finding on bytes [start, end)."""
    lines = render("full", report_on(text, finding_at(Span("a.cu", start, end))), width=width).splitlines()
    at = next(index for index, line in enumerate(lines) if "^" in line)
    return [lines[at - 1], lines[at]]


def marked(text: str, start: int, end: int, width: int = 100) -> str:
    """What the carets stand under, by terminal cells."""
    source, marks = frame_rows(text, start, end, width)
    cells = [char for char in source for _ in range(width_of(char))]
    return "".join(char for char, mark in zip(cells, marks.ljust(len(cells)), strict=False) if mark == "^")


def test_carets_stand_under_the_span() -> None:
    assert marked("\tint i = x[i];", 9, 13) == "x[i]"


def test_carets_after_tabs_and_wide_characters() -> None:
    text = "a\t\u5e45\u5e45\tx[i]"
    start = text.encode().index(b"x[")
    assert marked(text, start, start + 4) == "x[i]"


def test_carets_under_wide_characters_are_wide() -> None:
    _, marks = frame_rows("\u5e45\u5e45;", 0, 6)
    assert marks.count("^") == 4


def test_combining_characters_take_no_cell() -> None:
    text = "e\u0301e\u0301 x[i]"
    start = text.encode().index(b"x[")
    assert marked(text, start, start + 4) == "x[i]"


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize("at", [0, 37, 400, 990])
def test_long_lines_are_trimmed_around_the_span(width: int, at: int) -> None:
    text = "".join(f"<{number:03}>." for number in range(200))
    source, _ = frame_rows(text, at, at + 10, width)
    assert width_of(source) <= width
    assert marked(text, at, at + 10, width) == text[at : at + 10]


def test_a_line_of_megabytes_is_cut_too() -> None:
    text = "abcdefghij" * 200_000
    for at in (0, 7, 1_000_007, 1_999_996):
        assert marked(text, at, at + 4) == text[at : at + 4]
        assert len(frame_rows(text, at, at + 4)[0]) <= 100


def test_long_labels_go_below_their_marks() -> None:
    text = " " * 70 + "x[i];"
    related = (
        Related(Span("a.cu", 70, 71), "this is where the array that is indexed here was made, by another kernel"),
    )
    lines = render("full", report_on(text, finding_at(Span("a.cu", 72, 73), related=related)), width=90).splitlines()
    at = next(index for index, line in enumerate(lines) if line.endswith(" -"))
    assert lines[at + 1].split("| ")[1].strip().startswith("this is where")
    assert max(width_of(line) for line in lines[1:-1]) <= 90


def test_several_lines_are_shown_as_the_first() -> None:
    text = "f(\n  a,\n  b);\n"
    out = render("full", report_on(text, finding_at(Span("a.cu", 0, len(text) - 2))))
    assert "^^ ... to line 3" in out


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = "x = \x1b[31m\u202e;\x00"
    finding = finding_at(Span("a.cu", 0, 1), "bad \x1b]0;title\x07 `\u2066x`")
    for name in ("full", "concise", "agent"):
        out = render(name, report_on(text, finding))
        assert not set(out) & set("\x1b\x00\x07\u202e\u2066")


def test_color_changes_nothing_but_color() -> None:
    import re

    plain = render("full", sample_report(), color=False)
    colored = render("full", sample_report(), color=True)
    assert "\x1b[" in colored
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_no_findings() -> None:
    report = Report(files=3, kernels=2, version="0.1.0", hidden={"needs --audit": 2})
    assert render("full", report) == "No findings (3 files looked at, 2 kernels)\nHidden: needs --audit (2)\n"
    assert render("github", report) == ""
    assert json.loads(render("gitlab", report)) == []
    assert json.loads(render("json", report))["findings"] == []


def test_what_is_said_of_many_files_is_said_once() -> None:
    notes = tuple(Notification("error", "rule raised ValueError", f"{name}.cu", "KL101") for name in "abc")
    line = "error: rule raised ValueError (KL101, a.cu) and 2 more files\n"
    assert render("concise", Report(notifications=notes)).startswith(line)
    assert line in render("agent", Report(notifications=notes))
    assert len(json.loads(render("json", Report(notifications=notes)))["notifications"]) == 3


def test_statistics_are_sorted_by_count() -> None:
    spans = [Span("a.cu", 0, 1)] * 2
    findings = [replace(finding_at(spans[0]), code="KL402", name="bank-conflict"), *map(finding_at, spans)]
    rows = statistics(report_on("x", *findings)).splitlines()
    assert rows[0].split() == ["count", "code", "name", "severity"]
    assert [row.split()[:2] for row in rows[1:]] == [["2", "KL101"], ["1", "KL402"]]


# -- GitHub ------------------------------------------------------------------------------------------------------


def test_workflow_commands_are_escaped() -> None:
    source = SourceFile("odd,name:%.cu", b"x\n", CUDA)
    finding = finding_at(Span(source.path, 0, 1), "100%\r\nof ::error::all, x: y")
    report = Report(findings=(finding,), sources={source.path: source})
    assert render("github", report) == (
        "::error file=odd%2Cname%3A%25.cu,line=1,col=1,endLine=1,endColumn=2,title=KL101 unguarded-edge-tile"
        "::100%25%0D%0Aof ::error::all, x: y\n"
    )


def test_worst_first_and_the_limits_are_said() -> None:
    severities = [Severity.INFO, Severity.WARNING] * 12 + [Severity.ERROR] * 11
    findings = [finding_at(Span("a.cu", 0, 1), severity=severity) for severity in severities]
    lines = render("github", report_on("x", *findings)).splitlines()
    assert [line.split()[0] for line in lines] == ["::notice"] + ["::error"] * 11 + ["::warning"] * 12 + [
        "::notice"
    ] * 12
    assert "11 errors and 12 warnings" in lines[0]
    few = render("github", report_on("x", *findings[:20])).splitlines()
    assert len(few) == 20


# -- other formats -----------------------------------------------------------------------------------------------


def test_gitlab_fingerprints_are_unique_and_survive_moves() -> None:
    def prints(text: str) -> list[str]:
        data = text.encode()
        at = data.index(b"x[i]")
        twice = [finding_at(Span("a.cu", at, at + 4)), finding_at(Span("a.cu", at, at + 4))]
        return [issue["fingerprint"] for issue in json.loads(render("gitlab", report_on(text, *twice)))]

    assert len(set(prints("x[i];"))) == 2
    assert prints("x[i];") == prints("int moved;\n\nx[i];")


def test_junit_counts() -> None:
    root = ElementTree.fromstring(render("junit", sample_report()))
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "4",
        "errors": "1",
    }
    assert len(root.findall(".//failure")) == 4
    empty = ElementTree.fromstring(render("junit", Report()))
    assert (empty.get("tests"), empty.get("failures")) == ("1", "0")


def test_agent_says_each_help_once() -> None:
    span = Span("a.cu", 0, 1)
    out = render("agent", report_on("x", *[finding_at(span, help="Guard it.")] * 3))
    assert out.count("fix: Guard it.") == 1
    assert out.count("a.cu") == 1


def json_schema() -> Any:
    return json.loads(resources.files("kernlint").joinpath("data/report.schema.json").read_text("utf-8"))


def test_the_documented_example_follows_the_schema() -> None:
    page = (Path(__file__).parents[2] / "docs" / "output-formats.md").read_text("utf-8")
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    jsonschema.Draft202012Validator(json_schema()).validate(example)


@pytest.mark.parametrize("report", [sample_report(), Report(version="0.1.0")])
def test_json_follows_its_published_schema(report: Report) -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(render("json", report)))


def test_jsonl_has_a_type_on_every_line() -> None:
    rows = [json.loads(line) for line in render("jsonl", sample_report()).splitlines()]
    assert [row["type"] for row in rows] == ["finding"] * 4 + ["notification"] * 2 + ["summary"]
    one = json.loads(render("json", sample_report()))["findings"][1]
    assert rows[1] == {"type": "finding", **one}


# -- anything at all ---------------------------------------------------------------------------------------------

odd_text = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\n\r\t `[](){}%:,\\|<>&\x00\x1b\ufeff\u2028\U0001f600\u5e45\u0301\ud800\udcff"),
    ),
    max_size=30,
)
odd_data = st.one_of(st.binary(max_size=120), odd_text.map(lambda text: text.encode("utf-8", "surrogatepass")))
odd_evidence = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def odd_reports(draw: st.DrawFn) -> Report:
    paths = draw(st.lists(odd_text.filter(bool), min_size=1, max_size=3, unique=True))
    sources = {path: SourceFile(path, draw(odd_data), CUDA) for path in paths}
    places = st.builds(Span, st.sampled_from([*paths, "unread.cu"]), st.integers(-3, 130), st.integers(-3, 130))
    findings = st.builds(
        Finding,
        code=st.sampled_from(["KL101", "KL103", "KL001", "ACME1"]),
        name=st.sampled_from(["unguarded-edge-tile", "odd"]),
        kind=st.sampled_from(["oob-edge", "linter"]),
        severity=st.sampled_from(Severity),
        confidence=st.sampled_from(Confidence),
        span=places,
        message=odd_text.map(lambda text: "`x` " + text),
        related=st.lists(st.builds(Related, places, odd_text), max_size=3).map(tuple),
        help=odd_text,
        kernel=odd_text,
        evidence=st.dictionaries(odd_text, odd_evidence, max_size=2),
    )
    return Report(
        findings=tuple(sorted(draw(st.lists(findings, max_size=5)), key=lambda item: item.span)),
        sources=sources,
        rules=RULES,
        notifications=(Notification(draw(st.sampled_from(["error", "note", "?"])), draw(odd_text), draw(odd_text)),),
        statistics=draw(st.booleans()),
        version="0.1.0",
        sarif_category=draw(st.sampled_from(["", "static", "a/b/"])),
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(odd_reports(), st.integers(0, 120))
def test_any_report_can_be_rendered(report: Report, width: int) -> None:
    for name in FORMATS:
        for color in (False, True) if name == "full" else (False,):
            out = render(name, report, color=color, width=width)
            out.encode("utf-8")
            assert out == "" or out.endswith("\n")
    assert complaints(render("sarif", report)) == []
    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(render("json", report)))
    ElementTree.fromstring(render("junit", report))
    prints = [issue["fingerprint"] for issue in json.loads(render("gitlab", report))]
    assert len(set(prints)) == len(report.findings)
    for line in render("github", report).split("\n")[:-1]:
        assert line.startswith(("::error ", "::warning ", "::notice "))


@settings(max_examples=300, deadline=None)
@given(odd_data, st.integers(-3, 130), st.integers(-3, 130))
def test_regions_lie_on_their_line(data: bytes, start: int, end: int) -> None:
    source = SourceFile("a.cu", data, CUDA)
    report = Report(findings=(finding_at(Span("a.cu", start, end)),), sources={"a.cu": source}, version="0.1.0")
    place = json.loads(render("sarif", report))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    region = place["region"]
    length = len(source.line_text(region["startLine"]))
    assert 1 <= region["startLine"] <= len(source.line_starts)
    assert 1 <= region["startColumn"] <= max(1, length)
    assert min(region["startColumn"] + 1, length + 1) <= region["endColumn"] <= length + 1


def test_span_in_the_sample_is_exact() -> None:
    row = json.loads(
        render(
            "json", report_on(SCALE_CU.data.decode(), finding_at(replace(span_of(SCALE_CU, "x[i] * 2.f"), path="a.cu")))
        )
    )["findings"][0]
    assert SCALE_CU.line_text(row["line"])[row["column"] - 1 : row["end_column"] - 1] == "x[i] * 2.f"
