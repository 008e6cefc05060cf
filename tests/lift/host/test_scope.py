"""What names mean, in one file and across files."""

from __future__ import annotations

import ast

import pytest
from python_project import Project

from kernlint.lift.host.definitions import Assigned, Function, Imported
from kernlint.lift.host.scope import PythonScope, scope_of

JIT = "@triton.jit\ndef {name}(x):\n    return x\n"


def scope(files: dict[str, str] | str, path: str = "main.py") -> PythonScope:
    project = Project({path: files} if isinstance(files, str) else files)
    found = scope_of(project.files[path], project)
    assert found is not None
    return found


def name(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("imports", "written", "dotted"),
    [
        ("import triton", "triton.jit", "triton.jit"),
        ("import triton as tr", "tr.jit", "triton.jit"),
        ("import triton.language as tl", "tl.load", "triton.language.load"),
        ("from triton import language as tl", "tl.load", "triton.language.load"),
        ("from triton.language import load as ld", "ld", "triton.language.load"),
        ("import torch.nn.functional", "torch.nn.functional.relu", "torch.nn.functional.relu"),
        ("try:\n    import triton\nexcept ImportError:\n    triton = None", "triton.cdiv", "triton.cdiv"),
        ("if True:\n    import triton as t", "t.cdiv", "triton.cdiv"),
        ("def f():\n    import triton as t\n    return t", "t.cdiv", "triton.cdiv"),
        ("x = 1", "unknown.name", "unknown.name"),
    ],
)
def test_dotted_names(imports: str, written: str, dotted: str) -> None:
    assert scope(imports).dotted(name(written)) == dotted


def test_dotted_of_what_is_no_name() -> None:
    assert scope("x = 1").dotted(name("f(1).g")) == ""


def test_names_followed_through_packages() -> None:
    files = {
        "main.py": "from pkg import helper\nfrom pkg.deep import *\nfrom pkg import deep\nfrom pkg.compat import tl\n",
        "pkg/__init__.py": "from .util import renamed as helper\n",
        "pkg/util.py": "def renamed(x):\n    return x\n",
        "pkg/deep.py": "from .util import renamed as starred\nLIMIT = 64\n_HIDDEN = LIMIT * 2\n",
        "pkg/compat.py": "import triton.language as tl\n",
    }
    main = scope(files)
    for written in ("helper", "starred", "deep.starred"):
        resolved = main.resolve_node(name(written))
        assert resolved is not None
        assert isinstance(resolved.definition, Function)
        assert (resolved.scope.path, resolved.definition.name) == ("pkg/util.py", "renamed")
    assert main.constant(name("LIMIT")) == 64
    assert main.constant(name("deep._HIDDEN")) == 128
    assert main.dotted(name("tl.load")) == "triton.language.load"
    assert main.files_read() == ("pkg/__init__.py", "pkg/compat.py", "pkg/deep.py", "pkg/util.py")


def test_import_cycles_end() -> None:
    files = {
        "main.py": "from other import f\nfrom other import *\n",
        "other.py": "from main import f\nfrom main import *\n",
    }
    resolved = scope(files).resolve("f")
    assert resolved is None or isinstance(resolved.definition, Imported)


def test_outside_the_project() -> None:
    resolved = scope("from elsewhere.ops import kernel").resolve("kernel")
    assert resolved is not None
    assert resolved.definition == Imported("elsewhere.ops", "kernel")
    assert resolved.dotted == "elsewhere.ops.kernel"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import triton\n" + JIT.format(name="k"), True),
        ("from triton import jit\n@jit\ndef k(x):\n    pass", True),
        ("import triton\n@triton.jit(do_not_specialize=['x'])\ndef k(x):\n    pass", True),
        ("import triton\n@triton.autotune(configs=[], key=[])\n@triton.jit\ndef k(x):\n    pass", True),
        ("import triton\ndef k(x):\n    pass\nk = triton.jit(k)", True),
        ("import triton\ndef k(x):\n    pass\nk = triton.heuristics({})(triton.jit(k))", True),
        ("from numba import jit\n@jit\ndef k(x):\n    pass", False),
        ("import torch\n@torch.jit.script\ndef k(x):\n    pass", False),
        ("import jax\n@jax.jit\ndef k(x):\n    pass", False),
        ("def k(x):\n    pass", False),
    ],
)
def test_jit_functions(source: str, expected: bool) -> None:
    (function,) = (function for function in scope(source).functions if function.name == "k")
    assert function.is_jit is expected


def test_wrappers_applied_later_are_kept_innermost_first() -> None:
    found = scope("import triton\ndef k(x):\n    pass\nk = triton.heuristics({})(triton.jit(k))\n")
    (function,) = found.functions
    assert [ast.unparse(wrapper) for wrapper in function.wrappers] == ["triton.jit", "triton.heuristics({})"]


def test_nested_functions_and_methods() -> None:
    found = scope("class A:\n    def m(self):\n        def inner():\n            pass\n\ndef top():\n    pass\n")
    assert [(f.name, f.class_name, f.outer.name if f.outer else "") for f in found.functions] == [
        ("m", "A", ""),
        ("inner", "", "m"),
        ("top", "", ""),
    ]
    assert list(found.names) == ["A", "top"]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("N = 64", 64),
        ("M = 8\nN = M * 16 + 1", 129),
        ("N: int = 1 << 4", 16),
        ("N = -2.5", -2.5),
        ("N = 'bf16'", "bf16"),
        ("import triton.language as tl\nN = tl.constexpr(32)", 32),
        ("A, N = 1, 2", 2),
        ("N = 1\nN = 2", None),
        ("N = 1\nN += 1", None),
        ("N = f()", None),
        ("N = 1 // 0", None),
        ("N = N", None),
        ("N = 10 ** 10 ** 10", None),
    ],
)
def test_constants(source: str, value: object) -> None:
    assert scope(source).constant(name("N")) == value


def test_conditional_definitions_keep_the_last() -> None:
    definition = scope("if x:\n    def f():\n        pass\nelse:\n    def f():\n        return 2\n").names["f"]
    assert isinstance(definition, Function)
    assert definition.node.lineno == 5


def test_assignment_never_hides_a_function() -> None:
    assert isinstance(scope("def f():\n    pass\nf = g(f)\n").names["f"], Function)
    assert isinstance(scope("x = 1\n").names["x"], Assigned)


@pytest.mark.parametrize(
    "source",
    [
        "if new:\n    f = tl.gather\nelse:\n    f = None\n",
        "if old:\n    f = None\nelse:\n    f = tl.gather\n",
        "f = None\nif new:\n    f = tl.gather\n",
        "try:\n    f: object = tl.gather\nexcept AttributeError:\n    f = None\n",
    ],
)
def test_none_gives_way_to_any_other_assignment(source: str) -> None:
    definition = scope(source).names["f"]
    assert isinstance(definition, Assigned)
    assert definition.value is not None
    assert ast.unparse(definition.value) == "tl.gather"


def test_different_assignments_say_nothing() -> None:
    definition = scope("f = None\nf = tl.gather\nf = tl.other\n").names["f"]
    assert isinstance(definition, Assigned)
    assert definition.value is None


@pytest.mark.parametrize(
    "prefix", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf# \xc3\xa9\n", b"# \xc3\xa9\xe2\x82\xac\r\n", b"x = 'a'\r"]
)
def test_spans_are_byte_ranges(prefix: bytes) -> None:
    from kernlint.source.file import PYTHON, NoResolver, SourceFile

    data = prefix + "é = 'ü'; value = call(é)\n".encode()
    found = scope_of(SourceFile("a.py", data, PYTHON), NoResolver())
    assert found is not None
    statement = found.tree.body[-1]
    assert isinstance(statement, ast.Assign)
    span = found.text.span(statement.value)
    assert data[span.start : span.end] == "call(é)".encode()


def test_spans_in_another_encoding() -> None:
    from kernlint.source.file import PYTHON, NoResolver, SourceFile

    data = "# coding: latin-1\né = 'ü'; value = call(é)\n".encode("latin-1")
    found = scope_of(SourceFile("a.py", data, PYTHON), NoResolver())
    assert found is not None
    statement = found.tree.body[-1]
    assert isinstance(statement, ast.Assign)
    span = found.text.span(statement.value)
    assert data[span.start : span.end] == "call(é)".encode("latin-1")
