"""Padded lanes whose result gets nowhere, and tiles that leave no padded lanes."""

from __future__ import annotations

from kernlint.analysis.padding import padding_faults
from kernlint.analysis.padding_judge import Fault
from kernlint.finding import Confidence
from kernlint.lift import lift_module
from kernlint.source.file import PYTHON, SourceFile

TRITON = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"


def faults(source: str) -> list[tuple[Fault, Confidence]]:
    module = lift_module(SourceFile("k.py", source.encode(), PYTHON))
    return [(fault.kind, fault.confidence) for kernel in module.kernels for fault in padding_faults(kernel)]


CHUNKS = (
    TRITON
    + """\
def k(x_ptr, bias_ptr, h_ptr, out_ptr, T, BT: tl.constexpr):
    h = 0.0
    bias = tl.load(bias_ptr)
    for t in range(TURNS):
        o = (FIRST) * BT + tl.arange(0, BT)
        tl.store(h_ptr + t, h)
        x = tl.load(x_ptr + o, mask=o < T, other=0.0).to(tl.float32) + bias
        h = h - tl.sum(x, axis=0)
    AFTER
"""
)


def chunks(after: str = "tl.store(out_ptr, bias)", first: str = "t", turns: str = "tl.cdiv(T, BT)") -> list[Fault]:
    source = CHUNKS.replace("AFTER", after).replace("FIRST", first).replace("TURNS", turns)
    return [kind for kind, _ in faults(source)]


def test_what_only_the_turn_after_the_last_would_read_does_not_matter() -> None:
    assert chunks() == []


def test_what_is_read_after_the_loop_or_in_later_turns_matters() -> None:
    assert chunks(after="tl.store(out_ptr, h)") == [Fault.MOVED]
    assert chunks(first="tl.cdiv(T, BT) - 1 - t") == [Fault.MOVED]
    assert chunks(turns="tl.cdiv(T, BT) + 1") == [Fault.MOVED]


SWITCHED = (
    TRITON
    + """\
def k(x_ptr, out_ptr, n, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)
    y = tl.exp(x)
    if REVERSE:
        s = tl.cumsum(y, axis=0, reverse=True)
    else:
        s = tl.cumsum(y, axis=0)
    tl.store(out_ptr + c, s, mask=c < n)


def f(x, reverse):
    out = torch.empty_like(x)
    k[(1,)](x, out, x.numel(), REVERSE=SWITCH, BLOCK=1024)
"""
)


def test_an_arm_off_at_every_launch_does_not_matter() -> None:
    assert faults(SWITCHED.replace("SWITCH", "False")) == []
    assert [kind for kind, _ in faults(SWITCHED.replace("SWITCH", "True"))] == [Fault.MOVED]
    assert [kind for kind, _ in faults(SWITCHED.replace("SWITCH", "reverse"))] == [Fault.MOVED]


HEURISTIC = (
    TRITON.replace("@triton.jit", '@triton.heuristics({"BLOCK": lambda a: TILE})\n@triton.jit')
    + """\
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + c, mask=c < n).to(tl.float32)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))
"""
)


def test_a_heuristic_may_make_the_tile_as_wide_as_the_row() -> None:
    assert faults(HEURISTIC.replace("TILE", 'a["n"]')) == []
    assert faults(HEURISTIC.replace("TILE", 'min(a["n"], 4096)')) == []
    assert [kind for kind, _ in faults(HEURISTIC.replace("TILE", 'triton.next_power_of_2(a["n"])'))] == [
        Fault.UNDEFINED
    ]


def test_a_minimum_over_zeros_is_wrong_even_where_names_speak_of_magnitudes() -> None:
    source = TRITON + (
        "def quant_norm(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    c = tl.arange(0, BLOCK)\n"
        "    scales = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)\n"
        "    tl.store(out_ptr, tl.%s(scales, axis=0))\n"
    )
    assert faults(source % "min") == [(Fault.WRONG_IDENTITY, Confidence.HIGH)]
    assert faults(source % "max") == [(Fault.WRONG_IDENTITY, Confidence.MEDIUM)]
