"""Damaged and random input: a diagnostic, never a traceback.  `python tests/fuzz/run_long.py` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernlint.engine.packs import load_rules
from kernlint.source.file import CUDA, PYTHON
from kernlint.testing import check_source

from .mutations import mutate

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
SOURCES = sorted(p for p in FIXTURES.rglob("*") if p.suffix in {".py", ".cu"})
SEEDS = 2


def language_of(path: Path) -> str:
    return PYTHON if path.suffix == ".py" else CUDA


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(FIXTURES)))
def test_mutated_fixtures_raise_nothing(path: Path) -> None:
    text = path.read_text()
    for seed in range(SEEDS):
        check_source(mutate(text, seed, 1 + seed * 5), language_of(path))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=400), st.sampled_from([CUDA, PYTHON]))
def test_random_text_raises_nothing(text: str, language: str) -> None:
    marker = "@triton.jit\ndef k(x):\n " if language == PYTHON else "__global__ void k(float* x) {"
    check_source(marker + text, language)


def test_every_rule_saw_the_mutations() -> None:
    """The fuzzing above runs the installed pack, not an empty one."""
    assert len(load_rules()) > 20
    assert len(SOURCES) > 40
