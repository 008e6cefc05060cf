"""Rule packs: the entry points of the group `kernlint.rules`, the built-in pack among them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from kernlint.records import dataclass
from kernlint.rule import Rule

GROUP = "kernlint.rules"


class PackError(Exception):
    """A rule pack that cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A loaded rule pack.  `version` is that of the distribution that brought it, '' when there is none."""

    name: str
    module: str
    version: str
    rules: tuple[type[Rule], ...]


def load_packs() -> tuple[Pack, ...]:
    """Every installed pack, sorted by name.

    Raises PackError when a pack cannot be imported, has no `RULES`, lists something that is no rule class, or uses a
    code or name that another pack has already.
    """
    points: dict[tuple[str, str], EntryPoint] = {(p.name, p.value): p for p in entry_points(group=GROUP)}
    packs = [_load(points[key]) for key in sorted(points)]
    check_unique(packs)
    return tuple(packs)


def load_rules() -> tuple[type[Rule], ...]:
    """The rules of all installed packs, sorted by code."""
    return tuple(sorted((rule for pack in load_packs() for rule in pack.rules), key=lambda rule: rule.code))


def pack_from_module(name: str) -> Pack:
    """The pack in an importable module, installed as a pack or not."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise PackError(f"rule pack `{name}` cannot be imported: {type(error).__name__}: {error}") from error
    return Pack(name, name, "", _rules_of(module, name))


def _load(point: EntryPoint) -> Pack:
    try:
        loaded = point.load()
    except Exception as error:
        raise PackError(
            f"rule pack `{point.name}` ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return Pack(point.name, point.value, _version_of(point), _rules_of(loaded, point.name))


def _version_of(point: EntryPoint) -> str:
    """The version of the distribution that brought it, read off the head of its metadata: `Distribution.version` parses
    the whole text as a mail, which takes longer than all else here."""
    if point.dist is None:
        return ""
    for line in (point.dist.read_text("METADATA") or "").splitlines():
        if not line:
            break
        name, _, version = line.partition(":")
        if name.lower() == "version":
            return version.strip()
    return point.dist.version


def _rules_of(loaded: Any, name: str) -> tuple[type[Rule], ...]:
    listed = getattr(loaded, "RULES", None)
    if listed is None and isinstance(loaded, (list, tuple)):
        listed = loaded  # the entry point named the sequence itself
    if listed is None:
        raise PackError(f"rule pack `{name}` has no `RULES` (a sequence of rule classes)")
    if not isinstance(listed, Iterable):
        raise PackError(f"`RULES` of rule pack `{name}` is no sequence of rule classes")
    rules = tuple(listed)
    for rule in rules:
        if not (isinstance(rule, type) and issubclass(rule, Rule)):
            raise PackError(
                f"`RULES` of rule pack `{name}` contains {rule!r}, which is no subclass of kernlint.rule.Rule"
            )
    return tuple(sorted(rules, key=lambda rule: rule.code))


def check_unique(packs: Iterable[Pack]) -> None:
    """Raises PackError when two rules share a code or a name."""
    seen: dict[str, tuple[str, type[Rule]]] = {}
    for pack in packs:
        for rule in pack.rules:
            for label in (rule.code.upper(), rule.name.lower()):
                if label in seen and seen[label][1] is not rule:
                    raise PackError(
                        f"rule packs `{seen[label][0]}` and `{pack.name}` both have a rule called `{label}`"
                    )
                seen[label] = (pack.name, rule)
