"""Closed forms of loop-carried integers, found once the loop body has been walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition
from kernlint.ir.expr import ZERO, Atom, AtomKind, Expr, axis_expr, of_atom, substitute
from kernlint.ir.value import Value
from kernlint.lift.triton.rewrite import rewrite
from kernlint.lift.triton.things import Carrier

if TYPE_CHECKING:
    from kernlint.lift.triton.state import State


def resolve(state: State, carrier: Carrier, first_value: int, first_fact: int) -> None:
    """Replace the unknowns that grow by a loop-invariant amount, everywhere in the loop."""
    mapping: dict[Atom, Expr] = {}
    axis = axis_expr(carrier.loop.axis)
    for pending in carrier.made:
        parts = pending.made if isinstance(pending.made, tuple) else (pending.made,)
        for value in parts:
            if isinstance(value, Value) and value.op == "carry" and len(value.args) == 2:
                _closed_forms(value, axis, carrier, mapping)
    if mapping:
        rewrite(carrier.loop, state.values[first_value:], mapping)
        state.facts[first_fact:] = [fact.substitute(mapping) for fact in state.facts[first_fact:]]


def _closed_forms(value: Value, axis: Expr, carrier: Carrier, mapping: dict[Atom, Expr]) -> None:
    unknowns: list[Atom] = value.attrs.get("unknown", [])
    init, following = value.args
    if not unknowns:
        return
    pairs: list[tuple[Expr, Expr]] = []
    if value.block is not None and following.block is not None and len(unknowns) == len(value.block.offsets):
        pairs = list(zip(value.block.offsets, following.block.offsets, strict=True))
    elif value.expr is not None and following.expr is not None and value.block is None:
        pairs = [(value.expr, following.expr)]
    for atom, (current, then) in zip(unknowns, pairs, strict=False):
        bare = value.block is None and current == of_atom(atom)
        start = init.expr if bare and init.expr is not None else ZERO
        growth = then - current
        if loop_invariant(growth, carrier):
            mapping[atom] = start + axis * growth
            if value.block is None:
                value.attrs["increment"] = growth
        elif substitute(then, {atom: start}) == substitute(current, {atom: start}):
            mapping[atom] = start  # it starts there, and from there it goes there
        else:
            kept = _unchanged_where(current, then, carrier)
            if kept is not None:
                condition, holds = kept
                mapping[atom] = arith.select(condition, *((start, of_atom(atom)) if holds else (of_atom(atom), start)))


def _unchanged_where(current: Expr, then: Expr, carrier: Carrier) -> tuple[Condition, bool] | None:
    """A loop-invariant condition whose truth (or falsehood) leaves the variable as it was: `if VARLEN: n = load(...)`
    carries n's first value whenever VARLEN is off."""
    choices: dict[str, list[Atom]] = {}
    for atom in then.deep_atoms:
        if atom.kind is AtomKind.SELECT and isinstance(atom.args[0], Condition):
            choices.setdefault(atom.args[0].key, []).append(atom)
    for key in sorted(choices):
        condition = choices[key][0].args[0]
        if not isinstance(condition, Condition) or not _condition_invariant(condition, carrier):
            continue
        for holds in (False, True):
            arms = {atom: atom.args[1 if holds else 2] for atom in choices[key]}
            if substitute(then, {atom: arm for atom, arm in arms.items() if isinstance(arm, Expr)}) == current:
                return condition, holds
    return None


def _condition_invariant(condition: Condition, carrier: Carrier) -> bool:
    for name in condition.flags:
        number = name.rpartition("#")[2].partition(".")[0]
        if "#" in name and not (number.isdigit() and int(number) < carrier.first_ordinal):
            return False
    return _invariant_atoms(condition.deep_atoms, carrier)


def loop_invariant(expr: Expr, carrier: Carrier) -> bool:
    return _invariant_atoms(expr.deep_atoms, carrier)


def _invariant_atoms(atoms: frozenset[Atom], carrier: Carrier) -> bool:
    first_loop = int(carrier.loop.axis.key[1:])
    for atom in atoms:
        if atom.kind is AtomKind.AXIS and atom.axis is not None and atom.axis.key.startswith("k"):
            if int(atom.axis.key[1:]) >= first_loop:
                return False
        elif atom.kind is AtomKind.LOAD:
            if isinstance(atom.note, int) and atom.note >= carrier.first_ordinal:
                return False
        elif atom.kind is AtomKind.CALL:
            number = str(atom.note).rpartition("#")[2]
            if number.isdigit() and int(number) >= carrier.first_ordinal:
                return False
        elif atom.kind is AtomKind.OPAQUE:
            return False
    return True
