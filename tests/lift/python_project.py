"""Small Python projects held in memory, for tests of the host front end."""

from __future__ import annotations

from kernlint.ir.host import Launch
from kernlint.ir.kernel import Module
from kernlint.lift.python import lift_python
from kernlint.source.file import PYTHON, SourceFile

HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
"""


class Project:
    """A resolver over files given as text; module `a.b` is `a/b.py` or `a/b/__init__.py`."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: SourceFile(path, text.encode(), PYTHON) for path, text in files.items()}

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        base = importer.split("/")[:-level] if level else []
        stem = "/".join([*base, *(part for part in module.split(".") if part)])
        return self.files.get(f"{stem}.py") or self.files.get(f"{stem}/__init__.py")

    def include(self, name: str, includer: str) -> SourceFile | None:
        return None

    def lift(self, path: str) -> Module:
        return lift_python(self.files[path], self)


def lifted(source: str, path: str = "ops.py") -> Module:
    return Project({path: source}).lift(path)


def launch_in(body: str, head: str = HEAD) -> Launch:
    """The only launch of a file made of a small kernel and `body`."""
    module = lifted(head + body)
    (launch,) = module.launches
    return launch


def grid_text(launch: Launch) -> list[str] | None:
    return None if launch.grid is None else [repr(dim.expr) for dim in launch.grid]
