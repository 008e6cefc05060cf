"""JUnit XML: a suite per file, a failed case per finding, an errored case per internal error."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree

from kernlint.finding import Finding
from kernlint.report.place import locate
from kernlint.report.summary import notification_text
from kernlint.report.text import clean
from kernlint.report_data import Report

# What XML 1.0 does not allow even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, *, color: bool, width: int) -> str:
    errors = [item for item in report.notifications if item.level == "error"]
    clean_run = not report.findings and not errors
    root = ElementTree.Element(
        "testsuites",
        name="kernlint",
        tests=str(len(report.findings) + len(errors) + clean_run),
        failures=str(len(report.findings)),
        errors=str(len(errors)),
    )
    for path, group in itertools.groupby(report.findings, key=lambda finding: finding.span.path):
        findings = list(group)
        suite = _suite(root, path, len(findings), failures=len(findings))
        for finding in findings:
            _case(suite, finding, report)
    if errors:
        suite = _suite(root, "kernlint", len(errors), errors=len(errors))
        for item in errors:
            case = ElementTree.SubElement(suite, "testcase", name="internal error", classname="kernlint")
            ElementTree.SubElement(case, "error", message=_valid(notification_text(item)))
    if clean_run:
        suite = _suite(root, "kernlint", 1)
        ElementTree.SubElement(suite, "testcase", name="no findings", classname="kernlint")
    ElementTree.indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    root: ElementTree.Element, name: str, tests: int, *, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    return ElementTree.SubElement(
        root, "testsuite", name=_valid(name), tests=str(tests), failures=str(failures), errors=str(errors)
    )


def _case(suite: ElementTree.Element, finding: Finding, report: Report) -> None:
    place = locate(finding.span, report.sources)
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=f"{finding.code} {finding.name}",
        classname=_valid(place.path.rpartition(".")[0] or place.path),
        file=_valid(place.path),
        line=str(place.line),
    )
    failure = ElementTree.SubElement(case, "failure", type=finding.severity.label, message=_valid(finding.message))
    lines = [f"{place.text}: {finding.message}"]
    lines += [f"{locate(item.span, report.sources).text}: {item.message}" for item in finding.related]
    if finding.help:
        lines.append(f"help: {finding.help}")
    failure.text = _valid("\n".join(lines))


def _valid(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", clean(text))
