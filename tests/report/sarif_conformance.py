"""What GitHub rejects or silently drops in a SARIF file, as a list of complaints.

The official schema and Microsoft's validator let most of these through: absolute URIs, missing coordinates and
fingerprints, too many results or tags.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

_LINK = re.compile(r"(?<!\\)\[(?:[^\[\]\\]|\\.)+\]\((\d+)\)")
_ANY_LINK = re.compile(r"\]\(")
_HASH = re.compile(r"[0-9a-f]{1,16}:[1-9][0-9]*")


def complaints(text: str) -> list[str]:
    """Everything wrong with the SARIF document in `text`."""

    def reject(constant: str) -> Any:
        raise ValueError(constant)

    try:
        log = json.loads(text, parse_constant=reject)
        text.encode("ascii")
        json.dumps(log, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        return [f"not plain JSON: {error}"]
    if len(gzip.compress(text.encode())) > 10_000_000:
        return ["over 10 MB compressed"]
    return list(_log(log))


def _log(log: dict[str, Any]) -> Iterator[str]:
    if log.get("$schema") != "https://json.schemastore.org/sarif-2.1.0.json" or log.get("version") != "2.1.0":
        yield "schema or version"
    if len(log.get("runs", [])) != 1:
        yield "not exactly one run"
    for run in log.get("runs", []):
        yield from _run(run)
    yield from _anywhere(log)


def _run(run: dict[str, Any]) -> Iterator[str]:
    driver = run["tool"]["driver"]
    if not driver.get("name") or re.search(r"\d", driver["name"]):
        yield "tool name missing or with a version in it"
    if not re.fullmatch(r"\d+\.\d+\.\d+([-+].*)?", driver.get("semanticVersion", "")):
        yield "semanticVersion"
    if not re.fullmatch(r"kernlint/(.+/)?", run.get("automationDetails", {}).get("id", "")):
        yield "automationDetails.id"
    if run.get("columnKind") not in ("utf16CodeUnits", "unicodeCodePoints"):
        yield "columnKind"
    if not isinstance(run.get("invocations", [{}])[0].get("executionSuccessful"), bool):
        yield "executionSuccessful"
    rules = driver.get("rules", [])
    ids = [rule.get("id") for rule in rules]
    if ids != sorted(set(ids)):
        yield "rules not sorted or not unique"
    for rule in rules:
        yield from (f"rule {rule.get('id')}: {complaint}" for complaint in _rule(rule))
    results = run.get("results")
    if results is None:
        yield "no results"
        return
    if len(results) > 5000:
        yield "more than 5,000 results"
    for number, result in enumerate(results):
        yield from (f"result {number}: {complaint}" for complaint in _result(result, ids))


def _rule(rule: dict[str, Any]) -> Iterator[str]:
    if not rule.get("id") or not rule.get("name") or len(rule["name"]) > 255:
        yield "id or name"
    for key in ("shortDescription", "fullDescription"):
        if not 0 < len(rule.get(key, {}).get("text", "")) <= 1024:
            yield key
    if not rule.get("help", {}).get("text"):
        yield "help.text"
    if rule.get("defaultConfiguration", {}).get("level") not in ("note", "warning", "error"):
        yield "defaultConfiguration.level"
    properties = rule.get("properties", {})
    tags = properties.get("tags", [])
    if not 0 < len(tags) <= 10 or len(set(tags)) != len(tags) or not any(tag.startswith("kernlint/") for tag in tags):
        yield "tags"
    if properties.get("precision") not in ("very-high", "high", "medium", "low"):
        yield "precision"
    if properties.get("problem.severity") not in ("error", "warning", "recommendation"):
        yield "problem.severity"
    score = properties.get("security-severity")
    if score is not None and not (isinstance(score, str) and 0.0 < float(score) <= 10.0):
        yield "security-severity"


def _result(result: dict[str, Any], ids: list[str]) -> Iterator[str]:
    index = result.get("ruleIndex", -1)
    if not 0 <= index < len(ids) or ids[index] != result.get("ruleId"):
        yield "ruleIndex does not name the rule"
    if result.get("level") not in ("note", "warning", "error") or result.get("kind") != "fail":
        yield "level or kind"
    for key in ("suppressions", "baselineState"):
        if key in result:
            yield key
    locations = result.get("locations", [])
    if len(locations) != 1:
        yield "not exactly one location"
    for location in locations:
        yield from _location(location)
    related = result.get("relatedLocations", [])
    for location in related:
        if "region" in location.get("physicalLocation", {}):
            yield from _location(location)
        if not location.get("message", {}).get("text"):
            yield "related location without words"
    if len(related) + 1 > 1000:
        yield "too many locations"
    numbers = [location.get("id") for location in related]
    if len(set(numbers)) != len(numbers) or not all(isinstance(number, int) and number > 0 for number in numbers):
        yield "related ids"
    text = result.get("message", {}).get("text", "")
    if not text.strip() or re.search(r"\{\d+\}", text):
        yield "message"
    links = [int(number) for number in _LINK.findall(text)]
    if links != numbers or len(links) != len(_ANY_LINK.findall(text)):
        yield "links and related locations differ"
    prints = result.get("partialFingerprints", {})
    if not prints.get("kernlint/v1"):
        yield "no kernlint/v1"
    if "primaryLocationLineHash" in prints and not _HASH.fullmatch(prints["primaryLocationLineHash"]):
        yield "primaryLocationLineHash"


def _location(location: dict[str, Any]) -> Iterator[str]:
    region = location.get("physicalLocation", {}).get("region", {})
    coordinates = [region.get(key) for key in ("startLine", "startColumn", "endLine", "endColumn")]
    if not all(isinstance(value, int) and value >= 1 for value in coordinates):
        yield "not four coordinates"
        return
    if region["startLine"] != region["endLine"] or region["endColumn"] < region["startColumn"]:
        yield "region is not on one line"


def _anywhere(value: Any, key: str = "") -> Iterator[str]:
    """Clocks and URIs, wherever they are."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _anywhere(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _anywhere(item, key)
    elif key.endswith("Utc") or key in ("machine", "workingDirectory", "commandLine", "uriBaseId"):
        yield f"{key} says where or when it was run"
    elif key == "uri":
        yield from _uri(value)


def _uri(uri: str) -> Iterator[str]:
    parts = urlsplit(uri)
    path = unquote(uri, errors="replace")
    if parts.scheme or parts.netloc or parts.query or parts.fragment or not uri:
        yield f"{uri!r} is not a plain relative URI"
    if path.startswith("/") or ".." in path.split("/") or not re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri):
        yield f"{uri!r} is not below the root or not encoded"
