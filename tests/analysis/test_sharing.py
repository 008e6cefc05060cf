"""Races on shared memory, on kernels built by hand and against brute force over pairs of threads."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.analysis.barriers import orders_warp, unordered_pairs
from kernlint.analysis.lanes import Evaluator, spread_lanes
from kernlint.analysis.lanes_scenario import scenarios
from kernlint.analysis.sharing import shared_races
from kernlint.ir import arith
from kernlint.ir.condition import TRUE, Condition, conj, equal, less, negate
from kernlint.ir.expr import Axis, AxisKind, Expr, axis_expr, const, param
from kernlint.ir.kernel import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    Branch,
    Exit,
    Frame,
    Framework,
    Kernel,
    Loop,
    Region,
)
from kernlint.ir.types import FLOAT32, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value

HERE = Span("k.cu", 0, 1)
TID = axis_expr(Axis(AxisKind.LANE, "t0", "threadIdx.x", None, 0, True))
TILE = Buffer("tile", Space.SHARED, FLOAT32, HERE, extents=(const(1024),))
Item = Access | Barrier | Loop | Branch | Exit


class Building:
    """Builds a kernel's region tree; `threads` becomes its launch bounds."""

    def __init__(self, threads: int = 64) -> None:
        self.threads, self.count = threads, 0

    def access(self, kind: AccessKind, index: Expr, path: tuple[Frame, ...] = ()) -> Access:
        self.count += 1
        guard = conj(frame.condition for frame in path)
        pointer = Pointer(TILE, index, FLOAT32)
        value = Value("load", attrs={})
        return Access(kind, pointer, HERE, self.count, path, guard, value=value, dtype=FLOAT32)

    def store(self, index: Expr, path: tuple[Frame, ...] = ()) -> Access:
        return self.access(AccessKind.STORE, index, path)

    def load(self, index: Expr, path: tuple[Frame, ...] = ()) -> Access:
        return self.access(AccessKind.LOAD, index, path)

    def barrier(self, kind: BarrierKind = BarrierKind.BLOCK, name: str = "") -> Barrier:
        self.count += 1
        return Barrier(kind, HERE, self.count, name=name)

    def kernel(self, *items: Item) -> Kernel:
        bounds = (const(self.threads), None)
        return Kernel("k", Framework.CUDA, HERE, HERE, (), Region(list(items)), launch_bounds=bounds)


def loop(key: str, trips: Expr) -> tuple[Loop, Frame, Expr]:
    axis = Axis(AxisKind.LOOP, key, key, trips)
    made = Loop(axis, HERE, const(0), trips, const(1), trip_count=trips)
    return made, Frame(less(axis_expr(axis), trips), loop=made), axis_expr(axis)


def frame_of(branch: Branch, arm: bool = True) -> Frame:
    return Frame(branch.condition if arm else negate(branch.condition), branch=branch, arm=arm)


def races(kernel: Kernel) -> list[tuple[int, int]]:
    return [(race.write.ordinal, race.other.ordinal) for race in shared_races(kernel)]


def test_reading_a_neighbour_right_after_the_write_is_a_race() -> None:
    b = Building()
    assert races(b.kernel(b.store(TID), b.load(TID + 1))) == [(1, 2)]


def test_a_block_barrier_between_removes_it() -> None:
    b = Building()
    assert races(b.kernel(b.store(TID), b.barrier(), b.load(TID + 1))) == []


def test_a_thread_may_read_its_own_element() -> None:
    b = Building()
    assert races(b.kernel(b.store(TID), b.load(TID))) == []


def test_the_next_iterations_write_races_with_this_ones_read() -> None:
    b = Building()
    outer, frame, _ = loop("k0", param("n"))
    outer.body.items = [b.store(TID, (frame,)), b.barrier(), b.load(const(0), (frame,))]
    assert races(b.kernel(outer)) == [(1, 3)]
    (race,) = shared_races(b.kernel(outer))
    assert race.pair.carried is outer
    assert race.certain


def test_a_second_barrier_at_the_end_of_the_body_removes_it() -> None:
    b = Building()
    outer, frame, _ = loop("k0", param("n"))
    outer.body.items = [b.store(TID, (frame,)), b.barrier(), b.load(const(0), (frame,)), b.barrier()]
    assert races(b.kernel(outer)) == []


def test_double_buffering_needs_one_barrier_only() -> None:
    b = Building()
    outer, frame, k = loop("k0", param("n"))
    half = arith.mod(k, const(2)) * 64
    outer.body.items = [b.store(half + TID, (frame,)), b.barrier(), b.load(half + 63 - TID, (frame,))]
    assert races(b.kernel(outer)) == []


def test_a_loop_without_barriers_lets_threads_run_apart() -> None:
    b = Building()
    inner, frame, k = loop("k0", const(4))
    inner.body.items = [b.store(TID + k * 32, (frame,))]
    assert races(b.kernel(inner)) == [(1, 1)]


def test_one_thread_alone_cannot_race() -> None:
    b = Building()
    only = Branch(equal(TID, const(0)), HERE)
    path = (frame_of(only),)
    only.then.items = [b.store(const(5), path), b.load(const(5), path)]
    assert races(b.kernel(only)) == []


def test_a_barrier_on_one_of_two_ways_does_not_help_the_other() -> None:
    b = Building()
    choice = Branch(less(param("n"), const(10)), HERE)
    choice.then.items = [b.barrier()]
    assert races(b.kernel(b.store(TID), choice, b.load(TID + 1))) == [(2, 3)]


def test_a_barrier_on_every_way_does() -> None:
    b = Building()
    choice = Branch(less(param("n"), const(10)), HERE)
    choice.then.items = [b.barrier()]
    choice.otherwise.items = [b.barrier()]
    assert races(b.kernel(b.store(TID), choice, b.load(TID + 1))) == []


def test_opposite_arms_taken_by_different_threads_run_at_once() -> None:
    b = Building()
    split = Branch(less(TID, const(32)), HERE)
    split.then.items = [b.store(TID, (frame_of(split),))]
    split.otherwise.items = [b.load(TID - 32, (frame_of(split, False),))]
    assert races(b.kernel(split)) == [(1, 2)]


def test_opposite_arms_of_a_uniform_branch_never_meet() -> None:
    b = Building()
    split = Branch(less(param("n"), const(32)), HERE)
    split.then.items = [b.store(TID, (frame_of(split),))]
    split.otherwise.items = [b.load(TID + 1, (frame_of(split, False),))]
    assert races(b.kernel(split)) == []


def test_a_warp_barrier_is_enough_within_a_warp_and_not_across() -> None:
    b = Building()
    within = b.kernel(b.store(TID), b.barrier(BarrierKind.WARP), b.load(arith.xor(TID, const(1))))
    assert races(within) == []
    b = Building()
    across = b.kernel(b.store(TID), b.barrier(BarrierKind.WARP), b.load(63 - TID))
    assert races(across) == [(1, 3)]


def test_lanes_of_one_warp_without_any_synchronisation_are_said_as_such() -> None:
    b = Building()
    (race,) = shared_races(b.kernel(b.store(TID), b.load(arith.xor(TID, const(1)))))
    assert race.within_warp


def test_waiting_for_ones_own_copies_orders_nobody_else() -> None:
    b = Building()
    copied = b.kernel(b.store(TID), b.barrier(BarrierKind.WAIT, "cp_async_wait_group"), b.load(63 - TID))
    assert races(copied) == [(1, 3)]
    b = Building()
    waited = b.kernel(b.store(TID), b.barrier(BarrierKind.WAIT, "mbarrier_try_wait"), b.load(63 - TID))
    assert races(waited) == []


def test_two_atomics_do_not_race_and_an_atomic_with_a_plain_read_does() -> None:
    b = Building()
    assert races(b.kernel(b.access(AccessKind.ATOMIC, const(0)), b.access(AccessKind.ATOMIC, const(0)))) == []
    b = Building()
    assert (1, 2) in races(b.kernel(b.access(AccessKind.ATOMIC, const(0)), b.load(const(0))))


def test_code_after_a_return_does_not_follow() -> None:
    b = Building()
    leave = Branch(less(param("n"), const(10)), HERE)
    path = (frame_of(leave),)
    leave.then.items = [b.store(TID, path), Exit("return", HERE, path, TRUE, 9)]
    assert races(b.kernel(leave, b.load(TID + 1))) == []


def test_warp_order_finds_fewer_pairs_than_block_order() -> None:
    b = Building()
    kernel = b.kernel(b.store(TID), b.barrier(BarrierKind.WARP), b.load(TID + 1))
    assert len(unordered_pairs(kernel)) == 2  # the store with itself, and with the load
    assert len(unordered_pairs(kernel, orders_warp)) == 1


INDEX = st.builds(
    lambda a, b, m: arith.mod(TID * a + b, const(m)), st.integers(0, 5), st.integers(0, 70), st.integers(1, 200)
)
GUARDS = st.sampled_from([TRUE, less(TID, const(40)), equal(TID, const(3)), less(const(50), TID)])


@settings(max_examples=120, deadline=None)
@given(INDEX, INDEX, GUARDS, GUARDS)
def test_a_race_is_found_exactly_when_two_threads_share_an_element(
    f: Expr, g: Expr, p: Condition, q: Condition
) -> None:
    b = Building(64)
    write, read = Branch(p, HERE), Branch(q, HERE)
    write.then.items = [b.store(f, (frame_of(write),))]
    read.then.items = [b.load(g, (frame_of(read),))]
    kernel = b.kernel(write, read)
    at = Evaluator(scenarios(kernel)[0].environment)

    def touches(index: Expr, guard: Condition) -> list[tuple[int, int]]:
        value = at.integer(index)
        assert value is not None
        return [
            (t, int(element))
            for t, element in enumerate(spread_lanes(value, 64))
            if bool(at.extended({"a:t0": t}).truth(guard)[0])
        ]

    expected = any(t != u and e == d for t, e in touches(f, p) for u, d in touches(g, q))
    assert ((1, 2) in races(kernel)) == expected
