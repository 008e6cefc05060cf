"""Taking a lifted module apart once it has been checked.

Accesses and the values they load, loops and what they carry, launches and kernels refer to each other.  Left alone,
they would stay until the garbage collector has searched the whole heap for them, at the price of many rules.
"""

from __future__ import annotations

from kernlint.ir.kernel import Access, Branch, Kernel, Loop, Module


def release(module: Module) -> None:
    """Cut the reference cycles of a module nobody will ask again, so that its memory is free at once."""
    for kernel in module.kernels:
        _release_kernel(kernel)
    for launch in module.launches:
        launch.kernel = None
        launch.host = None
    for function in module.functions:
        function.launches.clear()


def _release_kernel(kernel: Kernel) -> None:
    for value in kernel.values:
        value.args = ()
        value.attrs = {}
    regions = [kernel.body]
    while regions:
        region = regions.pop()
        for item in region.items:
            if isinstance(item, Access):
                item.value = item.other = item.mask_value = None
                item.attrs = {}
            elif isinstance(item, Loop):
                item.carries = ()
                regions.append(item.body)
            elif isinstance(item, Branch):
                regions += (item.then, item.otherwise)
            item.path = ()
        region.items = []
    kernel.values = []
    kernel.launches = []
    kernel.attrs = {}
