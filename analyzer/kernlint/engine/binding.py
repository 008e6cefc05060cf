"""Kernels launched from other files: which launch means which kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kernlint.engine.check import FileResult, UnboundLaunch, every_launch, unbound
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework, Kernel, Module

Foreign = tuple[str, tuple[UnboundLaunch, ...]]  # a launching file, and which of its launches


def launchers_by_file(results: Iterable[FileResult]) -> dict[str, tuple[Foreign, ...]]:
    """For each file whose kernels other files launch, these files, sorted, with the launches in question.

    Where the front end followed the import, that place counts.  Otherwise a launch means the kernel of its (exported)
    name in the one file that the launching file read and that has one; failing that, the only kernel of that name in
    the run, when the name was imported at all.
    """
    results = list(results)
    homes: dict[str, list[str]] = defaultdict(list)
    for result in results:
        for name in dict.fromkeys(result.kernels):
            homes[name].append(result.path)
    found: dict[str, dict[str, dict[UnboundLaunch, None]]] = defaultdict(lambda: defaultdict(dict))
    known = frozenset(result.path for result in results if result.kernels)
    for result in results:
        read = frozenset(lookup.found for lookup in result.lookups) | frozenset(result.dependencies)
        for launch in result.unbound:
            home = _home(launch, result.path, read, homes, known)
            if home is not None:
                found[home][result.path][launch] = None
    return {home: tuple((path, tuple(found[home][path])) for path in sorted(found[home])) for home in sorted(found)}


def _home(
    launch: UnboundLaunch, launcher: str, read: frozenset[str], homes: Mapping[str, list[str]], known: frozenset[str]
) -> str | None:
    if launch.path:
        return launch.path if launch.path != launcher and launch.path in known else None
    candidates = [path for path in homes.get(exported_name(launch), ()) if path != launcher]
    near = [path for path in candidates if path in read]
    if len(near) == 1:
        return near[0]
    return candidates[0] if launch.import_from is not None and not near and len(candidates) == 1 else None


def exported_name(launch: UnboundLaunch) -> str:
    """The kernel's name in its own file: an import may have renamed it."""
    if launch.import_from is not None and launch.import_from[1]:
        return launch.import_from[1]
    return launch.kernel


def bind_from(launcher: Module, wanted: Iterable[UnboundLaunch], kernels: Module) -> None:
    """Bind some launches of one module to the kernels of another."""
    by_name: dict[str, Kernel] = {}
    by_offset: dict[int, Kernel] = {}
    for kernel in kernels.kernels:
        by_name.setdefault(kernel.name, kernel)
        by_offset[kernel.span.start] = kernel
    meant = frozenset(wanted)
    for launch in every_launch(launcher):
        description = unbound(launch)
        if description in meant:
            found = by_offset.get(description.offset) or by_name.get(exported_name(description))
            if found is not None:
                _bind(launch, found)


def _bind(launch: Launch, kernel: Kernel) -> None:
    if kernel.framework is Framework.CUDA:
        from kernlint.lift.cuda.host_bind import bind as bind_cuda

        bind_cuda(launch, kernel)
    else:
        from kernlint.lift.binding import bind

        bind(launch, kernel)
