"""Odd, huge and broken input: always a kernel, never an exception, never a hang."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from triton_lifting import HEADER, body, lift_all

ODD = [
    "x = p[1:2, 3]",
    "p[0] = 3",
    "p.data = 3",
    "del p",
    "x = {1: 2, **{}}",
    "x = [i for i in range(n)]",
    "x = f'{n}'",
    "x = (yield n)",
    "x = lambda: x()\nx()",
    "tl.load()",
    "tl.store(p)",
    "tl.load(*p, **n)",
    "tl.load(None)",
    "tl.load('text')",
    "tl.load(tl)",
    "tl.load((p, p))",
    "tl.dot()",
    "tl.sum()",
    "tl.sum(n, axis=7)",
    "tl.arange()",
    "tl.arange(n, p)",
    "tl.arange(0, 0.5)",
    "tl.zeros()",
    "tl.zeros(n, n)",
    "tl.zeros((n, p), 'nonsense')",
    "tl.make_block_ptr()",
    "tl.make_block_ptr(p, (n,), (1, 2), (0,), (4,), (0,))",
    "tl.advance(p, 3)",
    "tl.trans(n, 5)",
    "tl.reshape(n)",
    "tl.join(n)",
    "tl.split(n)",
    "tl.where(n)",
    "tl.program_id(n)",
    "tl.program_id(7)",
    "tl.cdiv(n, 0)",
    "x = n // 0\nx = n % 0\nx = 1 // 0\nx = 1 << -1\nx = 2 ** 100000",
    "x = 10 ** 10 ** 10",
    "a, (b, *c) = n, 3",
    "for i in p:\n    tl.store(p + i, i)",
    "for i in range():\n    pass",
    "for i in range(0, n, 0):\n    tl.store(p + i, i)",
    "for i, j in tl.static_range(3):\n    pass",
    "while True:\n    p += 1",
    "while n:\n    n -= n",
    "break",
    "continue",
    "return 1, 2",
    "try:\n    tl.store(p, 0)\nexcept:\n    pass\nfinally:\n    tl.store(p, 1)",
    "match n:\n    case 1:\n        tl.store(p, 0)",
    "with tl.thing() as t:\n    tl.store(p, 0)",
    "global p\nassert n, 'text'",
    "def inner(a):\n    return inner(a)\nx = inner(n)",
    "class A:\n    pass",
    "x = n if n else (p if p else n)",
    "x = n < p < n\ny = n in (1, 2)\nz = n not in p",
    "x: tl.constexpr = 3\nx: tl.constexpr",
    "x = (z := n) + z",
    "x = not None\ny = -None\nz = ~'a'",
    "x = 'a' + 'b' + n",
    "raise ValueError",
    "x = p.shape[0] + p.dtype.x.y.z()",
    "x = float('nan') + float('text') + int('3')",
    "async def f():\n    await f()",
]


@pytest.mark.parametrize("statements", ODD)
def test_odd_statements_never_raise(statements: str) -> None:
    kernel = lift_all("@triton.jit\ndef kernel(p, n):\n" + textwrap.indent(statements, "    "))[0]
    assert not kernel.incomplete.startswith("internal")


def test_deep_expressions_become_opaque_locally() -> None:
    chain = " + ".join(["n"] * 600)
    kernel = body("p, n", f"x = {chain}\ntl.store(p, 1)")
    assert "nested too deeply" in kernel.opaque_reasons
    assert len(kernel.accesses) == 1


def test_deeply_nested_blocks() -> None:
    text = "".join("    " * (i + 1) + f"if n > {i}:\n" for i in range(60))
    text += "    " * 61 + "tl.store(p, 0)\n"
    kernel = lift_all("@triton.jit\ndef kernel(p, n):\n" + text)[0]
    assert not kernel.incomplete.startswith("internal")


def test_growing_expressions_stay_bounded() -> None:
    doubling = "x = n\n" + "x = x * x + p\n" * 60 + "tl.store(p + x, 0)"
    kernel = body("p, n", doubling)
    assert not kernel.accesses[0].index_is_known


def test_many_branches_stay_linear() -> None:
    text = "x = n\n" + "".join(f"if n > {i}:\n    x = x + n * {i}\n" for i in range(150)) + "tl.store(p + x, 0)"
    kernel = body("p, n", text)
    assert len(kernel.accesses) == 1


def test_a_kernel_over_the_budget_is_kept_as_far_as_it_went() -> None:
    kernel = lift_all("@triton.jit\ndef kernel(p, n):\n" + "    tl.store(p + n, 0)\n" * 9000)[0]
    assert kernel.incomplete == "larger than the lifting budget"
    assert kernel.accesses


def test_helpers_that_call_helpers_twice_each_do_not_explode() -> None:
    text = "".join(f"@triton.jit\ndef f{i}(p):\n    f{i + 1}(p)\n    f{i + 1}(p)\n\n" for i in range(30))
    kernels = lift_all(text + "@triton.jit\ndef f30(p):\n    tl.store(p, 0)\n")
    assert len(kernels) == 31
    assert not any(kernel.incomplete.startswith("internal") for kernel in kernels)


NAMES = st.sampled_from(["p", "n", "x", "tl", "B", "None", "0", "1", "2.5", "'s'"])


def expressions() -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        calls = st.sampled_from(
            ["load", "arange", "zeros", "sum", "dot", "where", "cdiv", "trans", "max", "program_id", "split", "join",
             "reshape", "expand_dims", "make_block_ptr", "atomic_add", "cast", "full", "cumsum", "broadcast_to"]
        )  # fmt: skip
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "*", "//", "%", "&", "<", "==", "is", "and"]), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(calls, st.lists(inner, max_size=3)).map(lambda t: f"tl.{t[0]}({', '.join(t[1])})"),
            st.tuples(inner, st.sampled_from([".to(tl.float32)", "[:, None]", "[0]", ".sum(0)", ".T", ".dtype"])).map(
                lambda t: f"({t[0]}){t[1]}"
            ),
            st.tuples(inner, inner).map(lambda t: f"({t[0]}, {t[1]})"),
            inner.map(lambda e: f"(-({e}))"),
        )

    return st.recursive(NAMES, extend, max_leaves=8)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["x", "n", "p"]), expressions()), min_size=1, max_size=5))
def test_any_program_of_known_functions_is_lifted_whole(program: list[tuple[str, str]]) -> None:
    lines = [f"    {name} = {text}" for name, text in program]
    text = (
        "@triton.jit\ndef kernel(p, n, B: tl.constexpr):\n    x = n\n    for i in range(n):\n"
        + "".join(f"    {line}\n" for line in lines)
        + "    tl.store(p + x, n)\n"
    )
    ast.parse(HEADER + text)
    kernel = lift_all(text)[0]
    assert not kernel.incomplete.startswith("internal"), kernel.incomplete


def test_constants_and_texts_that_double_stay_small() -> None:
    kernel = body("p", "x = 3\ns = 'ab'\nt = (1, 2)\n" + "x = x * x\ns = s + s\nt = t + t\n" * 80 + "tl.store(p, x)")
    assert "huge constant" in kernel.opaque_reasons


def test_lists_of_configurations_that_double_stay_small() -> None:
    doubling = "    c = c + c\n    c.extend(c)\n    n = n * n\n" * 60
    before = f"def make():\n    n = 3\n    c = [triton.Config({{'B': 1}})]\n{doubling}    return c\n"
    many = "[x for x in range(4000) for y in range(4000) for z in range(4000) if z > 5000]"
    for configs in ("make()", many):
        text = (
            f"{before}\n@triton.autotune(configs={configs}, key=[])\n@triton.jit\ndef kernel(p):\n    tl.store(p, 0)\n"
        )
        (kernel,) = lift_all(text)
        assert kernel.autotune is not None
        assert not kernel.autotune.complete
