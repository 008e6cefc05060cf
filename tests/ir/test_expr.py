"""The expression algebra: one normal form for one polynomial, and faithful non-polynomial operations."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.ir import arith
from kernlint.ir.condition import FALSE, TRUE, compare, conj, disj, flag, negate
from kernlint.ir.expr import Atom, AtomKind, Expr, const, param, substitute

NAMES = ("a", "b", "c")


def expressions() -> st.SearchStrategy[Expr]:
    leaf = st.one_of(st.integers(-9, 9).map(const), st.sampled_from(NAMES).map(param))

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        positive = st.integers(1, 9).map(const)
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, positive).map(lambda p: arith.floordiv(*p)),
            st.tuples(inner, positive).map(lambda p: arith.mod(*p)),
            st.tuples(inner, inner).map(lambda p: arith.minimum(*p)),
            st.tuples(inner, inner).map(lambda p: arith.maximum(*p)),
        )

    return st.recursive(leaf, extend, max_leaves=8)


def value(expr: Expr, env: dict[str, int]) -> int:
    """Evaluate by substituting constants: every operation must fold."""
    mapping = {Atom(AtomKind.PARAM, f"p:{name}", name): const(number) for name, number in env.items()}
    result = substitute(expr, mapping).constant
    assert result is not None
    return result


environments = st.fixed_dictionaries({name: st.integers(-20, 20) for name in NAMES})


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions(), environments)
def test_the_algebra_agrees_with_integers(a: Expr, b: Expr, env: dict[str, int]) -> None:
    x, y = value(a, env), value(b, env)
    assert value(a + b, env) == x + y
    assert value(a - b, env) == x - y
    assert value(a * b, env) == x * y
    assert value(arith.minimum(a, b), env) == min(x, y)
    assert value(arith.maximum(a, b), env) == max(x, y)
    assert value(arith.floordiv(a, const(4)), env) == x // 4
    assert value(arith.mod(a, const(4)), env) == x % 4
    if y > 0:
        assert value(arith.floordiv(a, b), env) == x // y
        assert value(arith.mod(a, b), env) == x % y
        assert value(arith.cdiv(a, b), env) == -(-x // y)


@settings(max_examples=200, deadline=None)
@given(expressions(), expressions(), environments, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_conditions_agree_with_integers(a: Expr, b: Expr, env: dict[str, int], op: str) -> None:
    x, y = value(a, env), value(b, env)
    expected = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
    mapping = {Atom(AtomKind.PARAM, f"p:{name}", name): const(number) for name, number in env.items()}
    condition = compare(op, a, b)
    assert condition.substitute(mapping) is (TRUE if expected else FALSE)
    assert negate(condition).substitute(mapping) is (FALSE if expected else TRUE)
    assert negate(negate(condition)) == condition


@given(expressions(), expressions(), expressions())
@settings(max_examples=100, deadline=None)
def test_equal_polynomials_have_equal_keys(a: Expr, b: Expr, c: Expr) -> None:
    assert (a + b) * c == c * a + c * b
    assert a - a == const(0)
    assert (a + b) - b == a


def test_ceiling_division_is_recognised_in_its_spellings() -> None:
    n, b = param("n"), param("B")
    assert arith.as_cdiv(arith.cdiv(n, b)) == (n, b)
    assert arith.as_cdiv(arith.floordiv(n + 255, const(256))) == (n, const(256))
    assert arith.as_cdiv(arith.floordiv(n - 1, b) + 1) == (n, b)
    assert arith.as_cdiv(arith.floordiv(n, b)) is None
    assert arith.as_cdiv(arith.floordiv(n, const(256))) is None
    assert arith.as_cdiv(arith.floordiv(n, const(256)) + 1) is None


def test_expressions_are_bounded() -> None:
    product = const(1)
    for i in range(40):
        product = product * (param(f"x{i}") + 1)
    assert product.is_opaque
    assert len(product.key) < 2000


def test_display_reads_like_source() -> None:
    n, b, pid = param("n"), param("BLOCK"), param("pid")
    assert repr(pid * b + 1) == "BLOCK*pid + 1"
    assert repr(compare("<", pid * b, n)) == "BLOCK*pid < n"
    assert repr(compare("<=", pid * b, n)) == "BLOCK*pid <= n"
    assert repr(conj([flag("EVEN"), disj([flag("a"), flag("b")])])) == "EVEN and (a or b)"
