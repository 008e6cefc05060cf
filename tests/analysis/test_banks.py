"""Conflict counts against a brute-force simulation of the banks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernlint.analysis.banks import lanes_per_group, warp_conflict
from kernlint.analysis.lanes_access import Touch


def simulate(addresses: list[int], size: int, active: list[bool]) -> tuple[int, int]:
    """(worst ways, passes): serve each group pass by pass, one word per bank and pass."""
    group, worst, total = lanes_per_group(size), 0, 0
    for start in range(0, 32, group):
        pending: dict[int, set[int]] = {}
        for lane in range(start, start + group):
            if not active[lane]:
                continue
            for byte in range(addresses[lane], addresses[lane] + size, min(size, 4)):
                pending.setdefault(byte // 4 % 32, set()).add(byte // 4)
        passes = 0
        while any(pending.values()):
            for words in pending.values():
                if words:
                    words.pop()
            passes += 1
        worst, total = max(worst, passes), total + passes
    return worst, total


def touched(addresses: list[int], size: int, active: list[bool] | None = None) -> Touch:
    mask = np.array(active if active is not None else [True] * 32)
    return Touch(np.array(addresses, dtype=np.int64), size, mask, mask, False)


@given(
    st.sampled_from([1, 2, 4, 8, 16]).flatmap(
        lambda size: st.tuples(
            st.just(size),
            st.lists(st.integers(0, 600).map(lambda i: i * size), min_size=32, max_size=32),
            st.lists(st.booleans(), min_size=32, max_size=32),
        )
    )
)
def test_counts_agree_with_serving_the_banks_pass_by_pass(request: tuple[int, list[int], list[bool]]) -> None:
    size, addresses, active = request
    found = warp_conflict(touched(addresses, size, active), 0)
    assert (found.ways, found.passes) == simulate(addresses, size, active)


def strided(stride: int, size: int) -> tuple[int, int]:
    found = warp_conflict(touched([lane * stride * size for lane in range(32)], size), 0)
    return found.ways, found.extra


def test_column_of_an_unpadded_float_tile_is_32_way() -> None:
    assert strided(32, 4) == (32, 31)


def test_one_padding_column_removes_the_conflict() -> None:
    assert strided(33, 4) == (1, 0)


def test_wide_accesses_in_order_are_free() -> None:
    assert strided(1, 16) == (1, 0)
    assert strided(1, 8) == (1, 0)


def test_halves_two_to_a_word_are_free_and_even_strides_are_not() -> None:
    assert strided(1, 2) == (1, 0)
    assert strided(64, 2) == (32, 31)


def test_broadcast_is_one_pass() -> None:
    assert warp_conflict(touched([64] * 32, 4), 0).passes == 1
