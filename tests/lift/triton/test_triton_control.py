"""Branches, exits, loops and carried values."""

from __future__ import annotations

from triton_lifting import body, guard, index, stored

from kernlint.ir.kernel import Branch, Exit, Loop


def test_a_compile_time_flag_names_the_branch() -> None:
    kernel = body(
        "p, n, B: tl.constexpr, EVEN: tl.constexpr",
        """
        i = tl.arange(0, B)
        if EVEN:
            x = tl.load(p + i)
        else:
            x = tl.load(p + i, mask=i < n, other=0.0)
        tl.store(p + i, x)
        """,
    )
    whole, edge, store = kernel.accesses
    assert (guard(whole), guard(edge)) == ("EVEN", "arange(B) < n and not (EVEN)")
    assert guard(store) == "true"
    assert store.value is not None
    assert store.value.op == "join"
    assert [arg.op for arg in store.value.args] == ["load", "load"]
    assert repr(store.value.attrs["condition"]) == "EVEN"


def test_a_decided_branch_is_not_walked() -> None:
    kernel = body("p", "if tl.constexpr(1) == 2:\n    tl.store(p, 1)\nelse:\n    tl.store(p, 2)")
    assert len(kernel.accesses) == 1
    assert not [item for item in kernel.body.walk() if isinstance(item, Branch)]


def test_a_missing_argument_is_a_flag() -> None:
    kernel = body("p, bias", "if bias is not None:\n    tl.store(p, tl.load(bias))")
    assert [guard(access) for access in kernel.accesses] == ["not (bias is None)"] * 2


def test_strings_compare_as_flags() -> None:
    kernel = body("p, ACT: tl.constexpr", 'if ACT == "relu":\n    tl.store(p, 0)')
    assert guard(kernel.accesses[0]) == 'ACT == "relu"'


def test_code_after_an_early_return_stands_under_its_negation() -> None:
    kernel = body("p, n", "i = tl.program_id(0)\nif i >= n:\n    return\ntl.store(p + i, 0)")
    (store,) = kernel.accesses
    assert guard(store) == "program_id(0) < n"
    assert store.path[-1].exit
    (leaves,) = [item for item in kernel.body.walk() if isinstance(item, Exit)]
    assert (leaves.kind, repr(leaves.guard)) == ("return", "n <= program_id(0)")


def test_an_exit_inside_a_branch_guards_what_follows_the_branch() -> None:
    kernel = body(
        "p, n, m",
        """
        i = tl.program_id(0)
        if m > 0:
            if i >= n:
                return
            tl.store(p, 1)
        tl.store(p + i, 0)
        """,
    )
    inner, outer = kernel.accesses
    assert guard(inner) == "program_id(0) < n and 0 < m"
    assert guard(outer) == "(program_id(0) < n and 0 < m) or m <= 0"


def test_a_counted_loop_has_an_axis_and_a_range() -> None:
    kernel = body("p, n, S: tl.constexpr", "for i in range(4, n, S):\n    tl.store(p + i, 0)")
    (loop,) = kernel.loops
    assert [repr(e) for e in (loop.start, loop.stop, loop.step)] == ["4", "n", "S"]
    assert repr(loop.trip_count) == "((n - 5) // S) + 1"
    assert loop.variable == "i"
    (store,) = kernel.accesses
    assert index(store) == "turn(i)*S + 4"
    assert guard(store) == "turn(i)*S + 5 <= n"
    assert store.loops == (loop,)


def test_counting_down() -> None:
    kernel = body("p, n", "for i in range(n - 1, -1, -1):\n    tl.store(p + i, 0)")
    assert index(kernel.accesses[0]) == "-turn(i) + n - 1"
    assert repr(kernel.loops[0].trip_count) == "n"
    assert guard(kernel.accesses[0]) == "turn(i) < n"


def test_a_pointer_increment_and_an_index_are_one_thing() -> None:
    increments = body(
        "x, K, s, B: tl.constexpr",
        """
        p = x + tl.arange(0, B) * s
        for k in range(0, K, B):
            v = tl.load(p)
            p += B * s
        """,
    )
    indices = body(
        "x, K, s, B: tl.constexpr", "for k in range(0, K, B):\n    v = tl.load(x + (k + tl.arange(0, B)) * s)"
    )
    assert index(increments.accesses[0]) == index(indices.accesses[0]) == "turn(k)*B*s + arange(B)*s"


def test_an_increment_that_is_only_known_after_the_body() -> None:
    kernel = body(
        "x, K, s",
        """
        at = 3
        for k in range(K):
            step = s * 2
            v = tl.load(x + at)
            at = at + step
        tl.store(x + at, 0)
        """,
    )
    inside, after = kernel.accesses
    assert index(inside) == "2*turn(k)*s + 3"
    assert index(after) == "2*K*s + 3"


def test_advancing_block_pointers_have_a_closed_form() -> None:
    kernel = body(
        "x, M, K, B: tl.constexpr",
        """
        p = tl.make_block_ptr(x, (M, K), (K, 1), (0, 0), (B, B), (1, 0))
        for k in range(0, tl.cdiv(K, B)):
            v = tl.load(p, boundary_check=(0, 1))
            p = tl.advance(p, (0, B))
        """,
    )
    assert index(kernel.accesses[0]) == "turn(k)*B + arange(B)[:, None]*K + arange(B)"
    assert repr(kernel.accesses[0].block_offsets[1]) == "turn(k)*B + arange(B)"


def test_a_conditional_increment_is_an_unknown() -> None:
    kernel = body(
        "x, n, t",
        """
        at = 0
        for k in range(n):
            v = tl.load(x + at)
            if v > t:
                at += 1
        """,
    )
    assert not kernel.accesses[0].index_is_known
    (carry,) = kernel.loops[0].carries
    assert carry.op == "carry"
    assert [arg.op for arg in carry.args] == ["const", "join"]


def test_a_variable_reassigned_under_a_flag_keeps_its_first_value_elsewhere() -> None:
    kernel = body(
        "x, starts, T, H, n, VARLEN: tl.constexpr",
        """
        for i in range(n):
            if VARLEN:
                first = tl.load(starts + i)
                T = tl.load(starts + i + 1) - first
            else:
                first = i * T
            v = tl.load(x + first * H + T)
        """,
    )
    load = kernel.accesses[-1]
    assert load.index_is_known
    assert "select(VARLEN, load(starts), turn(i)*T)" in index(load)


def test_an_accumulator_is_carried() -> None:
    kernel = body(
        "x, out, K, B: tl.constexpr",
        """
        acc = tl.zeros((B,), dtype=tl.float32)
        for k in range(0, K, B):
            acc += tl.load(x + k + tl.arange(0, B))
        tl.store(out + tl.arange(0, B), acc)
        """,
    )
    (carry,) = kernel.loops[0].carries
    init, following = carry.args
    assert (init.op, following.op) == ("full", "add")
    assert following.args[0] is carry
    assert carry.attrs["loop"] is kernel.loops[0]
    assert stored(kernel) is carry
    assert repr(carry.dtype) == "float32"


def test_an_accumulator_started_from_a_python_number_takes_the_type_of_the_sum() -> None:
    kernel = body(
        "x, out, K",
        "acc = 0.0\nfor k in range(K):\n    acc += tl.load(x + k).to(tl.float32)\ntl.store(out, acc)",
    )
    assert repr(stored(kernel).dtype) == "float32"


def test_a_variable_that_only_the_body_uses_is_not_carried() -> None:
    kernel = body("x, K", "t = 0\nfor k in range(K):\n    t = k * 2\n    v = tl.load(x + t)")
    assert kernel.loops[0].carries == ()


def test_nested_loops() -> None:
    kernel = body(
        "x, M, K, s, B: tl.constexpr",
        """
        for m in range(M):
            p = x + m * s
            for k in range(0, K, B):
                v = tl.load(p)
                p += B
        """,
    )
    assert index(kernel.accesses[0]) == "turn(m)*s + turn(k)*B"
    assert [loop.axis.key for loop in kernel.loops] == ["k0", "k1"]
    assert kernel.accesses[0].loops == tuple(kernel.loops)


def test_a_grid_stride_while_loop_has_a_closed_form() -> None:
    kernel = body(
        "x, n",
        """
        i = tl.program_id(0)
        while i < n:
            tl.store(x + i, 0)
            i += tl.num_programs(0)
        """,
    )
    (store,) = kernel.accesses
    assert index(store) == "k0*num_programs(0) + program_id(0)"
    assert guard(store) == "k0*num_programs(0) + program_id(0) < n"
    (loop,) = kernel.loops
    assert repr(loop.trip_count) == "((-program_id(0) + n - 1) // num_programs(0)) + 1"


def test_break_and_continue() -> None:
    kernel = body(
        "x, n, m",
        """
        for i in range(n):
            if i == m:
                continue
            if i > 10:
                break
            tl.store(x + i, 0)
        """,
    )
    (store,) = kernel.accesses
    assert guard(store) == "turn(i) < n and turn(i) <= 10 and not (turn(i) == m)"
    assert [repr(condition) for condition in kernel.loops[0].breaks] == ["11 <= turn(i) and not (turn(i) == m)"]
    assert [item.kind for item in kernel.body.walk() if isinstance(item, Exit)] == ["continue", "break"]


def test_unrolled_loops_are_marked() -> None:
    kernel = body("x", "for i in tl.static_range(4):\n    tl.store(x + i, 0)")
    assert kernel.loops[0].unrolled
    assert kernel.loops[0].trip_count is not None
    assert kernel.loops[0].trip_count.constant == 4


def test_a_loop_over_a_tuple_is_unrolled() -> None:
    kernel = body("a, b", "for p in (a, b):\n    tl.store(p, 0)")
    assert [str(access.buffer) for access in kernel.accesses] == ["a", "b"]
    assert not [item for item in kernel.body.walk() if isinstance(item, Loop)]


def test_conditional_expressions() -> None:
    kernel = body("p, n, F: tl.constexpr", "i = n if F else 0\nx = tl.load(p + i) if n > 0 else 0.0\ntl.store(p, x)")
    load = kernel.accesses[0]
    assert index(load) == "select(F, n, 0)"
    assert guard(load) == "0 < n"


def test_barriers_split_epochs() -> None:
    kernel = body("p", "tl.store(p, 1)\ntl.debug_barrier()\nv = tl.load(p)")
    assert [access.epoch for access in kernel.accesses] == [0, 1]
    assert len(kernel.barriers) == 1


def test_a_pointer_moved_by_an_inner_loop_has_a_closed_form_in_the_outer_one() -> None:
    kernel = body(
        "x, M, K, s",
        """
        for m in range(M):
            for k in range(K):
                v = tl.load(x)
                x += s
        """,
    )
    assert str(kernel.accesses[0].buffer) == "x"
    assert index(kernel.accesses[0]) == "turn(m)*K*s + turn(k)*s"


def test_a_pointer_that_moves_only_under_a_flag() -> None:
    kernel = body(
        "g, s, n, HAS: tl.constexpr",
        """
        for i in range(n):
            if HAS:
                v = tl.load(g)
                w = tl.load(g + 1)
                g += s
        """,
    )
    assert [index(access) for access in kernel.accesses] == [
        "turn(i)*select(HAS, s, 0)",
        "turn(i)*select(HAS, s, 0) + 1",
    ]
    assert {str(access.buffer) for access in kernel.accesses} == {"g"}


def test_a_test_that_touches_memory_runs_in_its_loop() -> None:
    kernel = body("lock", "while tl.atomic_cas(lock, 0, 1) == 1:\n    tl.store(lock + 1, 0)")
    cas, store = kernel.accesses
    assert cas.loops == store.loops == tuple(kernel.loops)
    assert guard(cas) == "true"
    assert guard(store) == "1 == load(lock)"


def test_formatted_text_decides_nothing() -> None:
    kernel = body("p, n", "if f'{n}' == '':\n    tl.store(p, 0)")
    assert len(kernel.accesses) == 1
    assert guard(kernel.accesses[0]) != "true"
