"""Odd files: a diagnostic, never a traceback, never a hang, and the rest of the run goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_samples import UNUSED, Kernlint

_CUDA = b"__global__ void k(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 0; }\n"
_TRITON = b"""import triton
import triton.language as tl

@triton.jit
def k(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, 0.0, mask=i < n)
"""

# name -> content; what is expected of all of them is no internal error
_ODD: dict[str, bytes] = {
    "empty.cu": b"",
    "empty.py": b"",
    "blank.py": b"\n\n \t\f\n",
    "bom.cu": b"\xef\xbb\xbf" + _CUDA,
    "bom.py": b"\xef\xbb\xbf" + _TRITON,
    "crlf.cu": _CUDA.replace(b"\n", b"\r\n"),
    "crlf.py": _TRITON.replace(b"\n", b"\r\n"),
    "cr.cu": _CUDA.replace(b" ", b"\r"),
    "cr.py": _TRITON.replace(b"\n", b"\r"),
    "feeds.cu": _CUDA.replace(b" ", b"\f\v"),
    "feeds.py": b"\f" + _TRITON.replace(b"\n\n", b"\n\f\n"),
    "latin.cu": b"// gr\xf6\xdfer\n" + _CUDA,
    "latin.py": b"# gr\xf6\xdfer\n" + _TRITON,
    "cookie.py": b"# -*- coding: latin-1 -*-\ns = 'gr\xf6\xdfer'\n" + _TRITON,
    "liar.py": b"# -*- coding: utf-7 -*-\n" + _TRITON,
    "nonsense.py": b"# -*- coding: no-such-thing -*-\n" + _TRITON,
    "surrogate.py": b"s = '\\ud800'\n" + _TRITON,
    "truncated.cu": _CUDA[:60],
    "truncated.py": _TRITON[:100],
    "parentheses.cu": b"__global__ void k(float* x) { x[0] = " + b"(" * 20_000 + b"1" + b")" * 20_000 + b"; }",
    "parentheses.py": b"import triton\nx = " + b"(" * 20_000 + b"1" + b")" * 20_000,
    "unary.py": b"import triton\nx = " + b"-" * 20_000 + b"1\n",
    "attributes.py": b"import triton\nx = a" + b".a" * 20_000 + b"\n",
    "sum.cu": b"__global__ void k(float* x, int a) { x[" + b"a + " * 20_000 + b"a] = 0; }",
    "sum.py": _TRITON + b"y = " + b"a + " * 20_000 + b"a\n",
    "braces.cu": b"__global__ void k(float* x) " + b"{" * 20_000,
    "ifs.cu": b"__global__ void k(float* x, int a) {" + b"if (a) { " * 5_000 + b"x[0] = 1;" + b"}" * 5_000 + b"}",
    "elses.cu": b"__global__ void k(float* x, int a) {" + b"if (a) x[0] = 1; else " * 5_000 + b"x[0] = 2; }",
    "open-string.cu": b'__global__ void k() { printf("' + b"x" * 100_000,
    "open-string.py": b'import triton\ns = """' + b"x" * 100_000,
    "one-line.cu": b"__global__ void k(float* x) {" + b" x[0] += 1;" * 3_000 + b"}",
    "macro-bomb.cu": b"#define A0 x\n"
    + b"".join(b"#define A%d A%d A%d\n" % (i, i - 1, i - 1) for i in range(1, 40))
    + b"__global__ void k(float* x) { A39; }\n",
    "macro-loop.cu": b"#define A B\n#define B A\n__global__ void k(float* x) { x[A] = B; }\n",
    "include-self.cu": b'#include "include-self.cu"\n' + _CUDA,
}


@pytest.mark.parametrize("name", sorted(_ODD))
def test_odd_content_ends_in_findings_or_silence(kernlint: Kernlint, name: str) -> None:
    Path(name).write_bytes(_ODD[name])
    result = kernlint(".", "--audit")
    assert result.code in (0, 1), result.out
    assert "Traceback" not in result.out + result.err


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("binary.cu", b"\x7fELF\0\0\0__global__", "NUL bytes"),
        ("binary.py", bytes(range(256)), "NUL bytes"),
        ("wide.cu", _CUDA.decode().encode("utf-16"), "UTF-16"),
        ("wide.py", _TRITON.decode().encode("utf-32"), "UTF-32"),
        ("huge.cu", _CUDA + b"// filler\n" * 300_000, "max-file-size"),
    ],
)
def test_what_cannot_be_read_is_a_finding_and_the_other_files_are_checked(
    kernlint: Kernlint, name: str, data: bytes, words: str
) -> None:
    Path(name).write_bytes(data)
    Path("z.py").write_text(UNUSED)
    result = kernlint(".")
    assert result.code == 1
    assert "unreadable-file" in result.out
    assert words in result.out
    assert "z.py:4" in result.out


def test_a_large_file_without_kernels_needs_no_word(kernlint: Kernlint) -> None:
    Path("data.py").write_bytes(b"x = 1\n" * 400_000)
    assert kernlint(".").code == 0
    assert "max-file-size" in kernlint("data.py").out  # unless it was asked for


def test_a_file_without_permission_is_a_finding(kernlint: Kernlint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusal is put into `open`."""
    Path("closed.cu").write_bytes(_CUDA)
    real = open

    def refusing(file: object, *arguments: object, **options: object) -> object:
        if str(file).endswith("closed.cu"):
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", refusing)
    result = kernlint(".")
    assert result.code == 1
    assert "permission denied" in result.out


def test_a_permission_missing_for_real(kernlint: Kernlint) -> None:
    Path("closed.cu").write_bytes(_CUDA)
    os.chmod("closed.cu", 0)
    result = kernlint(".")
    readable = os.access("closed.cu", os.R_OK)  # as root it is
    assert ("unreadable-file" in result.out) is not readable


@pytest.mark.parametrize("raw", [b"caf\xe9.py", b"a\nb.py", "größe – Kopie.py".encode(), b"--select.py", b"a%20b#.py"])
@pytest.mark.parametrize("form", ["full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "agent"])
def test_odd_file_names_in_every_format(kernlint: Kernlint, raw: bytes, form: str) -> None:
    Path(os.fsdecode(raw)).write_text(UNUSED)
    result = kernlint(".", "-o", form, "-o", "full:report.txt")
    assert result.code == 1
    assert result.err == ""
    assert result.out.encode("utf-8")
    assert Path("report.txt").read_bytes()


def test_links_in_a_circle_and_folders_called_like_files(kernlint: Kernlint) -> None:
    Path("pkg.py").mkdir()
    Path("pkg.py/k.cu").mkdir()
    Path("pkg.py/k.cu/a.py").write_text(UNUSED)
    Path("pkg.py/loop").symlink_to("..")
    Path("self.cu").symlink_to("self.cu")
    result = kernlint(".")
    assert result.out.count("a.py:4") == 1
    assert "self.cu" in result.out


def test_nothing_that_is_linted_is_executed(kernlint: Kernlint) -> None:
    trap = "open('sprung', 'w')\n"
    Path("pkg").mkdir()
    Path("pkg/__init__.py").write_text(trap)
    Path("pkg/helpers.py").write_text(trap + "BLOCK = 64\n")
    Path("pkg/a.py").write_text(trap + "from .helpers import BLOCK\nfrom pkg import helpers\n" + _TRITON.decode())
    Path("conftest.py").write_text(trap)
    Path("sitecustomize.py").write_text(trap)
    kernlint(".", "--audit")
    assert not Path("sprung").exists()
