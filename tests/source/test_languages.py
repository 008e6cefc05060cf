"""Which files are ours, and which are dismissed on their text."""

from __future__ import annotations

import pytest

from kernlint.source.decode import why_unreadable
from kernlint.source.languages import guessed_language, is_plain_cpp, language_of, may_hold_kernels


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.cu", "cuda"),
        ("a.CU", "cuda"),
        ("a.cuh", "cuda"),
        ("a.cu.h", "cuda"),
        ("a.hpp", "cuda"),
        ("a.cpp", "cuda"),
        ("a.py", "python"),
        ("a.txt", None),
        ("cu", None),
        ("Makefile", None),
    ],
)
def test_by_name(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("data", "language"),
    [
        (b"__global__ void k();", "cuda"),
        (b"#!/usr/bin/env python3\n", "python"),
        (b"import triton", "python"),
        (b"", None),
    ],
)
def test_by_content(data: bytes, language: str | None) -> None:
    assert guessed_language(data) == language


def test_cpp_files_are_ours_only_with_device_code() -> None:
    assert is_plain_cpp("a.h", b"int f();")
    assert not is_plain_cpp("a.h", b"__device__ int f();")
    assert not is_plain_cpp("a.cpp", b"k<<<1, 2>>>();")
    assert not is_plain_cpp("a.cu", b"int f();")
    assert not is_plain_cpp("a.cu.h", b"int f();")


@pytest.mark.parametrize(
    ("data", "language", "kept"),
    [
        (b"import triton\n", "python", True),
        (b"from .ops import kern\nkern[grid](x, y)\n", "python", True),
        (b"from .ops import kern\nkern[n, m](x, y, num_warps=4)\n", "python", True),
        (b"from .ops import kern\nkern[(n, m[0])](x, y)\n", "python", True),
        (b"from .ops import kern\nkern[grid](\n    x,\n)\n", "python", True),
        (b"src = '''__global__ void k() {}'''\n", "python", True),
        (b"x = 1  # kernlint: ignore[KL101]\n", "python", True),
        (b"import os\ntable[key](x)\n", "python", False),
        (b"import os\nx = [1, 2]\nprint(x)\n", "python", False),
        (b"def f(x: list[int]) -> None: ...\n", "python", False),
        (b"int main() {}", "cuda", False),
        (b"__global__ void k() {}", "cuda", True),
        (b"cudaLaunchKernel(f, g, b, a, 0, 0);", "cuda", True),
    ],
)
def test_prefilter(data: bytes, language: str, kept: bool) -> None:
    assert may_hold_kernels(data, language) is kept


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\0", "binary"),
        ("x".encode("utf-16"), "UTF-16"),
        ("x".encode("utf-32"), "UTF-32"),
        ("größer".encode(), ""),
        ("größer".encode("latin-1"), ""),
        (b"\xef\xbb\xbfx", ""),
        (b"a\fb\r\nc\r", ""),
        (b"", ""),
    ],
)
def test_unreadable(data: bytes, word: str) -> None:
    found = why_unreadable(data)
    assert (word in found) if word else found == ""
