"""A code frame: source lines with their numbers, and marks under the exact places."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from kernlint.report.paint import FAINT, FRAME, Line
from kernlint.report.text import expand, one_line, width_of, window
from kernlint.source.file import SourceFile

_NARROWEST = 20
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to underline on one line; columns are 1-based characters, `end_column` exclusive."""

    line: int
    column: int
    end_column: int
    label: str = ""
    style: str = FRAME
    primary: bool = False

    @property
    def sign(self) -> str:
        return "^" if self.primary else "-"


def gutter_width(marks: Sequence[Mark], source: SourceFile | None) -> int:
    """The width of the largest line number that a frame over these marks shows."""
    last = max((mark.line + mark.primary for mark in marks), default=1)
    return len(str(min(last, len(source.line_starts)) if source else last))


def code_frame(source: SourceFile, marks: Sequence[Mark], gutter: int, width: int) -> list[Line]:
    """The lines of a frame, without a border.  Lines are at most `width` cells; long ones keep what is marked."""
    room = max(_NARROWEST, width - gutter - 3)
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: (mark.line, not mark.primary, mark.column)):
        by_line.setdefault(mark.line, []).append(mark)
    # Beside the shown part of a long line its neighbours would be cut at another place, or empty.
    shifted = any(_view(source, mark, room) for mark in marks if mark.primary)

    lines: list[Line] = []
    previous = 0
    for number in sorted(by_line) if shifted else _shown_lines(source, marks):
        if previous and number > previous + 1:
            lines.append([(" " * gutter + " :", FRAME)])
        previous = number
        here = by_line.get(number, [])
        start = _view(source, here[0], room) if here else 0
        lines.append(_source_row(source, number, start, gutter, room))
        for mark in here:
            lines += _mark_rows(source, mark, start, gutter, room)
    return lines


def _shown_lines(source: SourceFile, marks: Sequence[Mark]) -> list[int]:
    """Marked lines, the neighbours of the primary one unless blank, and single lines between two shown ones."""
    shown = {mark.line for mark in marks}
    for mark in marks:
        if mark.primary:
            shown |= {line for line in (mark.line - 1, mark.line + 1) if source.line_text(line).strip()}
    shown |= {line + 1 for line in shown if line + 2 in shown}
    return sorted(shown)


def _view(source: SourceFile, mark: Mark, room: int) -> int:
    """The cell at which a line's shown part begins, so that the mark is in it."""
    text, offsets = expand(source.line_text(mark.line))
    start, end = _cells_of(mark, offsets)
    if width_of(text) <= room or end <= room - 1:
        return 0
    return max(0, min(start - room // 4, width_of(text) - room + 1))


def _cells_of(mark: Mark, offsets: list[int]) -> tuple[int, int]:
    last = len(offsets) - 1
    start = offsets[min(mark.column - 1, last)]
    return start, max(start + 1, offsets[min(mark.end_column - 1, last)])


def _source_row(source: SourceFile, number: int, start: int, gutter: int, room: int) -> Line:
    text, _ = expand(source.line_text(number))
    cut_left, cut_right = start > 0, width_of(text) > start + room
    shown = window(text, start + cut_left, room - cut_left - cut_right)
    shown = _ELLIPSIS * cut_left + shown + _ELLIPSIS * cut_right
    return [(f"{number:>{gutter}} | ", FRAME), (shown.rstrip(), "")]


def _mark_rows(source: SourceFile, mark: Mark, view: int, gutter: int, room: int) -> list[Line]:
    """The marks with their label beside them, or below them where it would not fit."""
    _, offsets = expand(source.line_text(mark.line))
    start, end = _cells_of(mark, offsets)
    first = min(max(start - view, 0), room - 1)
    last = max(first + 1, min(end - view, room))
    border = (" " * gutter + " | ", FRAME)
    label, style = one_line(mark.label), FAINT if mark.primary else mark.style
    row: Line = [border, (" " * first + mark.sign * (last - first), mark.style)]
    if not label:
        return [row]
    if last + 1 + width_of(label) <= room:
        return [[*row, (" " + label, style)]]
    indent = min(first, room // 2)
    wrapped = textwrap.wrap(label, room - indent, break_on_hyphens=False)
    return [row, *([border, (" " * indent + text, style)] for text in wrapped)]
