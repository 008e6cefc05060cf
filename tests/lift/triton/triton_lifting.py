"""Lifting short sources in tests."""

from __future__ import annotations

import textwrap

from kernlint.ir.kernel import Access, Kernel
from kernlint.ir.value import Value
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.host.text import PythonText, parse_python
from kernlint.lift.triton.kernels import lift_triton
from kernlint.source.file import NoResolver, SourceFile

HEADER = "import triton\nimport triton.language as tl\n\n"


class Project:
    """Other files of the project, by module name."""

    def __init__(self, **files: str) -> None:
        self.files = {name.replace("__", "."): text for name, text in files.items()}

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        text = self.files.get(module)
        return SourceFile(f"{module}.py", text.encode(), "python") if text is not None else None

    def include(self, name: str, includer: str) -> SourceFile | None:
        return None


def lift_all(text: str, project: Project | None = None) -> list[Kernel]:
    source = SourceFile("kernels.py", (HEADER + textwrap.dedent(text)).encode(), "python")
    parsed = parse_python(source)
    assert isinstance(parsed, PythonText)
    resolver = project or NoResolver()
    scope = PythonScope(parsed, resolver)
    return lift_triton(parsed.tree, source, scope, resolver)


def lift(text: str, project: Project | None = None) -> Kernel:
    """The last kernel of the source, which must have been lifted whole."""
    kernel = lift_all(text, project)[-1]
    assert kernel.incomplete == ""
    return kernel


def body(parameters: str, statements: str) -> Kernel:
    """A kernel from its parameters and its statements."""
    inner = textwrap.indent(textwrap.dedent(statements).strip("\n"), "    ")
    return lift(f"@triton.jit\ndef kernel({parameters}):\n{inner}\n")


def index(access: Access) -> str:
    return repr(access.index)


def mask(access: Access) -> str:
    return repr(access.mask)


def guard(access: Access) -> str:
    return repr(access.guard)


def stored(kernel: Kernel) -> Value:
    """What the last store writes."""
    value = [access for access in kernel.accesses if access.writes][-1].value
    assert value is not None
    return value
