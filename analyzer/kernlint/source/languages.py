"""Which files kernlint reads, by name and by a look at their bytes."""

from __future__ import annotations

import re

from kernlint.source.file import CUDA, PYTHON

CUDA_SUFFIXES = (".cu", ".cuh", ".cu.h", ".cu.inc")
# C++ by name; CUDA only when they hold device code or a launch.
CPP_SUFFIXES = (".h", ".hpp", ".hxx", ".hh", ".inl", ".cpp", ".cc", ".cxx")
PYTHON_SUFFIXES = (".py", ".pyi")

_DEVICE_CODE = re.compile(rb"__global__|__device__|<<<")
_CUDA_TEXT = re.compile(rb"__global__|__device__|<<<|cudaLaunchKernel|cuLaunchKernel|cudaLaunchCooperativeKernel")
_PYTHON_MARKS = (
    b"triton",
    b"gluon",
    b"__global__",
    b"load_inline",
    b"cpp_extension",
    b"RawKernel",
    b"RawModule",
    b"kernlint:",
)


def language_of(path: str) -> str | None:
    """`cuda` or `python` by the file's name, None when the name says nothing.  C++ names count as CUDA."""
    name = path.lower()
    if name.endswith(PYTHON_SUFFIXES):
        return PYTHON
    return CUDA if name.endswith(CUDA_SUFFIXES + CPP_SUFFIXES) else None


def guessed_language(data: bytes) -> str | None:
    """The language of a file whose name says nothing."""
    if _DEVICE_CODE.search(data):
        return CUDA
    first = data[:200].split(b"\n", 1)[0]
    return PYTHON if b"python" in first or b"triton" in data else None


def is_plain_cpp(path: str, data: bytes) -> bool:
    """Whether a C++ file has no device code and no launch, so that it is none of our business."""
    name = path.lower()
    return name.endswith(CPP_SUFFIXES) and not name.endswith(CUDA_SUFFIXES) and not _DEVICE_CODE.search(data)


def may_hold_kernels(data: bytes, language: str) -> bool:
    """Whether the bytes can hold a kernel, a launch or a suppression comment.  False dismisses the file unparsed."""
    if language == CUDA:
        return b"kernlint:" in data or _CUDA_TEXT.search(data) is not None
    if any(mark in data for mark in _PYTHON_MARKS):
        return True
    # `kernel[grid](...)` or `kernel[(n,)](...)` with an imported kernel
    return b")](" in data or (b"](" in data and (b"grid" in data or b"num_warps" in data))
