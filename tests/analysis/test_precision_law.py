"""The error law the messages quote, against measured sums."""

from __future__ import annotations

import numpy as np
import pytest

from kernlint.analysis.precision import relative_error, stagnation
from kernlint.ir.types import BFLOAT16, FLOAT16


@pytest.mark.parametrize("terms", [64, 256, 1024])
def test_sequential_half_sums_err_as_predicted(terms: int) -> None:
    rng = np.random.default_rng(7)
    a = rng.standard_normal((512, terms)).astype(np.float16)
    b = rng.standard_normal((512, terms)).astype(np.float16)
    products = (a * b).astype(np.float16)
    total = np.zeros(512, dtype=np.float16)
    for k in range(terms):
        total = (total + products[:, k]).astype(np.float16)
    exact = np.sum(a.astype(np.float64) * b.astype(np.float64), axis=1)
    measured = float(np.sqrt(np.mean((total - exact) ** 2)) / np.sqrt(np.mean(exact**2)))
    predicted = relative_error(FLOAT16, terms, sequential=True)
    assert predicted / 2 < measured < predicted * 2


def test_a_running_half_sum_of_ones_stops_where_predicted() -> None:
    total = np.float16(0)
    for _ in range(3000):
        total = np.float16(total + np.float16(1))
    assert int(total) == stagnation(FLOAT16)


def test_trees_round_less_and_bfloat16_more() -> None:
    assert relative_error(FLOAT16, 4096, sequential=False) < relative_error(FLOAT16, 4096, sequential=True) / 10
    assert relative_error(BFLOAT16, 64, sequential=True) == pytest.approx(
        8 * relative_error(FLOAT16, 64, sequential=True)
    )
