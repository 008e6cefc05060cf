"""Merging what several ways through the code wrote."""

from __future__ import annotations

from kernlint.ir.condition import TRUE, Condition
from kernlint.ir.value import Value
from kernlint.lift.cuda.device_join import join
from kernlint.lift.cuda.device_machine import Machine, TypedValue, Way


def merge_values(
    m: Machine, key: str, condition: Condition, a: Value | None, b: Value | None, test: Value | None
) -> Value | None:
    """Contents of one variable where `condition` chose between `a` and `b` (None: not written, as before)."""
    before = m.read(key)
    a, b = a or before, b or before
    if a is b or b is None:
        return a
    if a is None:
        return b
    if key.startswith("["):
        return _merge_items(a, b)
    if a.op == "const" and b.op == "const" and a.attrs.get("value") == b.attrs.get("value") and a.dtype == b.dtype:
        return a
    return join(m, condition, a, b, test)


def _merge_items(a: Value, b: Value) -> Value:
    """Known contents of an array after a branch: what both arms agree on."""
    x = a.items if isinstance(a, TypedValue) and a.items else {}
    y = b.items if isinstance(b, TypedValue) and b.items else {}
    return TypedValue("tuple", items={key: item for key, item in x.items() if y.get(key) is item})


def merge_layers(
    m: Machine, condition: Condition, then: dict[str, Value], other: dict[str, Value], test: Value | None
) -> None:
    """Write the merge of two arms' layers to the layer now on top."""
    keys = list(then)
    keys += [key for key in other if key not in then]
    merged: dict[str, Value] = {}
    for key in keys:
        value = merge_values(m, key, condition, then.get(key), other.get(key), test)
        if value is not None:
            merged[key] = value
    m.write_all(merged)


def merge_ways(m: Machine, ways: list[Way]) -> Value | None:
    """Write the merge of all ways to the top layer and give the merged result.  The last way is taken when no earlier
    one is; conditions of the ways exclude one another."""
    if not ways:
        return None
    writes, result = dict(ways[-1].writes), ways[-1].result
    for way in reversed(ways[:-1]):
        if way.condition.op is TRUE.op:
            writes, result = dict(way.writes), way.result
            continue
        keys = list(way.writes)
        keys += [key for key in writes if key not in way.writes]
        merged: dict[str, Value] = {}
        for key in keys:
            value = merge_values(m, key, way.condition, way.writes.get(key), writes.get(key), way.value)
            if value is not None:
                merged[key] = value
        writes = merged
        if way.result is not None and result is not None:
            result = way.result if way.result is result else join(m, way.condition, way.result, result, way.value)
        else:
            result = way.result or result
    m.write_all(writes)
    return result
