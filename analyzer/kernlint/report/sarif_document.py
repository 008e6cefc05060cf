"""From `sarif_om` objects to JSON, deterministically.

The companion serialiser of sarif_om drops every value that equals the class default, so a result with level `warning`
under a rule whose default is `error` turns into an error; it also copies deeply at every level.  This walker leaves out
only what is None and the placeholders the object model uses for "absent".
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

# Properties that are written even when they equal the default of the class.
_ALWAYS = frozenset({"level", "kind", "ruleIndex"})
_FIRST = ("$schema", "version")


def document_text(log: Any) -> str:
    """A `sarif_om.SarifLog` as one line of ASCII JSON."""
    return json.dumps(plain(log), separators=(",", ":")) + "\n"


def plain(value: Any) -> Any:
    """An object of sarif_om, or a list or dict with such objects in it, as JSON data in declaration order."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    data: dict[str, Any] = {}
    kind: type = type(value)
    for attribute, name, absent in _attributes(kind):
        item = getattr(value, attribute)
        if item is None or (name not in _ALWAYS and item == absent):
            continue
        data[name] = plain(item)
    return data


@cache
def _attributes(cls: type) -> tuple[tuple[str, str, Any], ...]:
    """(attribute, SARIF name, value that means absent) of a class; `$schema` and `version` first, as readers expect."""
    import attr

    rows = []
    for field in attr.fields(cls):
        default = field.default
        if isinstance(default, attr.Factory):  # type: ignore[arg-type]
            default = default.factory()
        rows.append((field.name, field.metadata["schema_property_name"], default))
    order = {name: index for index, name in enumerate(_FIRST)}
    return tuple(sorted(rows, key=lambda row: order.get(row[1], len(order))))
