"""Suppression comments: where they count, what they cover, what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlint.source.comments import find_comments
from kernlint.source.file import CUDA, PYTHON, SourceFile
from kernlint.source.suppressions import Suppression, find_suppressions


def _find(text: str, language: str = CUDA) -> tuple[Suppression, ...]:
    return find_suppressions(SourceFile("f", text.encode("utf-8", "surrogatepass"), language))


def _comments(text: str, language: str) -> list[str]:
    data = text.encode()
    return [data[c.start : c.end].decode() for c in find_comments(data, language)]


def test_a_comment_covers_its_own_line() -> None:
    (found,) = _find("int a;\nint b; // kernlint: ignore[KL201, shared-memory-race]: one warp only\nint c;\n")
    assert (found.scope, found.selectors, found.reason) == ("ignore", ("KL201", "shared-memory-race"), "one warp only")
    assert [line for line in (1, 2, 3) if found.covers(line, line)] == [2]
    assert found.covers(1, 2)
    assert not found.covers(3, 9)


def test_next_covers_the_next_line_with_code() -> None:
    text = "// kernlint: ignore-next[KL1]: x\n\n// a remark\n/* and\n a long one */\n  \nint a;\nint b;\n"
    (found,) = _find(text)
    assert (found.first, found.last) == (7, 7)
    (found,) = _find("# kernlint: ignore-next[KL1]: x\n\n# remark\nx = 1\n", PYTHON)
    assert found.first == 4


def test_next_at_the_end_of_the_file_covers_nothing_that_exists() -> None:
    (found,) = _find("int a;\n// kernlint: ignore-next[KL1]: x")
    assert not found.covers(1, 1)


def test_file_covers_everything() -> None:
    (found,) = _find("int a;\n/* kernlint: ignore-file[ALL]: generated */\n")
    assert found.reason == "generated"
    assert found.covers(1, 1)
    assert found.covers(900, 900)


def test_block_comments_may_hold_several_lines() -> None:
    found = _find("/*\n * kernlint: ignore-file[KL1]: a\n * kernlint: ignore-file[KL2]: b\n */\n")
    assert [(s.selectors, s.reason) for s in found] == [(("KL1",), "a"), (("KL2",), "b")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// kernlint: ignore", "form"),
        ("// kernlint: ignore KL201", "form"),
        ("// kernlint: ignore[KL201] because", "form"),
        ("// kernlint: ignore[]: x", "no rule"),
        ("// kernlint: ignore[ , ]: x", "no rule"),
        ("// kernlint: disable[KL201]: x", "disable"),
        ("// kernlint:", "directive"),
    ],
)
def test_malformed_comments_say_so_and_cover_nothing(text: str, problem: str) -> None:
    (found,) = _find(text)
    assert problem in found.problem
    assert not found.covers(1, 1)


def test_no_reason_is_no_reason() -> None:
    assert [s.reason for s in _find("// kernlint: ignore[A]\n// kernlint: ignore[A]:  \n")] == ["", ""]


@pytest.mark.parametrize(
    "text",
    [
        'const char* s = "// kernlint: ignore[KL1]: x";',
        'const char* s = R"(// kernlint: ignore[KL1]: x)";',
        'const char* s = R"x(// a )" // kernlint: ignore[KL1]: x)x";',
        "int kernlint: ignore;",
        "// see the manual on kernlint: ignore[KL1] comments",
    ],
)
def test_cuda_text_that_is_no_suppression(text: str) -> None:
    assert _find(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "s = '# kernlint: ignore[KL1]: x'",
        's = """\n# kernlint: ignore[KL1]: x\n"""',
        's = r"\\\\" "# kernlint: ignore[KL1]: x"',
        "s = '''it\\'s # kernlint: ignore[KL1]: x'''",
        "x // kernlint.ignore",
        's = "// kernlint: ignore[KL1]: no CUDA in here"',
    ],
)
def test_python_text_that_is_no_suppression(text: str) -> None:
    assert _find(text, PYTHON) == ()


def test_cuda_inside_python_strings_has_comments_of_its_own() -> None:
    text = 'src = """\n__global__ void k() {}  // kernlint: ignore[KL1]: x\n"""  # kernlint: ignore[KL2]: y\n'
    assert [(s.selectors, s.first) for s in _find(text, PYTHON)] == [(("KL1",), 2), (("KL2",), 3)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a / b; // c\n/* d */ e /*f*/", ["// c", "/* d */", "/*f*/"]),
        ("'\"' // a", ["// a"]),
        ("'//' // a", ["// a"]),
        ("1'000'000 // a", ["// a"]),
        ('"\\"// no" // a', ["// a"]),
        ('"open // not closed\n// a', ["// a"]),
        ("// continued \\\n still", ["// continued \\\n still"]),
        ("/* open", ["/* open"]),
        ('u8R"(//)" // a', ["// a"]),
        ("// a\r// b\r\n// c", ["// a", "// b", "// c"]),
    ],
)
def test_comments_of_cuda(text: str, expected: list[str]) -> None:
    assert _comments(text, CUDA) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1 # a\n# b", ["# a", "# b"]),
        ("x = '#' # a", ["# a"]),
        ("x = 'open # no\n# a", ["# a"]),
        ("x = '''open # no\n# no", []),
        ('x = "\\"#" # a', ["# a"]),
        ('x = """\\"""# no"""# a', ["# a"]),
        ("x = '''a''''#' # b", ["# b"]),
    ],
)
def test_comments_of_python(text: str, expected: list[str]) -> None:
    assert _comments(text, PYTHON) == expected


@given(st.binary(), st.sampled_from([CUDA, PYTHON]))
def test_comments_of_anything_are_ranges_in_order(data: bytes, language: str) -> None:
    at = 0
    for comment in find_comments(data, language):
        assert at <= comment.start < comment.end <= len(data)
        at = comment.end


@given(st.text("/*#\"'\\\n kernlint:ignore[KL1]-next", max_size=200), st.sampled_from([CUDA, PYTHON]))
def test_no_text_breaks_the_search(text: str, language: str) -> None:
    for found in _find(f"kernlint: {text}", language):
        assert found.problem or found.selectors
