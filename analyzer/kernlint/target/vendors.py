"""Files written for accelerators other than NVIDIA and AMD GPUs, recognised by the folder they stand in.

Their Triton forks allow what upstream Triton rejects (tiles that are no power of two, other memory sizes), so rules
about what upstream can compile or launch do not apply.  The names are those of FlagGems' backends (flag_gems/runtime/
backend) and of the forks listed under github.com/triton-lang.
"""

from __future__ import annotations

_VENDORS = frozenset(
    {
        "aipu", "arm", "ascend", "cambricon", "enflame", "gcu", "gcu300", "gcu400", "hygon", "iluvatar", "kunlunxin",
        "metax", "mlu", "mthreads", "musa", "npu", "spacemit", "sunrise", "thead", "tsingmicro", "xpu",
    }
)  # fmt: skip


# Cambricon/triton-linalg, CanonicalizeTriton.cpp: a masked load without `other` gets a zero one.
_ZERO_FILLING = frozenset({"cambricon", "mlu"})


def is_for_other_hardware(path: str) -> bool:
    """Whether a folder of the path (or the file's own name) says which other vendor it is for."""
    return not _VENDORS.isdisjoint(_names(path))


def fills_masked_lanes_with_zero(path: str) -> bool:
    """Whether the only compiler that sees the file defines masked lanes of loads without `other` to be 0."""
    return not _ZERO_FILLING.isdisjoint(_names(path))


def _names(path: str) -> list[str]:
    parts = path.lower().replace("\\", "/").split("/")
    return [part.removesuffix(".py").strip("_").removeprefix("triton_") for part in parts]
