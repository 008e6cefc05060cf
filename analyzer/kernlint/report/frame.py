"""A code frame: source lines with their numbers, and marks under the exact places."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.report.paint import FAINT, FRAME, Line
from kernlint.report.text import expand, one_line, width_of, window
from kernlint.source.file import SourceFile

_NARROWEST = 20
_ELLIPSIS = "…"
_LOOKED_AT = 2000  # characters on each side of a mark


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
    views = {line: _view(source, line, here[0], room) for line, here in by_line.items()}
    # Beside the shown part of a long line its neighbours would be cut at another place, or empty.
    shifted = any(mark.primary and views[mark.line].is_cut_left for mark in marks)

    lines: list[Line] = []
    previous = 0
    for number in sorted(by_line) if shifted else _shown_lines(source, marks):
        if previous and number > previous + 1:
            lines.append([(" " * gutter + " :", FRAME)])
        previous = number
        view = views.get(number) or _view(source, number, None, room)
        lines.append([(f"{number:>{gutter}} | ", FRAME), (view.shown(), "")])
        for mark in by_line.get(number, []):
            lines += _mark_rows(mark, view, gutter)
    return lines


def _shown_lines(source: SourceFile, marks: Sequence[Mark]) -> list[int]:
    """Marked lines, the neighbours of the primary one unless blank, and single lines between two shown ones."""
    shown = {mark.line for mark in marks}
    for mark in marks:
        if mark.primary:
            shown |= {line for line in (mark.line - 1, mark.line + 1) if source.line_text(line).strip()}
    shown |= {line + 1 for line in shown if line + 2 in shown}
    return sorted(shown)


@dataclass(frozen=True, slots=True)
class _View:
    """The part of a line that is shown: `room` cells from cell `start` of `text`, whose first character is character
    `skipped` of the line and whose characters begin at the cells `offsets`."""

    text: str
    offsets: list[int]
    skipped: int
    start: int
    room: int

    @property
    def is_cut_left(self) -> bool:
        return self.start > 0 or self.skipped > 0

    def cells_of(self, mark: Mark) -> tuple[int, int]:
        """First and last-plus-one cell of a mark within the shown part, at least one cell."""
        last = len(self.offsets) - 1
        start = self.offsets[max(0, min(mark.column - 1 - self.skipped, last))]
        end = self.offsets[max(0, min(mark.end_column - 1 - self.skipped, last))]
        first = min(max(start - self.start, 0), self.room - 1)
        return first, max(first + 1, min(end - self.start, self.room))

    def shown(self) -> str:
        right = self.offsets[-1] > self.start + self.room
        text = window(self.text, self.start + self.is_cut_left, self.room - self.is_cut_left - right)
        return (_ELLIPSIS * self.is_cut_left + text + _ELLIPSIS * right).rstrip()


def _view(source: SourceFile, line: int, mark: Mark | None, room: int) -> _View:
    """What is shown of a line so that the mark is in it.  Of a line of megabytes only its neighbourhood is expanded."""
    whole = source.line_text(line)
    column = mark.column if mark else 1
    skipped = max(0, column - _LOOKED_AT) if len(whole) > 2 * _LOOKED_AT else 0
    text, offsets = expand(whole[skipped : skipped + 2 * _LOOKED_AT])
    view = _View(text, offsets, skipped, 0, room)
    if mark is None or offsets[-1] <= room:
        return view
    start = offsets[max(0, min(mark.column - 1 - skipped, len(offsets) - 1))]
    end = max(start + 1, offsets[max(0, min(mark.end_column - 1 - skipped, len(offsets) - 1))])
    if end <= room - 1 and not skipped:
        return view
    return replace(view, start=max(0, min(start - room // 4, offsets[-1] - room + 1)))


def _mark_rows(mark: Mark, view: _View, gutter: int) -> list[Line]:
    """The marks with their label beside them, or below them where it would not fit."""
    first, last = view.cells_of(mark)
    border = (" " * gutter + " | ", FRAME)
    label, style = one_line(mark.label), FAINT if mark.primary else mark.style
    row: Line = [border, (" " * first + mark.sign * (last - first), mark.style)]
    if not label:
        return [row]
    if last + 1 + width_of(label) <= view.room:
        return [[*row, (" " + label, style)]]
    indent = min(first, view.room // 2)
    wrapped = textwrap.wrap(label, view.room - indent, break_on_hyphens=False)
    return [row, *([border, (" " * indent + text, style)] for text in wrapped)]
