"""Maxima that only shift exponents: `exp(x - max(x))` is the same softmax for any shift that does not overflow."""

from __future__ import annotations

from kernlint.ir.kernel import Kernel
from kernlint.ir.value import Value

_SAME = {"cast", "expand", "broadcast", "reshape", "trans", "max", "carry", "join", "where"}
_DEPTH = 8


class Shifts:
    """Answers whether a maximum is subtracted under an exponential somewhere in the kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._subtracted: set[int] = set()
        for value in kernel.values:
            if value.op in ("exp", "exp2") and value.args:
                difference = value.args[0]
                for _ in range(3):
                    if difference.op in ("cast", "mul", "broadcast") and difference.args:
                        difference = difference.args[0]
                if difference.op == "sub" and len(difference.args) == 2:
                    self._remember(difference.args[1])

    def _remember(self, value: Value) -> None:
        """The subtracted value and everything it is a copy or a running maximum of."""
        pending, depth = [value], 0
        while pending and depth < _DEPTH * 8:
            current = pending.pop()
            depth += 1
            if id(current) in self._subtracted:
                continue
            self._subtracted.add(id(current))
            if current.op in _SAME:
                pending.extend(current.args)

    def only_shifts(self, maximum: Value) -> bool:
        return id(maximum) in self._subtracted
