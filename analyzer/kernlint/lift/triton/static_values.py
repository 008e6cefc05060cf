"""What the reader of configuration lists (`static`) knows about a value, and the operations on such values."""

from __future__ import annotations

import ast
import itertools

from kernlint.ir.types import Span
from kernlint.lift.host.definitions import folded
from kernlint.records import dataclass

MAX_ITEMS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    value: object  # int, float, str, bool or None


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    node: ast.expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """A `triton.Config(...)`."""

    values: dict[str, int | float | str | bool | None]
    num_warps: int | None
    num_stages: int | None
    pre_hook: bool
    span: Span | None


@dataclass(slots=True, eq=False)
class Items:
    """A list or tuple; `whole` is False when something was left out."""

    items: list[Thing]
    whole: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    entries: dict[str, Thing]


Thing = Fixed | Unknown | Settings | Items | Mapping


def known_items(thing: Thing, *, partial: bool = False) -> list[Thing] | None:
    """The items of a list; None when it is not one or (unless `partial`) not wholly known."""
    if isinstance(thing, Items) and (thing.whole or partial):
        return thing.items
    return None


def binary(op: ast.operator, left: Thing, right: Thing) -> Thing:
    if isinstance(left, Items) and isinstance(right, Items) and isinstance(op, ast.Add):
        items = (left.items + right.items)[:MAX_ITEMS]
        return Items(items, left.whole and right.whole and len(items) == len(left.items) + len(right.items))
    if isinstance(op, ast.Add) and (isinstance(left, Items) or isinstance(right, Items)):
        known = left if isinstance(left, Items) else right
        return Items(list(known.items), False) if isinstance(known, Items) else Unknown()
    if isinstance(left, Fixed) and isinstance(right, Fixed):
        if any(isinstance(x.value, int) and x.value.bit_length() > 64 for x in (left, right)):
            return Unknown()
        value = folded(op, left.value, right.value)
        return Fixed(value) if value is not None else Unknown()
    return Unknown()


def compared(op: ast.cmpop, left: Thing, right: Thing) -> bool | None:
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(left, Fixed) and isinstance(right, Items):
        if not right.whole or not all(isinstance(item, Fixed) for item in right.items):
            return None
        inside = any(isinstance(item, Fixed) and item.value == left.value for item in right.items)
        return inside is isinstance(op, ast.In)
    if not isinstance(left, Fixed) or not isinstance(right, Fixed):
        return None
    a, b = left.value, right.value
    if isinstance(op, (ast.Eq, ast.Is)):
        return a == b
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return a != b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if isinstance(op, ast.Lt):
            return a < b
        if isinstance(op, ast.LtE):
            return a <= b
        if isinstance(op, ast.Gt):
            return a > b
        if isinstance(op, ast.GtE):
            return a >= b
    return None


def subscript(base: Thing, index: Thing) -> Thing:
    if isinstance(base, Items) and isinstance(index, Fixed) and isinstance(index.value, int):
        if base.whole and -len(base.items) <= index.value < len(base.items):
            return base.items[index.value]
    elif isinstance(base, Mapping) and isinstance(index, Fixed):
        return base.entries.get(str(index.value), Unknown())
    return Unknown()


def product(args: list[Thing]) -> Thing:
    pools: list[list[Thing]] = []
    whole = True
    total = 1
    for arg in args:
        if not isinstance(arg, Items):
            return Unknown()
        whole = whole and arg.whole
        pools.append(arg.items)
        total *= max(1, len(arg.items))
    if total > MAX_ITEMS:
        return Unknown()
    return Items([Items(list(combination)) for combination in itertools.product(*pools)], whole)
