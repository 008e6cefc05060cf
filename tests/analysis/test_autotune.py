"""What tuning does to arguments, and which configurations cannot run, on real source."""

from __future__ import annotations

import pytest

from kernlint.analysis.autotune import Reuse, unprotected_arguments
from kernlint.analysis.autotune_configs import infeasible_configs
from kernlint.finding import Confidence
from kernlint.ir.kernel import Kernel
from kernlint.lift import lift_module
from kernlint.source.file import PYTHON, SourceFile

HEAD = "import triton\nimport triton.language as tl\n\n"
TWO = "configs=[triton.Config({'BLOCK': 256}), triton.Config({'BLOCK': 512})], key=['n']"


def kernel_of(source: str) -> Kernel:
    (kernel,) = lift_module(SourceFile("k.py", (HEAD + source).encode(), PYTHON)).kernels
    return kernel


def tuned(body: str, options: str = "", configs: str = TWO, host: str = "") -> Kernel:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return kernel_of(
        f"@triton.autotune({configs}{options})\n@triton.jit\n"
        f"def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
        f"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    ok = i < n\n{lines}\n\n{host}"
    )


UPDATE = "x = tl.load(x_ptr + i, mask=ok)\ntl.store(x_ptr + i, x * 0.5, mask=ok)"


def names(kernel: Kernel) -> list[str]:
    return [argument.name for argument in unprotected_arguments(kernel)]


def test_an_update_in_place_is_applied_by_every_trial() -> None:
    (argument,) = unprotected_arguments(tuned(UPDATE))
    assert (argument.name, argument.reuse, argument.confidence) == ("x_ptr", Reuse.UPDATED, Confidence.HIGH)


@pytest.mark.parametrize("option", ["restore_value=['x_ptr']", "reset_to_zero=['x_ptr']", "pre_hook=print"])
def test_what_is_restored_is_fine(option: str) -> None:
    assert names(tuned(UPDATE, ", " + option)) == []


def test_a_hook_of_the_configurations_counts_as_well() -> None:
    hooked = TWO.replace("{'BLOCK': 512}", "{'BLOCK': 512}, pre_hook=clear")
    assert names(tuned(UPDATE, configs=hooked, host="def clear(nargs):\n    nargs['x_ptr'].zero_()\n")) == []


def test_a_single_configuration_is_launched_once() -> None:
    assert names(tuned(UPDATE, configs="configs=[triton.Config({'BLOCK': 256})], key=['n']")) == []


@pytest.mark.parametrize(
    "body",
    [
        "x = tl.load(x_ptr + i, mask=ok)\ntl.store(y_ptr + i, x, mask=ok)",
        "x = tl.load(x_ptr + i, mask=ok)\ntl.store(x_ptr + i, tl.maximum(x, 0.0), mask=ok)",
        "x = tl.load(x_ptr + i, mask=ok)\ntl.store(x_ptr + i, tl.where(x > 0, x, 0.0), mask=ok)",
        "x = tl.load(y_ptr + i, mask=ok)\ntl.atomic_max(x_ptr + i, x, mask=ok)",
        "tl.store(x_ptr + i, 1.0, mask=ok)\ny = tl.load(x_ptr + i, mask=ok)\ntl.store(x_ptr + i, y + 1.0, mask=ok)",
        "tl.store(x_ptr + i, 0.0, mask=ok)\ntl.debug_barrier()\ntl.atomic_add(x_ptr + i, 1.0, mask=ok)",
    ],
    ids=["copy", "clamp", "select", "maximum", "reads what it stored", "zeroes first"],
)
def test_kernels_that_may_run_again(body: str) -> None:
    assert names(tuned(body)) == []


def test_a_switch_between_two_ways_of_updating_does_not_make_it_less_sure() -> None:
    masked = UPDATE.replace("\n", "\n    ")
    whole = masked.replace(", mask=ok", "")
    both, one = f"if BLOCK == 256:\n    {whole}\nelse:\n    {masked}", f"if BLOCK == 256:\n    {whole}"
    assert [a.confidence for a in unprotected_arguments(tuned(both))] == [Confidence.HIGH]
    assert [a.confidence for a in unprotected_arguments(tuned(one))] == [Confidence.MEDIUM]


def test_additions_accumulate() -> None:
    (argument,) = unprotected_arguments(tuned("tl.atomic_add(x_ptr + i, 1.0, mask=ok)"))
    assert argument.reuse is Reuse.ACCUMULATED


def test_one_tensor_passed_twice_is_updated_in_place() -> None:
    host = "def neg_(a):\n    k[(1,)](a, a, a.numel())\n"
    (argument,) = unprotected_arguments(tuned("tl.store(y_ptr + i, -tl.load(x_ptr + i, mask=ok), mask=ok)", host=host))
    assert (argument.name, argument.through) == ("y_ptr", "x_ptr")


def reasons(configs: str, targets: tuple[str, ...] = ("sm_80",)) -> list[tuple[str, Confidence]]:
    kernel = tuned("tl.store(y_ptr + i, tl.load(x_ptr + i, mask=ok), mask=ok)", configs=configs)
    return [(item.reason, item.confidence) for item in infeasible_configs(kernel, targets)]


def test_shapes_and_warps_that_no_target_takes() -> None:
    found = reasons(
        "configs=[triton.Config({'BLOCK': 96}), triton.Config({'BLOCK': 64}, num_warps=3),"
        " triton.Config({'BLOCK': 64}, num_warps=64), triton.Config({'BLOCK': 2097152}),"
        " triton.Config({'BLOCK': 64}, num_warps=8)], key=['n']"
    )
    assert [confidence for _, confidence in found] == [Confidence.HIGH] * 4
    assert "96, not a power of two" in found[0][0]
    assert "`num_warps=3`" in found[1][0]
    assert "2048 threads" in found[2][0]
    assert "2097152 elements" in found[3][0]


MATMUL = """\
@triton.autotune(configs=[triton.Config({{'BM': 128, 'BN': 256, 'BK': 64}}, num_stages={stages})], key=['K'])
@triton.jit
def k(a_ptr, b_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        kk = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + kk[None, :]).to(tl.float16)
        b = tl.load(b_ptr + kk[:, None] * N + n[None, :]).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
"""


@pytest.mark.parametrize(
    ("stages", "target", "expected"),
    [(3, "sm_80", 0), (3, "sm_86", 0), (4, "sm_86", 1), (5, "sm_80", 1), (5, "sm_90", 0), (9, "sm_90", 1)],
)
def test_staged_operands_are_held_against_the_target(stages: int, target: str, expected: int) -> None:
    kernel = kernel_of(MATMUL.format(stages=stages))
    assert len(infeasible_configs(kernel, (target,))) == expected
