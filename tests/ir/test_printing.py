"""`kernlint print`: a kernel written out by hand in the IR, and its text."""

from __future__ import annotations

import pytest

from kernlint.ir.arith import cdiv
from kernlint.ir.condition import equal, less
from kernlint.ir.expr import Axis, AxisKind, axis_expr, const, host, param
from kernlint.ir.host import GridDim, HostFunction, HostValue, Launch, TensorFacts
from kernlint.ir.kernel import (
    Access,
    AccessKind,
    Autotune,
    Barrier,
    BarrierKind,
    Branch,
    Config,
    Exit,
    Framework,
    Kernel,
    Loop,
    Module,
    Param,
    ParamRole,
    Region,
    UnparsedRegion,
)
from kernlint.ir.printing import print_accesses, print_barriers, print_cfg, print_ir, print_launches
from kernlint.ir.types import FLOAT16, FLOAT32, INT32, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value

PATH = "scale.py"


def at(line: int) -> Span:
    """The first byte of a line of ten bytes."""
    return Span(PATH, (line - 1) * 10, (line - 1) * 10 + 1)


def line_of(offset: int) -> int:
    return offset // 10 + 1


def sample() -> Module:
    grid = axis_expr(Axis(AxisKind.GRID, "g0", "program_id(0)", None))
    lane = axis_expr(Axis(AxisKind.LANE, "l-1:BLOCK", "arange(BLOCK)", param("BLOCK"), -1))
    turns = Axis(AxisKind.LOOP, "k0", "k0", const(4))
    n, block = param("n"), param("BLOCK")
    x = Buffer("x_ptr", Space.GLOBAL, FLOAT16, at(2), is_param=True)
    tile = Buffer("tile", Space.SHARED, FLOAT32, at(3), extents=(const(32), const(33)))
    index = grid * block + lane
    zero = Value("const", dtype=FLOAT32, attrs={"value": 0.0}, ordinal=1)
    loaded = Value("load", dtype=FLOAT16, shape=(block,), name="x", ordinal=2)
    row = Value("add", (loaded, zero), FLOAT32, (block,), name="y", ordinal=3)
    offset = Value("mul", dtype=INT32, expr=grid * block, name="start", ordinal=4)
    load = Access(
        AccessKind.LOAD, Pointer(x, index, FLOAT16), at(6), 2, guard=less(index, n), mask=less(index, n), other=zero,
        dtype=FLOAT16, shape=(block,),
    )  # fmt: skip
    store = Access(AccessKind.STORE, Pointer(None, axis_expr(turns), None), at(9), 5, dtype=FLOAT32)
    barrier = Barrier(BarrierKind.BLOCK, at(8), 4, name="__syncthreads", guard=less(grid, n))
    leave = Exit("return", at(5), (), less(n, grid), 1)
    loop = Loop(turns, at(7), const(0), const(4), const(1), "k", trip_count=const(4), body=Region([barrier, store]))
    branch = Branch(less(n, grid), at(5), then=Region([leave]), otherwise=Region([load]))
    tuned = Config(at(1), {"BLOCK": 64}, 4, 2)
    kernel = Kernel(
        "scale", Framework.TRITON, at(2), at(5),
        (
            Param("x_ptr", ParamRole.POINTER, at(2)),
            Param("n", ParamRole.SCALAR, at(2), INT32, position=1),
            Param("BLOCK", ParamRole.CONSTEXPR, at(2), default=Value("const", attrs={"value": 64}), position=2),
        ),
        body=Region([branch, loop]), values=[zero, loaded, row, offset], buffers={"x_ptr": x, "tile": tile},
        facts=[equal(n, block)],
        autotune=Autotune(at(1), (tuned,), True, (("n", at(1)),), reset_to_zero=("x_ptr",)),
        opaque_reasons={"inline assembly": 2},
    )  # fmt: skip
    function = HostFunction("run", at(12), at(13))
    launch = Launch(
        "scale", at(14), function, (GridDim(cdiv(host("m"), const(64)), at(14)), GridDim(None, at(14))), (),
        arguments={
            "x_ptr": HostValue(
                tensor=TensorFacts("x", (host("m"),), dtype=FLOAT16, contiguous=True, init="empty", alias_of="base")
            ),
            "n": HostValue(expr=host("m")),
            "BLOCK": HostValue(literal=None, is_literal=True),
        },
        facts=[less(const(0), host("m"))], divisible=[(host("m"), const(8))], kernel=kernel, num_warps=4, in_loop=True,
    )  # fmt: skip
    other = Launch(
        "elsewhere", at(15), function, None, (), positional=(HostValue(text="f(x)"),), import_from=(".k", "e")
    )
    return Module(PATH, "python", [kernel], [launch, other], [function], [UnparsedRegion(at(20), "syntax error: odd")])


def test_ir() -> None:
    assert (
        print_ir(sample(), line_of)
        == """\
kernel scale(x_ptr, n, BLOCK)  triton, line 2
  param x_ptr: pointer
  param n: scalar int32
  param BLOCK: constexpr = 64
  shared tile[32, 33]: float32
  autotune key [n], 1 configs
    config BLOCK=64 num_warps=4 num_stages=2
    reset_to_zero x_ptr
  assume BLOCK == n
  values
    %1 = const() {value=0.0}: float32
    %2 x = load(): float16[BLOCK]
    %3 y = add(%2(x), 0.0): float32[BLOCK]
    %4 start = mul(): int32  = program_id(0)*BLOCK
  body
    line 5: if n < program_id(0)
      line 5: return
    else
      line 6: load x_ptr[program_id(0)*BLOCK + arange(BLOCK)]: float16[BLOCK]
    line 7: loop k0 (k from 0 below 4 by 1), 4 turns
      line 8: block barrier __syncthreads, reached if program_id(0) < n
      line 9: store ?[k0]: float32  (index not known)
  not understood: inline assembly (2)

launch scale in run, line 14, num_warps=4, in a loop
  grid [((m + 63) // 64), ?]
  x_ptr = tensor x [m] float16 empty contiguous shares base
  n = m
  BLOCK = None
  fact 0 < m
  fact 8 divides m

launch elsewhere in run, line 15, kernel not in this file of .k
  grid ?
  #0 = ? `f(x)`

not parsed, line 20: syntax error: odd
"""
    )


def test_cfg_is_the_body_alone() -> None:
    text = print_cfg(sample(), line_of)
    assert text.splitlines()[1:4] == [
        "  line 5: if n < program_id(0)",
        "    line 5: return",
        "  else",
    ]
    assert "launch" not in text
    assert "%1" not in text


def test_accesses() -> None:
    assert print_accesses(sample(), line_of).splitlines()[:6] == [
        "kernel scale(x_ptr, n, BLOCK)  triton, line 2",
        "  line 6: load x_ptr[program_id(0)*BLOCK + arange(BLOCK)]: float16[BLOCK]",
        "      mask program_id(0)*BLOCK + arange(BLOCK) < n",
        "      other 0.0",
        "      guard program_id(0)*BLOCK + arange(BLOCK) < n",
        "  line 9: store ?[k0]: float32  (index not known)",
    ]
    assert "1 of 2 indices known" in print_accesses(sample())


def test_barriers() -> None:
    lines = print_barriers(sample(), line_of).splitlines()
    assert lines[1] == "  line 8: block barrier __syncthreads, reached if program_id(0) < n"


def test_launches_are_those_of_the_ir() -> None:
    text = print_launches(sample(), line_of)
    assert text in print_ir(sample(), line_of)
    assert text.startswith("launch scale in run, line 14")


def test_places_without_a_line_table_are_byte_offsets() -> None:
    assert "  @50: load x_ptr" in print_accesses(sample())


@pytest.mark.parametrize("show", [print_ir, print_cfg, print_accesses, print_barriers, print_launches])
def test_empty_module(show: object) -> None:
    assert callable(show)
    assert show(Module(PATH, "python")) == ""


def test_deep_nesting_is_no_recursion() -> None:
    region = Region()
    outer = region
    for depth in range(5000):
        inner = Branch(less(param("n"), const(depth)), at(1))
        region.items.append(inner)
        region = inner.then
    kernel = Kernel("deep", Framework.CUDA, at(1), at(1), (), body=outer)
    assert print_cfg(Module(PATH, "cuda", [kernel])).count("if n") == 5000
