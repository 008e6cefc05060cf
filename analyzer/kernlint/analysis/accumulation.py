"""Loop-carried accumulation: which operation adds what to a carried value."""

from __future__ import annotations

from dataclasses import replace

from kernlint.ir.condition import Condition, negate
from kernlint.ir.value import Value
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Accumulation:
    """`carry = operation(carry, added)`, done by the value `at`, and only where all of `guards` hold."""

    operation: str
    added: Value
    at: Value
    guards: tuple[Condition, ...] = ()


OPERATIONS = {"add": "sum", "max": "max", "min": "min", "mul": "prod", "sub": "sum"}


def accumulation(carry: Value) -> Accumulation | None:
    """How a loop accumulates into a carried value, when it does so in one plain step (also through fused
    multiply-adds, conversions, and in one arm of a branch or select whose other arm keeps the value)."""
    if len(carry.args) < 2:
        return None
    value, depth = carry.args[1], 0
    guards: tuple[Condition, ...] = ()
    while depth < 8:
        depth += 1
        if value.op == "cast" and value.args:
            value = value.args[0]
        elif value.op in ("where", "join") and any(arm is carry for arm in value.args[-2:]):
            then, other = value.args[-2:]
            guards += _guards(value, taken=then is not carry)
            value = other if then is carry else then
        elif value.op == "fma" and len(value.args) == 3:
            running = _is_running(value.args[2], carry)
            return Accumulation("sum", value.args[0], value, guards) if running else None
        elif value.op == "dot" and len(value.args) == 3:
            return Accumulation("sum", value, value, guards) if _is_running(value.args[2], carry) else None
        elif value.op in OPERATIONS and len(value.args) == 2:
            for own, added in ((value.args[0], value.args[1]), (value.args[1], value.args[0])):
                if _is_running(own, carry) and (value.op != "sub" or own is value.args[0]):
                    return Accumulation(OPERATIONS[value.op], added, value, guards)
            return None
        elif value.op == "carry" and len(value.args) > 1 and value.args[0] is carry:
            inner = accumulation(value)
            return replace(inner, guards=inner.guards + guards) if inner is not None else None
        else:
            return None
    return None


def _guards(choice: Value, taken: bool) -> tuple[Condition, ...]:
    """What holds where a select or branch takes the arm that accumulates."""
    condition = choice.args[0].cond if choice.op == "where" else choice.attrs.get("condition")
    if not isinstance(condition, Condition):
        return ()
    return condition.conjuncts() if taken else negate(condition).conjuncts()


def _is_running(value: Value, carry: Value) -> bool:
    """The carried value itself, perhaps converted or rescaled."""
    for _ in range(4):
        if value is carry:
            return True
        if value.op == "cast" and value.args:
            value = value.args[0]
        elif value.op == "mul" and len(value.args) == 2:
            value = value.args[0] if value.args[0].op in ("carry", "cast") else value.args[1]
        else:
            return False
    return value is carry
