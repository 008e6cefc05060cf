"""Host functions of a CUDA text and the launches in them."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.ir.host import HostFunction, Launch
from kernlint.ir.kernel import Kernel
from kernlint.lift.cuda.unit import TranslationUnit


def host_functions(unit: TranslationUnit) -> list[HostFunction]:
    return []


def bind_all(launches: Iterable[Launch], kernels: Iterable[Kernel]) -> None:
    pass
