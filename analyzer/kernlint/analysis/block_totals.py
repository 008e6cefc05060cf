"""Totals that belong to a scan, and kernels that nothing launches: where a wrong number is unlikely to be read."""

from __future__ import annotations

from kernlint.ir.kernel import Kernel, Module
from kernlint.ir.value import Value, ancestors


def is_block_total_of_scan(total: Value, load: Value, kernel: Kernel) -> bool:
    """Whether a full reduction sums a tile that the kernel also scans.

    Scan-then-fan writes such totals to scratch memory and the second pass reads those of the blocks before its own: the
    total of the last block, the only one with lanes past the end, is read by nobody.
    """
    if total.op != "reduce":
        return False
    scans = (value for value in kernel.values if value.op == "scan" and not value.attrs.get("reverse"))
    return any(any(part is load for part in ancestors(scan, 60)) for scan in scans)


def is_unused_beside_others(kernel: Kernel, module: Module) -> bool:
    """Whether the file launches its other kernels, but this one nobody launches or calls."""
    if kernel.launches or kernel.attrs.get("helper"):
        return False
    return any(other.launches for other in module.kernels if other is not kernel)
