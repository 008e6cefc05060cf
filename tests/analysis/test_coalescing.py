"""Sectors per request against a brute-force count of the bytes lanes touch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernlint.analysis.coalescing import warp_request
from kernlint.analysis.lanes_access import Touch


def touched(addresses: list[int], size: int, active: list[bool] | None = None) -> Touch:
    mask = np.array(active if active is not None else [True] * 32)
    return Touch(np.array(addresses, dtype=np.int64), size, mask, mask, False)


@given(
    st.sampled_from([1, 2, 4, 8, 16, 64]),
    st.lists(st.integers(0, 5000), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
)
def test_every_touched_byte_is_in_exactly_the_counted_sectors(size: int, starts: list[int], active: list[bool]) -> None:
    found = warp_request(touched(starts, size, active), 0)
    sectors = {
        byte // 32 for start, on in zip(starts, active, strict=True) if on for byte in range(start, start + size)
    }
    assert (found.sectors if found is not None else 0) == len(sectors)


def strided(stride: int, size: int = 4) -> tuple[int, int]:
    found = warp_request(touched([lane * stride for lane in range(32)], size), 0)
    assert found is not None
    return found.sectors, found.minimum


def test_neighbouring_floats_take_four_sectors() -> None:
    assert strided(4) == (4, 4)


def test_a_structure_of_twelve_floats_per_lane_takes_32() -> None:
    assert strided(48) == (32, 4)


def test_pairs_of_floats_take_twice_the_minimum() -> None:
    assert strided(8) == (8, 4)


def test_vectors_of_sixteen_bytes_in_order_are_minimal() -> None:
    assert strided(16, 16) == (16, 16)


def test_one_word_for_all_lanes_is_one_sector() -> None:
    assert strided(0) == (1, 1)


def test_a_warp_without_active_lanes_makes_no_request() -> None:
    assert warp_request(touched([0] * 32, 4, [False] * 32), 0) is None


def test_the_distance_between_lanes_is_reported_when_it_is_one_number() -> None:
    even = warp_request(touched([lane * 48 for lane in range(32)], 4), 0)
    uneven = warp_request(touched([lane * lane * 4 for lane in range(32)], 4), 0)
    assert even is not None
    assert even.stride == 48
    assert uneven is not None
    assert uneven.stride is None
