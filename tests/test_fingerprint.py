"""The identities of findings: GitHub's line hash by its published vectors, and kernlint's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlint.finding import Confidence, Finding, Severity
from kernlint.fingerprint import finding_fingerprint, finding_fingerprints, primary_location_line_hashes
from kernlint.ir.types import Span
from kernlint.source.file import CUDA, SourceFile

VECTORS = {
    "": "c129715d7a2bc9a3:1",
    " a\nb\n  \t\tc\n d": "271789c17abda88f:1 54703d4cd895b18:1 180aee12dab6264:1 a23a3dc5e078b07b:1",
    " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End": (
        "8b7cf3e952e7aeb2:1 b1ae1287ec4718d9:1 bff680108adb0fcc:1 c6805c5e1288b612:1 b86d3392aea1be30:1 "
        "e6ceba753e1a442:1"
    ),
}


@pytest.mark.parametrize("text", VECTORS)
def test_published_vectors(text: str) -> None:
    assert " ".join(primary_location_line_hashes(text.encode())) == VECTORS[text]


def step_by_step(data: bytes) -> list[str]:
    """The definition, one unit at a time and one window at a time."""
    text = data.decode("utf-8", "replace")
    raw = text.encode("utf-16-le")
    units: list[int] = []
    starts = [0]
    previous_return = False
    for index in range(0, len(raw), 2):
        unit = raw[index] | raw[index + 1] << 8
        if unit in (32, 9) or (unit == 10 and previous_return):
            previous_return = False
            continue
        previous_return = unit == 13
        units.append(10 if unit == 13 else unit)
        if units[-1] == 10:
            starts.append(len(units))
    units += [65535] + [0] * 100
    seen: dict[int, int] = {}
    hashes = []
    for start in starts:
        value = 0
        for unit in units[start : start + 100]:
            value = (value * 37 + unit) % 2**64
        seen[value] = seen.get(value, 0) + 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes


pieces = st.sampled_from(["\n", "\r", "\r\n", " ", "\t", "a", "load(x)", "\ufeff", "é", "\U0001f600", "\uffff", "\0"])


@given(st.one_of(st.binary(max_size=400), st.lists(pieces, max_size=300).map(lambda parts: "".join(parts).encode())))
def test_line_hashes_equal_the_definition(data: bytes) -> None:
    hashes = primary_location_line_hashes(data)
    assert hashes == step_by_step(data)
    assert len(hashes) == len(SourceFile("a.cu", data, CUDA).line_starts)


def test_equal_lines_are_counted() -> None:
    hashes = primary_location_line_hashes(b"x;\n" * 300)
    assert [item.split(":")[1] for item in hashes[:3]] == ["1", "2", "3"]
    assert len({item.split(":")[0] for item in hashes[:200]}) == 1


def test_an_edit_above_keeps_the_hash() -> None:
    before = primary_location_line_hashes(b"int a;\nfloat b = a[i];\n")
    after = primary_location_line_hashes(b"// new\nint a;\n  float b =  a[i];\n")
    assert before[1] == after[2]


def finding_at(source: SourceFile, text: bytes, kernel: str = "scale", code: str = "KL101") -> Finding:
    start = source.data.index(text)
    span = Span(source.path, start, start + len(text))
    return Finding(code, "unguarded-edge-tile", "oob-edge", Severity.ERROR, Confidence.HIGH, span, "", kernel=kernel)


def test_fingerprint_ignores_place_blanks_and_file_name() -> None:
    old = SourceFile("old.cu", b"out[i] = x[i];", CUDA)
    new = SourceFile("src/new.cu", b"// moved\n\nout[ i ]\n   =  x[i];", CUDA)
    first = finding_fingerprint(finding_at(old, b"out[i] = x[i]"), old)
    assert first == finding_fingerprint(finding_at(new, b"out[ i ]\n   =  x[i]"), new)
    assert len(first) == 32


def test_fingerprint_tells_rules_kernels_and_text_apart() -> None:
    source = SourceFile("a.cu", b"out[i] = x[i];", CUDA)
    prints = {
        finding_fingerprint(finding_at(source, b"out[i]"), source),
        finding_fingerprint(finding_at(source, b"x[i]"), source),
        finding_fingerprint(finding_at(source, b"x[i]", kernel="other"), source),
        finding_fingerprint(finding_at(source, b"x[i]", code="KL102"), source),
    }
    assert len(prints) == 4


def test_an_edit_far_down_in_a_long_span_keeps_the_fingerprint() -> None:
    head = b"def scale(x_ptr, n):\n" + b"    step(x_ptr)\n" * 20
    one, two = SourceFile("a.py", head + b"    a = 1\n", CUDA), SourceFile("a.py", head + b"    b = 2\n", CUDA)
    first = finding_fingerprint(finding_at(one, one.data), one)
    assert first == finding_fingerprint(finding_at(two, two.data), two)
    other = SourceFile("a.py", b"def clip(x_ptr, n):\n" + one.data[21:], CUDA)
    assert first != finding_fingerprint(finding_at(other, other.data), other)


def test_alike_findings_are_counted_from_the_top_of_each_file() -> None:
    one, two = SourceFile("1.cu", b"f(x); f(x);", CUDA), SourceFile("2.cu", b"f(x);", CUDA)
    spans = [Span("1.cu", 0, 4), Span("1.cu", 6, 10), Span("2.cu", 0, 4)]
    findings = [Finding("KL101", "n", "k", Severity.ERROR, Confidence.HIGH, span, "m") for span in spans]
    prints = finding_fingerprints(findings, {"1.cu": one, "2.cu": two})
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


@given(st.binary(max_size=40), st.integers(-5, 60), st.integers(-5, 60))
def test_any_span_has_a_fingerprint(data: bytes, start: int, end: int) -> None:
    source = SourceFile("a.cu", data, CUDA)
    finding = Finding("KL1", "n", "k", Severity.INFO, Confidence.LOW, Span("a.cu", start, end), "m", kernel="\ud800")
    assert len(finding_fingerprint(finding, source)) == 32
    assert len(finding_fingerprint(finding, None)) == 32
