"""Hardware limits that decide whether a launch or a configuration can run at all.

Sources.  "PG" is the CUDA C++ Programming Guide, appendix "Compute Capabilities", table "Technical Specifications per
Compute Capability"; "Tuning" the per-architecture tuning guides, section "Shared Memory".  Sizes are in bytes.
"""

from __future__ import annotations

import re

from kernlint.records import dataclass

KIB = 1024

MAX_THREADS_PER_BLOCK = 1024  # PG: maximum number of threads per block, all supported capabilities
MAX_BLOCK_DIM = (1024, 1024, 64)  # PG: maximum x-, y- and z-dimension of a block
MAX_GRID_DIM = (2**31 - 1, 65535, 65535)  # PG: maximum x-, y- and z-dimension of a grid
WARP_SIZE = 32  # PG: warp size, all capabilities
STATIC_SHARED_BYTES = 48 * KIB  # PG: without cudaFuncAttributeMaxDynamicSharedMemorySize (static arrays never more)
SHARED_BANKS = 32  # PG: number of shared memory banks
BANK_BYTES = 4  # PG 5.x and up: successive 32-bit words go to successive banks
SECTOR_BYTES = 32  # granularity of global-memory transfers in L1 and L2 (Nsight Compute, "Memory Tables")
MAX_CLUSTER_BLOCKS = 8  # PG, thread block clusters: portable maximum

TRITON_MAX_TILE_NUMEL = 2**20  # triton/language/core.py: TRITON_MAX_TENSOR_NUMEL = 1048576
TRITON_DEFAULT_NUM_WARPS = 4  # triton/runtime/autotuner.py, Config
TRITON_DEFAULT_NUM_STAGES = 3  # triton/runtime/autotuner.py, Config
TRITON_MIN_DOT = 16  # tl.dot: smallest M, N and K below which older Triton rejects a dot (triton#2266, #3709)


@dataclass(frozen=True, slots=True)
class ArchLimits:
    """Limits of one compute capability.  `shared_opt_in` is the most shared memory one block may have after
    `cudaFuncSetAttribute`; Triton always opts in."""

    name: str
    shared_opt_in: int
    shared_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int = 64 * KIB  # 32-bit registers; PG: 64 K on all rows below
    registers_per_thread: int = 255  # PG


# PG, rows "Maximum amount of shared memory per thread block", "... per SM", "Maximum number of resident threads per
# SM" and "... resident blocks per SM".  sm_87 is Orin, sm_89 Ada, sm_103 B300, sm_120/121 consumer Blackwell.
_ROWS = (
    ArchLimits("sm_60", 48 * KIB, 64 * KIB, 2048, 32),
    ArchLimits("sm_61", 48 * KIB, 96 * KIB, 2048, 32),
    ArchLimits("sm_70", 96 * KIB, 96 * KIB, 2048, 32),
    ArchLimits("sm_72", 96 * KIB, 96 * KIB, 2048, 32),
    ArchLimits("sm_75", 64 * KIB, 64 * KIB, 1024, 16),
    ArchLimits("sm_80", 163 * KIB, 164 * KIB, 2048, 32),
    ArchLimits("sm_86", 99 * KIB, 100 * KIB, 1536, 16),
    ArchLimits("sm_87", 163 * KIB, 164 * KIB, 1536, 16),
    ArchLimits("sm_89", 99 * KIB, 100 * KIB, 1536, 24),
    ArchLimits("sm_90", 227 * KIB, 228 * KIB, 2048, 32),
    ArchLimits("sm_100", 227 * KIB, 228 * KIB, 2048, 32),
    ArchLimits("sm_103", 227 * KIB, 228 * KIB, 2048, 32),
    ArchLimits("sm_120", 99 * KIB, 100 * KIB, 1536, 24),
    ArchLimits("sm_121", 99 * KIB, 100 * KIB, 1536, 24),
)

ARCHITECTURES: dict[str, ArchLimits] = {row.name: row for row in _ROWS}

_NAME = re.compile(r"^(?:sm|compute)_(\d+)[af]?$")


def architecture(target: str) -> ArchLimits | None:
    """The row for a target such as `sm_90`, `sm_90a`, `compute_80`; None for one not in the table."""
    match = _NAME.match(target.strip().lower())
    return ARCHITECTURES.get(f"sm_{match.group(1)}") if match else None


def most_shared_memory(targets: tuple[str, ...]) -> tuple[int, str] | None:
    """The largest opt-in shared memory per block among the targets, and which target has it: what exceeds it runs on
    none of them.  None when no target is in the table."""
    known = [row for row in map(architecture, targets) if row is not None]
    if not known:
        return None
    best = max(known, key=lambda row: (row.shared_opt_in, row.name))
    return best.shared_opt_in, best.name


def least_shared_memory(targets: tuple[str, ...]) -> tuple[int, str] | None:
    """The smallest opt-in shared memory per block among the targets: what exceeds it fails on at least that one."""
    known = [row for row in map(architecture, targets) if row is not None]
    if not known:
        return None
    worst = min(known, key=lambda row: (row.shared_opt_in, row.name))
    return worst.shared_opt_in, worst.name
