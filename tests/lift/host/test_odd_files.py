"""Files that are no Python, or Python no one writes: an answer, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies
from python_project import HEAD, launch_in, lifted

from kernlint.ir.kernel import Module
from kernlint.lift.python import lift_python
from kernlint.source.file import PYTHON, NoResolver, SourceFile

LAUNCH = "    copy_kernel[(n,)](x, y, n, BLOCK=64)\n"


def lift_bytes(data: bytes) -> Module:
    return lift_python(SourceFile("odd.py", data, PYTHON), NoResolver())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"import triton\ndef f(:\n", "syntax error"),
        (b"import triton\nprint 'python 2'\n", "syntax error"),
        (b"import triton\nx = '\0'\n", ""),
        (b"import triton\nx = '\xff\xfe'\n", "syntax error"),
        (b"# coding: nonsense\nimport triton\n", "syntax error"),
        (b"import triton\nx = " + b"(" * 5000 + b")" * 5000 + b"\n", ""),
        (b"import triton\nx = " + b"-" * 200000 + b"1\n", ""),
        (b"import triton\n\tx = 1\n  y = 2\n", "syntax error"),
    ],
)
def test_unparsed_files_are_said(data: bytes, reason: str) -> None:
    module = lift_bytes(data)
    (region,) = module.unparsed
    assert reason in region.reason
    assert 0 <= region.span.start <= len(data)
    assert module.kernels == []


def test_syntax_errors_are_placed() -> None:
    data = b"import triton\n\ndef f(:\n    pass\n"
    (region,) = lift_bytes(data).unparsed
    assert data[: region.span.start].count(b"\n") == 2


def test_files_of_no_interest_are_not_parsed() -> None:
    assert lift_bytes(b"this is not python at all(((").unparsed == []
    assert lift_bytes(b"").unparsed == []


@pytest.mark.parametrize(
    "body",
    [
        "    n = " + " + ".join(["x.shape[0]"] * 900) + "\n" + LAUNCH,
        "    n = " + "(" * 80 + "x.shape[0]" + ")" * 80 + "\n" + LAUNCH,
        "    if n == 0:\n        n = 1\n"
        + "".join(f"    elif n == {i}:\n        n = {i + 1}\n" for i in range(1, 1500))
        + LAUNCH,
        "".join("    " * (i + 1) + f"if n > {i}:\n" for i in range(90)) + "    " * 91 + "n = 2\n" + LAUNCH,
        "    n = [" + ", ".join(str(i) for i in range(20000)) + "][0]\n" + LAUNCH,
        "".join(f"    n = n * n + {i}\n" for i in range(400)) + LAUNCH,
        "    f = lambda a: f(a)\n    n = f(f)\n" + LAUNCH,
        "    def f(a):\n        return f(a - 1)\n    n = f(n)\n" + LAUNCH,
        "    n = n if n else n\n    while True:\n        n += 1\n" + LAUNCH,
        "    x, (y, *n), [] = n\n" + LAUNCH,
        "    del x\n    global y\n    n = yield\n" + LAUNCH,
        "    n = (n := 3) % 0 // 0\n" + LAUNCH,
        "    match n:\n        case 1:\n            n = 2\n        case [a, *b]:\n            return\n" + LAUNCH,
        "    try:\n        n = 1\n    except* ValueError:\n        n = 2\n    finally:\n        m = n\n" + LAUNCH,
        "    copy_kernel[()]()\n",
        "    copy_kernel[copy_kernel](copy_kernel, *copy_kernel, **copy_kernel)\n",
        "    copy_kernel[lambda: 1](x)\n",
        "    copy_kernel[n,](x, y, n, BLOCK=copy_kernel[n,](x, y, n, BLOCK=1))\n",
    ],
)
def test_odd_wrappers_are_lifted(body: str) -> None:
    module = lifted(f"{HEAD}\ndef copy(x, y, n):\n{body}")
    assert module.unparsed == []
    assert {launch.kernel_name for launch in module.launches} <= {"copy_kernel"}


def test_arithmetic_beyond_the_budget_is_unknown_not_wrong() -> None:
    body = "".join(f"    n = n * n + {index}\n" for index in range(40))
    launch = launch_in(f"\ndef copy(x, y, n: int):\n{body}{LAUNCH}")
    assert launch.bindings["p:n"].is_opaque


_PIECES = strategies.sampled_from(
    ["x", "n", "grid", "[", "]", "(", ")", ",", "=", ":", "\n", "\n    ", "\n        ", "copy_kernel", "lambda meta",
     "if", "else", "return", "def f(n)", "for i in range(n)", "x.shape", ".view(-1)", "torch.empty(n)", "assert", "*",
     "triton.cdiv(n, 4)", "**", "meta['BLOCK']", "1", "None", "with a", "try", "except", "import", "@triton.jit"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(strategies.lists(_PIECES, max_size=40))
def test_token_soup(pieces: list[str]) -> None:
    module = lifted(HEAD + "\ndef copy(x, y, n):\n    " + " ".join(pieces) + "\n")
    assert module.path == "ops.py"


@settings(max_examples=100, deadline=None)
@given(strategies.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    assert lift_bytes(b"import triton\n" + data).path == "odd.py"
