"""Kernels that the text swallows are said to be missing."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source

_KERNEL = "__global__ void fill(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] = 0; }\n"


@pytest.mark.parametrize("above", ["/* never closed\n", 'const char* s = R"(never closed\n'])
def test_what_an_open_comment_or_string_swallows_is_reported(above: str) -> None:
    found = check_source(above + _KERNEL, confidence=Confidence.HIGH)
    assert [finding.code for finding in found] == ["KL001"]
    assert "`fill`" in found[0].message


@pytest.mark.parametrize(
    "text", ["// __global__ void k() {}\nint x = (;\n", "#define K __global__ void k() {}\nint y = );\n"]
)
def test_mentions_are_no_kernels(text: str) -> None:
    assert check_source(text, confidence=Confidence.HIGH) == []
