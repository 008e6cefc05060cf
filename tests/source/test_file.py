"""Positions from byte offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlint.source.file import CUDA, Position, SourceFile


def _file(data: bytes) -> SourceFile:
    return SourceFile("f.cu", data, CUDA)


@pytest.mark.parametrize(
    ("data", "starts"),
    [(b"", [0]), (b"a", [0]), (b"\n", [0, 1]), (b"a\nb\r\nc\rd", [0, 2, 5, 7]), (b"\r\r\n\n", [0, 1, 3, 4])],
)
def test_lines_end_at_lf_cr_or_crlf(data: bytes, starts: list[int]) -> None:
    assert _file(data).line_starts == starts


def test_columns_count_characters_from_1() -> None:
    file = _file("ä\t😀x\nb".encode())
    assert [file.position(offset) for offset in (0, 2, 3, 7, 9, 99)] == [
        Position(1, 1),
        Position(1, 2),
        Position(1, 3),
        Position(1, 4),
        Position(2, 1),
        Position(2, 2),
    ]


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"\n\r")))
def test_every_offset_is_on_the_line_that_contains_it(data: bytes) -> None:
    file = _file(data)
    for offset in range(len(data)):
        line = file.line_of(offset)
        assert file.line_starts[line - 1] <= offset
        assert line == len(file.line_starts) or offset < file.line_starts[line]


def test_line_texts() -> None:
    file = _file(b"a\r\nb\xff\n")
    assert [file.line_text(line) for line in (0, 1, 2, 3, 4)] == ["", "a", "b\ufffd", "", ""]
