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
_FIRST = ("$schema", "version")  # where readers look for them
_SCALARS = frozenset({str, int, float, bool})


def document_text(log: Any) -> str:
    """A `sarif_om.SarifLog` as one line of ASCII JSON."""
    data = plain(log)
    ordered = {name: data.pop(name) for name in _FIRST} | data
    return json.dumps(ordered, separators=(",", ":")) + "\n"


def plain(value: Any) -> Any:
    """An object of sarif_om, or a list or dict with such objects in it, as JSON data in declaration order."""
    kind: type = type(value)
    if value is None or kind in _SCALARS:
        return value
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    if kind is dict:
        return {key: plain(item) for key, item in value.items()}
    table = _attributes(kind)
    data: dict[str, Any] = {}
    for attribute, item in vars(value).items():
        if item is not None:
            name, absent = table[attribute]
            if item != absent or name in _ALWAYS:
                data[name] = plain(item)
    return data


@cache
def _attributes(cls: type) -> dict[str, tuple[str, Any]]:
    """Attribute -> (its SARIF name, the value that means absent) of a class of sarif_om."""
    import attr

    table = {}
    for field in attr.fields(cls):
        default = field.default
        if isinstance(default, attr.Factory):  # type: ignore[arg-type]
            default = default.factory()
        table[field.name] = (field.metadata["schema_property_name"], default)
    return table
