"""Autotuning configurations, keys, heuristics, options of the decorator."""

from __future__ import annotations

import pytest
from triton_lifting import lift

from kernlint.ir.kernel import Autotune

KERNEL = "@triton.jit\ndef kernel(x, n, BLOCK: tl.constexpr):\n    tl.store(x + n, 0)\n"


def tuned(decorator: str, before: str = "") -> Autotune:
    found = lift(f"{before}\n{decorator}\n{KERNEL}").autotune
    assert found is not None
    return found


def test_configurations_written_out() -> None:
    found = tuned(
        '@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2, num_stages=3), '
        'triton.Config({"BLOCK": 128}, pre_hook=clear)], key=["n"], reset_to_zero=["x"], restore_value=["y"], '
        'prune_configs_by={"early_config_prune": f})'
    )
    assert found.complete
    assert found.configs is not None
    first, second = found.configs
    assert (first.values, first.num_warps, first.num_stages, first.pre_hook) == ({"BLOCK": 64}, 2, 3, False)
    assert (second.num_warps, second.pre_hook) == (None, True)
    assert [name for name, _ in found.key] == ["n"]
    assert (found.reset_to_zero, found.restore_value, found.prunes, found.pre_hook) == (("x",), ("y",), True, False)
    ((_, span),) = found.key
    assert span.end - span.start == len('"n"')


@pytest.mark.parametrize(
    ("configs", "blocks"),
    [
        ('[triton.Config({"BLOCK": b}) for b in (32, 64)]', [32, 64]),
        ('[triton.Config({"BLOCK": 2**i}) for i in range(5, 8)]', [32, 64, 128]),
        ('[triton.Config({"BLOCK": b}) for b in SIZES if b > 32]', [64]),
        ('[triton.Config({"BLOCK": b * s}) for b in [16] for s in [1, 2]]', [16, 32]),
        ('[triton.Config({"BLOCK": b}) for b, w in itertools.product(SIZES, [4])]', [32, 64]),
        ('[triton.Config({"BLOCK": 8})] + [triton.Config({"BLOCK": 16})]', [8, 16]),
        ("make()", [32, 64]),
        ("make(top=32)", [32]),
        ("listed()", [1, 2]),
        ("TABLE", [5]),
    ],
)
def test_configurations_built_by_code(configs: str, blocks: list[int]) -> None:
    before = """
import itertools
SIZES = [32, 64]
TABLE = [triton.Config({"BLOCK": 5})]
def make(top=64):
    return [triton.Config({"BLOCK": b}) for b in SIZES if b <= top]
def listed():
    configs = []
    for b in [1, 2]:
        configs.append(triton.Config({"BLOCK": b}))
    return configs
"""
    found = tuned(f'@triton.autotune(configs={configs}, key=["n"])', before)
    assert found.complete
    assert found.configs is not None
    assert [config.values["BLOCK"] for config in found.configs] == blocks


@pytest.mark.parametrize(
    "configs",
    [
        "unknown()",
        '[triton.Config({"BLOCK": b}) for b in runtime.sizes()]',
        '[triton.Config({"BLOCK": b}) for b in ([16] if torch.cuda.is_available() else [32])]',
        "[c for c in make() if fits(c)]",
    ],
)
def test_configurations_that_cannot_be_read_are_not_complete(configs: str) -> None:
    assert not tuned(f'@triton.autotune(configs={configs}, key=["n"])').complete


def test_a_partly_known_list_keeps_what_is_known() -> None:
    found = tuned('@triton.autotune(configs=[triton.Config({"BLOCK": 64})] + more(), key=["n"])')
    assert not found.complete
    assert found.configs is not None
    assert [config.values for config in found.configs] == [{"BLOCK": 64}]


def test_a_computed_key_is_not_known() -> None:
    assert not tuned("@triton.autotune(configs=[], key=make_key())").key_known


def test_a_project_tuner_of_the_same_shape_counts() -> None:
    found = tuned('@libtuner(configs=runtime.get_tuned_config("x"), key=["n"])')
    assert (found.configs, found.complete, [name for name, _ in found.key]) == (None, False, ["n"])


def test_heuristics_are_values_over_the_parameters() -> None:
    kernel = lift(
        """
        def even(args):
            if args["n"] > 0:
                return args["n"] % args["BLOCK"] == 0
            return False

        @triton.heuristics({
            "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
            "HAS_X": lambda args: args["x"] is not None,
            "BLOCK": lambda args: triton.next_power_of_2(args["n"]),
            "ODD": even,
            "LOST": unknown,
        })
        @triton.jit
        def kernel(x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
            tl.store(x + n, 0)
        """
    )
    found = kernel.heuristics
    assert found["EVEN"] is not None
    assert repr(found["EVEN"].cond) == "(n % BLOCK) == 0"
    assert found["HAS_X"] is not None
    assert repr(found["HAS_X"].cond) == "not (x is None)"
    assert found["BLOCK"] is not None
    assert repr(found["BLOCK"].expr) == "next_power_of_2(n)"
    assert found["ODD"] is not None
    assert repr(found["ODD"].cond) == "(n % BLOCK) == 0 and 0 < n"
    assert found["LOST"] is None


def test_options_and_decorators_are_listed() -> None:
    kernel = lift(
        """
        @libentry()
        @triton.jit(do_not_specialize=["n"])
        def kernel(x, n: "i64", m: tl.float32, BLOCK: tl.constexpr = 64):
            tl.store(x + n, m)
        """
    )
    assert kernel.decorators == ("libentry", "triton.jit")
    assert kernel.attrs["do_not_specialize"] == ["n"]
    n, m, block = kernel.params[1:]
    assert (repr(n.dtype), repr(m.dtype)) == ("int64", "float32")
    assert block.default is not None
    assert (block.default.attrs["value"], block.position) == (64, 3)
