"""Attributes computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  (used as a decorator)
    """`functools.cached_property` without its lock, which in Python 3.11 costs more than most values computed here.

    Two threads may compute a value twice; values of immutable objects come out the same.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, holder: object, owner: type | None = None) -> T:
        value = self._compute(holder)
        holder.__dict__[self._name] = value  # found there before this descriptor from now on
        return value
