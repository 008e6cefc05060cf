"""Element types, shapes, reductions, matrix products, selects."""

from __future__ import annotations

import pytest
from triton_lifting import body, index, stored

from kernlint.ir.value import Value, ancestors


def dtype(value: Value) -> str:
    return f"{value.dtype}{'?' if value.polymorphic else ''}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tl.program_id(0)", "int32"),
        ("tl.program_id(0).to(tl.int64)", "int64"),
        ("tl.program_id(0) * n", "int32"),
        ("tl.program_id(0).to(tl.int64) * n", "int64"),
        ("tl.program_id(0) * wide", "int64"),
        ("tl.arange(0, 16) + 1", "int32"),
        ("tl.cdiv(n, 2)", "int32"),
        ("f32 + f16", "float32"),
        ("f16 + bf16", "float16"),
        ("f16 / 2", "float32"),
        ("f16 + f16", "float16"),
        ("f16 * 2", "float16"),
        ("f16 * 2.5", "float16"),
        ("f16 / f16", "float32"),
        ("bf16 / bf16", "float32"),
        ("bf16 * bf16", "bfloat16"),
        ("tl.program_id(0) / 2", "float32"),
        ("tl.program_id(0) + 1.5", "float32"),
        ("i8 + tl.program_id(0)", "int32"),
        ("f16 < 1.0", "bool"),
        ("tl.load(x)", "None?"),
        ("tl.load(x) * 2.0", "None?"),
        ("tl.load(x).to(tl.float32) * tl.load(y)", "float32"),
        ("tl.load(x).to(y.dtype.element_ty)", "None?"),
        ("tl.where(n > 0, f32, 0.0)", "float32"),
        ("tl.sum(f16, axis=0)", "float16"),
        ("tl.sum(i8, axis=0)", "int32"),
        ("tl.argmax(f16, axis=0)", "int32"),
        ("tl.exp(f32)", "float32"),
        ("tl.zeros_like(f16)", "float16"),
        ("tl.float16(n)", "float16"),
        ("tl.full((16,), 1, dtype=tl.int64)", "int64"),
    ],
)
def test_element_types(expression: str, expected: str) -> None:
    kernel = body(
        "x, y, out, n, wide: tl.int64",
        f"""
        f32 = tl.zeros((16,), dtype=tl.float32)
        f16 = tl.zeros((16,), dtype=tl.float16)
        bf16 = tl.zeros((16,), dtype=tl.bfloat16)
        i8 = tl.zeros((16,), dtype=tl.int8)
        tl.store(out, {expression})
        tl.store(x + n, 0)
        """,
    )
    value = kernel.accesses[-2].value
    assert value is not None
    assert dtype(value) == expected


def test_compile_time_products_are_python_integers() -> None:
    kernel = body("p, H: tl.constexpr, K: tl.constexpr", "v = tl.load(p + tl.program_id(0) * (H * K))")
    product = next(v for v in kernel.values if v.op == "mul" and repr(v.expr) == "H*K")
    assert product.attrs["constexpr"]
    assert product.dtype is None


def test_scalars_that_are_never_an_index_have_no_assumed_type() -> None:
    kernel = body("p, n, eps, scale", "tl.store(p + n, tl.load(p).to(tl.float32) * scale + eps)")
    assert {param.name: repr(param.dtype) for param in kernel.params} == {
        "p": "None", "n": "int32", "eps": "None", "scale": "None",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "dim", "shape"),
    [
        ("tl.sum(x, axis=0)", -2, ["N"]),
        ("tl.sum(x, axis=1)", -1, ["M"]),
        ("tl.sum(x, -1)", -1, ["M"]),
        ("tl.sum(x)", None, []),
        ("x.sum(axis=1)", -1, ["M"]),
        ("tl.sum(x, axis=1, keep_dims=True)", -1, ["M", "1"]),
        ("tl.sum(x, 1)[:, None]", -1, ["M", "1"]),
    ],
)
def test_reductions_count_dimensions_from_the_right(expression: str, dim: int | None, shape: list[str]) -> None:
    kernel = body(
        "out, M: tl.constexpr, N: tl.constexpr", f"x = tl.zeros((M, N), tl.float32)\ntl.store(out, {expression})"
    )
    value = stored(kernel)
    reduce = next(v for v in ancestors(value) if v.op == "reduce")
    assert reduce.attrs["op"] == "sum"
    assert reduce.attrs["dim"] == dim
    assert [repr(extent) for extent in value.shape] == shape


def test_the_position_of_a_maximum_comes_with_it() -> None:
    kernel = body(
        "out, N: tl.constexpr",
        """
        x = tl.zeros((N,), tl.float32)
        top, where = tl.max(x, 0, return_indices=True)
        tl.store(out + where, top)
        """,
    )
    store = kernel.accesses[0]
    assert store.index_is_known
    assert store.value is not None
    assert (store.value.op, store.value.attrs["op"]) == ("reduce", "max")


def test_a_reduction_by_a_helper_knows_the_operation() -> None:
    kernel = body(
        "out, N: tl.constexpr",
        """
        x = tl.zeros((N,), tl.float32)
        tl.store(out, tl.reduce(x, 0, tl.standard._elementwise_max))
        """,
    )
    assert stored(kernel).attrs["op"] == "max"


def test_scans_keep_their_shape_and_direction() -> None:
    kernel = body(
        "out, N: tl.constexpr", "x = tl.zeros((N,), tl.float32)\ntl.store(out, tl.cumsum(x, 0, reverse=True))"
    )
    value = stored(kernel)
    assert (value.op, value.attrs["op"], value.attrs["dim"], value.attrs["reverse"]) == ("scan", "sum", -1, True)
    assert [repr(e) for e in value.shape] == ["N"]


@pytest.mark.parametrize(
    ("call", "precision", "acc", "dtype_"),
    [
        ("tl.dot(a, b)", None, False, "float32"),
        ("tl.dot(a, b, acc)", None, True, "float32"),
        ('tl.dot(a, b, input_precision="ieee")', "ieee", False, "float32"),
        ("tl.dot(a, b, allow_tf32=False)", "ieee", False, "float32"),
        ("tl.dot(a, b, out_dtype=tl.float16)", None, False, "float16"),
        ("a @ b", None, False, "float32"),
    ],
)
def test_matrix_products(call: str, precision: str | None, acc: bool, dtype_: str) -> None:
    kernel = body(
        "out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr",
        f"""
        a = tl.zeros((M, K), tl.float16)
        b = tl.zeros((K, N), tl.float16)
        acc = tl.zeros((M, N), tl.float32)
        tl.store(out, {call})
        """,
    )
    value = stored(kernel)
    assert value.op == "dot"
    assert value.attrs["input_precision"] == precision
    assert value.attrs["acc"] is acc
    assert len(value.args) == (3 if acc else 2)
    assert [repr(e) for e in value.shape] == ["M", "N"]
    assert repr(value.dtype) == dtype_


def test_a_select_keeps_its_condition_and_arms() -> None:
    kernel = body(
        "p, n, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        x = tl.load(p + i, mask=i < n)
        tl.store(p + i, tl.where(i < n, x, float("-inf")))
        """,
    )
    value = stored(kernel)
    condition, kept, fill = value.args
    assert repr(condition.cond) == "arange(B) < n"
    assert kept.op == "load"
    assert fill.attrs["value"] == float("-inf")


def test_masks_combine_as_conditions() -> None:
    kernel = body(
        "p, n, m, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        inside = (i < n) & ~(i >= m) | (i == 0)
        v = tl.load(p + i, mask=inside)
        """,
    )
    assert repr(kernel.accesses[0].mask) == "(arange(B) < m and arange(B) < n) or arange(B) == 0"


def test_a_data_dependent_mask_is_a_flag_of_its_own() -> None:
    kernel = body(
        "p, q, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        x = tl.load(p + i).to(tl.float32)
        tl.store(q + i, x, mask=x > 0.5)
        y = tl.load(p + i + B).to(tl.float32)
        tl.store(q + i, y, mask=y > 0.5)
        """,
    )
    first, second = (access.mask for access in kernel.accesses if access.writes)
    assert first is not None
    assert second is not None
    assert first.flags
    assert first != second


def test_opaque_values_are_counted_with_their_reason() -> None:
    kernel = body("p, q", "x = tl.load(p)\ntl.store(q, x.frobnicate(3))")
    assert kernel.opaque_reasons == {"method .frobnicate": 1}
    assert stored(kernel).op == "opaque"


def test_library_functions_and_assembly_are_pure_calls() -> None:
    kernel = body(
        "p",
        """
        from triton.language.extra import libdevice
        x = tl.load(p).to(tl.float32)
        y = libdevice.lgamma(x)
        z = tl.inline_asm_elementwise("rcp.approx.f32 $0, $1;", "=f,f", [y], dtype=tl.float32, is_pure=True, pack=1)
        tl.store(p, z)
        """,
    )
    value = stored(kernel)
    assert (value.op, value.attrs["name"], repr(value.dtype)) == ("call", "inline_asm", "float32")
    assert value.args[0].attrs["name"] == "lgamma"
    assert kernel.opaque_reasons == {}


def test_hints_and_assertions_are_recorded() -> None:
    kernel = body(
        "p, n, B: tl.constexpr",
        """
        tl.static_assert(B >= 16)
        tl.assume(n > 0)
        i = tl.multiple_of(tl.program_id(0) * B, 8)
        v = tl.load(p + i)
        """,
    )
    assert [repr(fact) for fact in kernel.facts] == ["16 <= B", "0 < n"]
    (hint,) = kernel.attrs["hints"]
    assert (hint["kind"], repr(hint["value"].expr), repr(hint["amounts"])) == ("multiple_of", "program_id(0)*B", "(8,)")
    assert index(kernel.accesses[0]) == "program_id(0)*B"
