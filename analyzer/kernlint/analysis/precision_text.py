"""How low-precision sums and what they cost are said."""

from __future__ import annotations

from kernlint.analysis.precision import UNIT_ROUNDOFF, LowPrecisionSum, Sum, relative_error, stagnation

_WHAT = {
    Sum.LOOP: "accumulates in",
    Sum.REDUCE: "is summed in",
    Sum.SCAN: "is summed in",
    Sum.DOT: "accumulates its dot product in",
    Sum.ATOMIC: "collects atomic additions in",
}
_EXAMPLE_TERMS = 1024


def what(found: LowPrecisionSum) -> str:
    """The first sentence, without its full stop."""
    subject = f"`{found.name}`" if found.name else "This value"
    dtype = f"`{found.dtype.name}`" if found.dtype is not None else "its input's own type, 16 bits for half inputs"
    return f"{subject} {_WHAT[found.kind]} {dtype}"


def cost(found: LowPrecisionSum) -> str:
    """The predicted error, and for which number of terms."""
    if found.dtype is None:
        return (
            "The tensors' element type is not fixed: with float16 or bfloat16 inputs the sum is rounded at every step. "
            "Convert to float32 first."
        )
    u = UNIT_ROUNDOFF[found.dtype.name]
    sequential = found.kind in (Sum.LOOP, Sum.ATOMIC, Sum.DOT)
    terms = found.terms
    if found.length is None:
        count = f"{_EXAMPLE_TERMS} terms, for example,"
    elif terms is None:
        count = f"{_EXAMPLE_TERMS} terms, for example (their number is `{found.length}`),"
    else:
        count = f"{terms} terms"
    error = relative_error(found.dtype, terms or _EXAMPLE_TERMS, sequential)
    law = f"0.30*sqrt({'K' if sequential else 'log2 K'})*u, u = {u:.2g}"
    text = f"With {count} the expected relative error is about {error:.1e} ({law})"
    if sequential:
        return f"{text}; a sum of same-sign terms stops growing after about {stagnation(found.dtype)} of them."
    return f"{text}; rounding a float32 sum once would cost {0.42 * u:.1e}."
