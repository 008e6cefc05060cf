"""The built-in rule pack.  `RULES` lists every rule class found in the family packages, sorted by code."""

from __future__ import annotations

import importlib
import pkgutil

from kernlint.rule import Rule


def _discover() -> tuple[type[Rule], ...]:
    found: dict[str, type[Rule]] = {}
    for info in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        module = importlib.import_module(info.name)
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Rule) and item.__module__ == info.name and item.code:
                found[item.code] = item
    return tuple(found[code] for code in sorted(found))


RULES: tuple[type[Rule], ...] = _discover()
