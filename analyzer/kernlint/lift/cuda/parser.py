"""The tree-sitter CUDA parser, made on first use, with a guard against input it cannot take."""

from __future__ import annotations

import bisect
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, Tree

MAX_NESTING = 400  # brackets; deeper text is not parsed, since every consumer of trees recurses
MAX_EDITS = 3000
MAX_BYTES = 8_000_000


@lru_cache(maxsize=1)
def language() -> Language:
    import tree_sitter_cuda
    from tree_sitter import Language

    return Language(tree_sitter_cuda.language())


@lru_cache(maxsize=1)
def _parser() -> Parser:
    from tree_sitter import Parser

    return Parser(language())


@lru_cache(maxsize=16)
def query(pattern: str) -> Query:
    from tree_sitter import Query

    return Query(language(), pattern)


def parse(data: bytes) -> Tree:
    return _parser().parse(data)


def reparse(tree: Tree, data: bytes, ranges: list[tuple[int, int]]) -> Tree:
    """Parse `data`, which differs from the text of `tree` only in these byte ranges, line ends excepted: about three
    times as fast as parsing anew.  Line ends are where they were."""
    if len(ranges) > MAX_EDITS:
        return parse(data)
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)

    def point(offset: int) -> tuple[int, int]:
        row = bisect.bisect_right(starts, offset) - 1
        return row, offset - starts[row]

    old = tree.copy()
    for start, end in ranges:
        old.edit(start, end, end, point(start), point(end), point(end))
    return _parser().parse(data, old)


def first_named(node: Node) -> Node | None:
    """The first named child, or None (`Node.named_child` raises when there is none)."""
    return node.named_children[0] if node.named_child_count else None


def nested_too_deep(data: bytes) -> bool:
    """Whether brackets nest deeper than `MAX_NESTING` anywhere, counted without regard to strings and comments."""
    if data.count(b"(") + data.count(b"{") + data.count(b"[") <= MAX_NESTING:
        return False
    depth = 0
    for byte in data.translate(None, delete=_NOT_BRACKETS):
        if byte in b"([{":
            depth += 1
            if depth > MAX_NESTING:
                return True
        elif depth:
            depth -= 1
    return False


_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"()[]{}")
