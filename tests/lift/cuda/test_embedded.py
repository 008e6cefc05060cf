"""CUDA in Python strings: found once, lifted whole, with positions in the Python file."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.ir.arith import cdiv
from kernlint.ir.expr import const, host
from kernlint.ir.kernel import Kernel, Module
from kernlint.lift.cuda.embedded import embedded_cuda
from kernlint.lift.cuda.embedded_text import StringReader
from kernlint.source.file import SourceFile

KERNEL = "__global__ void scale(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2.0f; }"


def tree_of(code: str | bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes
        return ast.parse(code)


def lifted(code: str) -> list[Module]:
    data = code.encode()
    return embedded_cuda(tree_of(data), SourceFile("e.py", data, "python"))


def kernels(code: str) -> list[Kernel]:
    return [kernel for module in lifted(code) for kernel in module.kernels]


def text_at(code: str, kernel: Kernel) -> str:
    return code.encode()[kernel.span.start : kernel.span.end].decode()


FORMS = {
    "plain": f'src = "{KERNEL}"',
    "raw triple": f'src = r"""\n{KERNEL}\n"""',
    "bytes": f'src = b"{KERNEL}"',
    "implicit concatenation": f'src = ("#define A 1\\n"  # why\n    "\\n" "{KERNEL}")',
    "explicit concatenation": f'head = "// h\\n"\nsrc = head + "{KERNEL}" + tail()',
    "f-string": 'src = f"' + KERNEL.replace("{", "{{").replace("}", "}}").replace("2.0f", "{factor}") + '"',
    "f-string with quotes in a hole": "src = f'''"
    + KERNEL.replace("{", "{{").replace("}", "}}").replace("2.0f", "{d['}']}")
    + "'''",
    "format": 'src = "' + KERNEL.replace("{", "{{").replace("}", "}}").replace("2.0f", "{f}") + '".format(f=3)',
    "percent": 'src = "' + KERNEL.replace("2.0f", "%d") + '" % 3',
    "template": 'src = Template("' + KERNEL.replace("2.0f", "${F}") + '").substitute(F=3)',
    "dedent": f'src = textwrap.dedent("""\n   {KERNEL}\n   """).strip()',
    "replace": f'src = "{KERNEL}".replace("a", "b")',
    "list of load_inline": f'm = load_inline(name="m", cpp_sources="", cuda_sources=["{KERNEL}"])',
    "dictionary value": f'sources = {{"k": "{KERNEL}"}}',
    "argument": f'compile("{KERNEL}")',
    "in a function": f'def f():\n    return cp.RawKernel("{KERNEL}", "scale")',
    "in a class": f'class A:\n    code = """{KERNEL}"""',
    "escaped": 'src = "' + KERNEL.replace(" void", "\\tvoid").replace("{", "{\\n", 1) + '"',
    "after non-ASCII text": f'name = "é😀"; src = "/* é */ {KERNEL}"',
    "byte order mark": f'\ufeffsrc = "{KERNEL}"',
    "Windows line ends": f'src = """\r\n{KERNEL}\r\n"""\r\n',
}


@pytest.mark.parametrize("name", list(FORMS))
def test_the_kernel_is_lifted_once_and_stands_where_it_is_written(name: str) -> None:
    code = FORMS[name]
    (kernel,) = kernels(code)
    assert kernel.name == "scale"
    assert not kernel.parsed_with_errors
    assert text_at(code, kernel) == "scale"
    first = min(kernel.accesses, key=lambda access: access.span.start)
    assert code.encode()[first.span.start : first.span.end].decode().startswith("x[threadIdx.x]")


@pytest.mark.parametrize(
    "code",
    [
        "",
        f'"""Docs: {KERNEL}"""\nx = 1',
        f'def f():\n    """{KERNEL}"""\n',
        f"# {KERNEL}\nx = 1",
        'if "__global__" in text: pass',
    ],
)
def test_documentation_and_comments_hold_no_kernels(code: str) -> None:
    assert kernels(code) == []


def test_a_header_in_another_string_is_part_of_the_text() -> None:
    code = (
        'HEADER = "__device__ float twice(float v) { return v * 2; }\\n#define N 4\\n"\n'
        'code = HEADER + "__global__ void k(float* x) { x[N] = twice(x[0]); }"\n'
        'kern = cupy.RawKernel(code, "k")\n'
    )
    (kernel,) = kernels(code)
    assert [access.index for access in kernel.accesses] == [const(0), const(4)]


def test_numbers_and_strings_put_into_a_string_are_known() -> None:
    code = (
        'N = 4\nBODY = "x[0] = 1;"\nsrc = f"__global__ void k(float* x) {{ __shared__ float s[{N}]; s[{N} - 1] = 1;'
        ' {BODY} x[{unknown + 1}] = s[0]; }}"\n'
    )
    (kernel,) = kernels(code)
    assert kernel.buffers["s"].extents == (const(4),)
    assert [repr(access.index) for access in kernel.accesses][:2] == ["3", "0"]
    stored = kernel.accesses[1]
    assert code[stored.span.start : stored.span.end].startswith("x[0]")


def test_launches_inside_the_text_are_bound_to_its_kernels() -> None:
    code = (
        f'src = """\n{KERNEL}\n'
        "torch::Tensor run(torch::Tensor a) {\n"
        '  scale<<<(a.numel() + 127) / 128, 128>>>(a.data_ptr<float>(), a.numel());\n  return a;\n}\n"""\n'
    )
    (module,) = lifted(code)
    (launch,) = module.launches
    assert launch.kernel is module.kernels[0]
    assert launch.status == "unchecked"
    assert code[launch.span.start : launch.span.end] == "scale<<<(a.numel() + 127) / 128, 128>>>"
    assert launch.grid is not None
    assert launch.grid[0].expr == cdiv(host("a.numel()"), const(128))


RAW = f'import cupy as cp\nkern = cp.RawKernel("{KERNEL}", "scale")\nT = 32\n'


@pytest.mark.parametrize(
    "code",
    [
        RAW + "def go(x):\n    n = x.size\n    kern(((n + 31) // 32,), (T,), (x, n), shared_mem=64)\n",
        RAW + "def go(x):\n    grid = (-(-x.size // 32), )\n    kern(grid, (32,), (x, cp.int32(x.size)))\n",
        RAW + "def go(x):\n    args = (x, x.size)\n    kern((cdiv(x.size, 32),), (T,), args)\n",
        f'class A:\n    def __init__(self):\n        self.m = cp.RawModule(code="{KERNEL}")\n'
        '        self.k = self.m.get_function("scale")\n    def go(self, x):\n'
        "        self.k(((x.size + 31) // 32,), (32,), (x, x.size))\n",
        f'mod = SourceModule("{KERNEL}")\nf = mod.get_function("scale")\ndef go(x):\n'
        "    f(x, np.int32(x.size), block=(32, 1, 1), grid=((x.size + 31) // 32, 1))\n",
    ],
)
def test_launches_of_raw_kernels(code: str) -> None:
    *_, module = lifted(code)
    (launch,) = module.launches
    assert launch.kernel is not None
    assert launch.host is not None
    assert (launch.kernel.name, launch.host.name, launch.status) == ("scale", "go", "checked")
    assert launch.grid is not None
    assert launch.block is not None
    assert launch.grid[0].expr == cdiv(host("x.size"), const(32))
    assert launch.block[0].expr == const(32)
    assert launch.bindings == {"p:n": host("x.size")}


def test_calls_of_other_things_are_no_launches() -> None:
    assert all(
        not module.launches for module in lifted(RAW + "def go(x):\n    kernel((1,), (1,), (x,))\n    kern(x)\n")
    )


def test_a_name_bound_twice_is_not_followed() -> None:
    code = f'n = 1\nn = 2\nsrc = f"#define N {{n}}\\n" "{KERNEL}"'
    (kernel,) = kernels(code)
    assert text_at(code, kernel) == "scale"


@pytest.mark.parametrize(
    "code",
    [
        'x = f"__global__ {',
        "x = '" + "__global__ {" * 3000 + "'",
        'a = b\nb = a + "__global__ void k() {"\n',
        "x = " + "(" * 50 + "'__global__'" + ")" * 50,
        "x = " + " + ".join(["'__global__ void k(int* p) { p[0] = 1; }'"] * 300),
        'x = "\\N{BULLET} \\x41 \\u0041 \\101 __global__ \\q"',
        'x = f"{__global__!r:>{width}} __global__ {{}} {a if b else c}"',
    ],
)
def test_odd_strings_are_survived(code: str) -> None:
    try:
        tree_of(code)
    except SyntaxError:
        return
    for module in lifted(code):
        assert not [region.reason for region in module.unparsed if "internal" in region.reason]


_CHARS = st.sampled_from(list("ab\\nr\"'{}\n\t é😀%$#()"))


@settings(max_examples=300, deadline=None)
@given(
    st.text(_CHARS, max_size=30), st.sampled_from(["", "r", "b", "f", "rf"]), st.sampled_from(['"', "'", '"""', "'''"])
)
def test_text_and_positions_agree_with_python(body: str, prefix: str, quote: str) -> None:
    """Whatever Python reads from a literal without holes, the reader reads too; plain bytes stand where they say."""
    code = f"é = 1; x = {prefix}{quote}{body}{quote}"
    try:
        tree = tree_of(code)
    except (SyntaxError, ValueError):
        return
    statement = tree.body[1]
    assert isinstance(statement, ast.Assign)
    node = statement.value
    holes = isinstance(node, ast.JoinedStr) and any(not isinstance(part, ast.Constant) for part in node.values)
    if holes or not isinstance(node, (ast.Constant, ast.JoinedStr)):
        return
    value = node.value if isinstance(node, ast.Constant) else "".join(ast.literal_eval(part) for part in node.values)
    expected = value if isinstance(value, bytes) else str(value).encode()
    data = code.encode()
    text = StringReader(SourceFile("e.py", data, "python"), {}).read(node)
    if text is None:
        assert expected == b""
        return
    assert text.text == expected
    offsets = text.offsets
    at = 0
    for piece in text.pieces:
        if not piece.frozen:
            assert data[offsets(at) : offsets(at) + len(piece.text)] == piece.text
        at += len(piece.text)
