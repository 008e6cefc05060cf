"""Selectors: codes (`KL201`), names (`shared-memory-race`), code prefixes (`KL2`), families (`sync`), `ALL`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from kernlint.rule import Rule

_CODE_PREFIX = re.compile(r"[A-Za-z]+\d*")


class UnknownSelectorError(ValueError):
    """A selector that names no rule.  The message suggests the nearest one."""


def family_of(rule: type[Rule]) -> str:
    """The package a rule lives in: `kernlint_rules.bounds.unguarded_edge_tile` belongs to `bounds`; '' at top level."""
    parts = rule.__module__.split(".")
    return parts[-2] if len(parts) > 2 else ""


class Selection:
    """Answers which codes a selector means, among the rules given."""

    def __init__(self, rules: Iterable[type[Rule]]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.code))
        self._cache: dict[str, frozenset[str]] = {}

    def codes(self, selector: str) -> frozenset[str]:
        """The codes it names; empty when it names none."""
        if selector not in self._cache:
            self._cache[selector] = self._find(selector.strip())
        return self._cache[selector]

    def _find(self, selector: str) -> frozenset[str]:
        if selector.upper() == "ALL":
            return frozenset(rule.code for rule in self.rules)
        label = selector.lower()
        exact = frozenset(r.code for r in self.rules if label in (r.code.lower(), r.name.lower()))
        if exact:
            return exact
        named = frozenset(rule.code for rule in self.rules if label and label == family_of(rule).lower())
        if named or not _CODE_PREFIX.fullmatch(selector):
            return named
        return frozenset(rule.code for rule in self.rules if rule.code.lower().startswith(label))

    def expand(self, selectors: Iterable[str]) -> frozenset[str]:
        """All codes the selectors name.  Raises UnknownSelectorError for one that names none."""
        found: frozenset[str] = frozenset()
        for selector in selectors:
            codes = self.codes(selector)
            if not codes:
                near = nearest_label(selector, self.rules)
                hint = f"; did you mean `{near}`?" if near else "; `kernlint rules` lists them"
                raise UnknownSelectorError(f"unknown rule `{selector}`{hint}")
            found |= codes
        return found


def nearest_label(selector: str, rules: Sequence[type[Rule]]) -> str:
    """The code, name or family that looks most like `selector`; '' when none does."""
    labels = {label.lower(): label for rule in rules for label in (rule.code, rule.name, family_of(rule)) if label}
    near = difflib.get_close_matches(selector.lower(), sorted(labels), n=1, cutoff=0.6)
    return labels[near[0]] if near else ""
