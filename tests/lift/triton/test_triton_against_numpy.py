"""What a lifted kernel says it touches is what it touches when it runs (a small Triton in NumPy runs it)."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy_triton import predicted, run
from triton_lifting import lift

from kernlint.ir.condition import Condition
from kernlint.ir.expr import AtomKind

# name: (parameters, statements, arguments (None: a pointer), grid)
KERNELS: dict[str, tuple[str, str, dict[str, Any], tuple[int, ...]]] = {
    "edge tile": (
        "x, y, n, B: tl.constexpr",
        """
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
        """,
        {"x": None, "y": None, "n": 21, "B": 8},
        (3,),
    ),
    "tile in two dimensions, transposed store": (
        "x, y, M, N, B: tl.constexpr, C: tl.constexpr",
        """
        r = tl.program_id(0) * B + tl.arange(0, B)
        c = tl.program_id(1) * C + tl.arange(0, C)
        ok = (r[:, None] < M) & (c[None, :] < N)
        v = tl.load(x + r[:, None] * N + c[None, :], mask=ok)
        at = tl.trans(r[:, None] + c[None, :] * M)
        tl.store(y + at, tl.trans(v), mask=tl.trans(ok))
        """,
        {"x": None, "y": None, "M": 5, "N": 7, "B": 4, "C": 8},
        (2, 1),
    ),
    "square tile": (
        "x, n, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        keep = (i[:, None] >= i[None, :]) & (i[None, :] < n)
        tl.store(x + i[:, None] * 100 + i[None, :], 0, mask=keep)
        """,
        {"x": None, "n": 3, "B": 4},
        (1,),
    ),
    "matrix product with pointer increments": (
        "a, b, M, N, K, s, B: tl.constexpr, G: tl.constexpr",
        """
        pid = tl.program_id(0)
        wide = tl.cdiv(N, B)
        group = pid // (G * wide)
        first = group * G
        size = min(tl.cdiv(M, B) - first, G)
        pm = first + pid % (G * wide) % size
        pn = (pid % (G * wide)) // size
        rm = (pm * B + tl.arange(0, B)) % M
        rn = pn * B + tl.arange(0, B)
        k = tl.arange(0, 2)
        pa = a + rm[:, None] * K + k[None, :] * s
        pb = b + k[:, None] * N + rn[None, :]
        for step in range(0, tl.cdiv(K, 2)):
            left = K - step * 2
            x = tl.load(pa, mask=k[None, :] < left)
            y = tl.load(pb, mask=(k[:, None] < left) & (rn[None, :] < N))
            pa += 2 * s
            pb = pb + 2 * N
        """,
        {"a": None, "b": None, "M": 5, "N": 6, "K": 3, "s": 1, "B": 4, "G": 2},
        (4,),
    ),
    "reshapes, joins, splits": (
        "x, y, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        t = i[:, None] * 10 + tl.arange(0, 2 * B)[None, :]
        flat = tl.ravel(t)
        back = tl.reshape(t, (2 * B, B))
        pairs = tl.join(i, i * 3)
        even, odd = tl.split(tl.reshape(t, (B, B, 2)))
        a = tl.load(x + flat)
        b = tl.load(x + back)
        c = tl.load(x + pairs)
        d = tl.load(x + even * 1000 + odd)
        e = tl.load(x + tl.interleave(i, i + 50))
        f = tl.load(x + tl.flip(i, 0) * i)
        g = tl.load(x + tl.permute(t[:, :, None] + i * 1000, 2, 0, 1))
        """,
        {"x": None, "y": None, "B": 4},
        (1,),
    ),
    "block pointers": (
        "x, y, M, N, B: tl.constexpr",
        """
        p = tl.make_block_ptr(x + 3, (M, N), (N, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
        q = tl.make_block_ptr(y, (N, M), (1, N), (0, tl.program_id(0) * B), (B, B), (0, 1))
        for k in range(tl.cdiv(N, B)):
            v = tl.load(p, boundary_check=(0, 1))
            tl.store(q, v, boundary_check=(1,))
            p = tl.advance(p, (0, B))
            q = tl.advance(q, (B, 0))
        """,
        {"x": None, "y": None, "M": 6, "N": 5, "B": 4},
        (2,),
    ),
    "gather": (
        "ids, w, out, n, D, B: tl.constexpr",
        """
        i = tl.program_id(0) * B + tl.arange(0, B)
        d = tl.arange(0, 4)
        row = tl.load(ids + i, mask=i < n, other=0)
        ok = (i < n)[:, None] & (d < D)[None, :] & (row > 1)[:, None]
        v = tl.load(w + row[:, None] * D + d[None, :], mask=ok)
        tl.store(out + i[:, None] * D + d, v, mask=ok)
        """,
        {"ids": None, "w": None, "out": None, "n": 6, "D": 3, "B": 4},
        (2,),
    ),
    "early exits": (
        "x, n, m",
        """
        i = tl.program_id(0)
        if i >= n:
            return
        if i > m:
            tl.store(x + i * 2, 0)
            if i > m + 1:
                return
        else:
            i = i + 100
        tl.store(x + i, 0)
        """,
        {"x": None, "n": 6, "m": 2},
        (8,),
    ),
    "break and continue": (
        "x, n, m",
        """
        at = 0
        for i in range(2, n, 3):
            if i == m:
                continue
            tl.store(x + i, 0)
        for j in range(n - 1, -1, -2):
            tl.store(x + 100 + j, 0)
            at += 5
        tl.store(x + at + 1000, 0)
        """,
        {"x": None, "n": 12, "m": 5},
        (1,),
    ),
    "grid-stride while loop": (
        "x, n",
        """
        i = tl.program_id(0)
        while i < n:
            tl.store(x + i, 0)
            i += tl.num_programs(0)
        """,
        {"x": None, "n": 11},
        (4,),
    ),
    "nested loops with carried pointers": (
        "x, M, K, s",
        """
        p = x + 7
        for m in range(M):
            q = p
            for k in range(0, K, 2):
                v = tl.load(q + k)
                q += s
                p += 1
            p += 10
        """,
        {"x": None, "M": 3, "K": 5, "s": 100},
        (1,),
    ),
    "flags inside a loop": (
        "x, starts, T, n, V: tl.constexpr",
        """
        for i in range(n):
            if V:
                first = tl.load(starts + i)
                T = tl.load(starts + i + 1) + first
            else:
                first = i * T
            tl.store(x + first * 10 + T, 0)
        """,
        {"x": None, "starts": None, "T": 3, "n": 4, "V": 0},
        (1,),
    ),
    "the same flags, on": (
        "x, starts, T, n, V: tl.constexpr",
        """
        for i in range(n):
            if V:
                first = tl.load(starts + i)
                T = tl.load(starts + i + 1) + first
            else:
                first = i * T
            tl.store(x + first * 10 + T, 0)
        """,
        {"x": None, "starts": None, "T": 3, "n": 4, "V": 1},
        (1,),
    ),
    "chosen pointers and offsets": (
        "x, y, n, F: tl.constexpr",
        """
        i = tl.program_id(0)
        p = x if F else y
        q = x
        if i > n:
            q = y + 3
        r = x + 1
        if i == n:
            r = r + 40
        tl.store(p + i, 0)
        tl.store(q + i, 0)
        tl.store(r + tl.where(i < 2, i, 9), 0)
        """,
        {"x": None, "y": None, "n": 2, "F": 0},
        (4,),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_touched_elements_are_the_predicted_ones(name: str) -> None:
    parameters, statements, arguments, grid = KERNELS[name]
    text = f"@triton.jit\ndef kernel({parameters}):\n" + textwrap.indent(textwrap.dedent(statements), "    ")
    kernel = lift(text)
    assert all(access.index_is_known for access in kernel.accesses)
    assert predicted(kernel, arguments, grid) == run(text, arguments, grid)


def _integers() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["i", "j", "k", "n", "m", "at", "1", "3", "tl.program_id(0)"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        quotients = st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["2", "5", "B"])).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        )
        choices = st.tuples(_conditions(inner), inner, inner).map(lambda t: f"tl.where({t[0]}, {t[1]}, {t[2]})")
        extremes = st.tuples(st.sampled_from(["minimum", "maximum"]), inner, inner).map(
            lambda t: f"tl.{t[0]}({t[1]}, {t[2]})"
        )
        moved = inner.map(lambda e: f"tl.trans({e} + i * 0 + j * 0)")
        reshaped = inner.map(lambda e: f"tl.reshape(tl.ravel({e} + i * 0 + j * 0), (B, B))")
        return st.one_of(pairs, quotients, choices, extremes, moved, reshaped)

    return st.recursive(leaves, extend, max_leaves=6)


def _conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    compared = st.tuples(inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    )
    return st.one_of(
        compared, st.tuples(compared, st.sampled_from(["&", "|"]), compared).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    )


@settings(max_examples=60, deadline=None)
@given(
    index=_integers(), mask=_conditions(_integers()), step=st.sampled_from(["2", "n", "k", "m + 1"]),
    test=st.sampled_from(["k == m", "n > m", "k * 2 < n", "F"]), leave=st.sampled_from(["continue", "at += 1", "pass"]),
)  # fmt: skip
def test_random_index_arithmetic_is_predicted(index: str, mask: str, step: str, test: str, leave: str) -> None:
    text = f"""
@triton.jit
def kernel(x, y, n, m, B: tl.constexpr, F: tl.constexpr):
    i = tl.arange(0, B)[:, None]
    j = tl.arange(0, B)[None, :]
    at = m
    for k in range(1, n, 2):
        if {test}:
            {leave}
        tl.store(x + (({index}) + i * 0 + j * 0), 0, mask={mask})
        at += {step}
    tl.store(y + n, 0)
"""
    arguments = {"x": None, "y": None, "n": 5, "m": 3, "B": 2, "F": 1}
    kernel = lift(text)
    assume(all(access.index_is_known and not _has_unknown(access.guard) for access in kernel.accesses))
    assert predicted(kernel, arguments, (2,)) == run(text, arguments, (2,))


def _has_unknown(condition: Condition) -> bool:
    return any(atom.kind is AtomKind.OPAQUE for atom in condition.deep_atoms)
