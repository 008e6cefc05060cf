"""Bind launches to kernels: which argument is which parameter, in the same file and across files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlint.ir.expr import Expr, const
from kernlint.ir.host import HostValue, Launch
from kernlint.ir.kernel import Framework, Kernel, Module, Param, ParamRole
from kernlint.lift.host.emit import truth_as_int


def bind(launch: Launch, kernel: Kernel) -> None:
    """Fill `arguments` (parameter name -> value) and `bindings` (parameter atom -> host expression).

    Positional arguments follow the order of the parameters, compile-time ones included (Triton).  Parameters that
    autotuning or heuristics set stay free, so do those a `*args` or `**options` of unknown content may set.
    """
    launch.kernel = kernel
    launch.kernel_name = kernel.name
    if launch not in kernel.launches:
        kernel.launches.append(launch)
    parameters = call_parameters(kernel)
    launch.attrs["unmatched"] = max(0, len(launch.positional) - len(parameters))
    for parameter, value in zip(parameters, launch.positional, strict=False):
        launch.arguments[parameter.name] = value
    for parameter in parameters:
        if parameter.name in launch.keywords:
            launch.arguments[parameter.name] = launch.keywords[parameter.name]
    for parameter in parameters:
        argument = launch.arguments.get(parameter.name)
        number = _argument_number(parameter, argument) if argument is not None else _default_number(launch, parameter)
        if number is not None:
            launch.bindings[f"p:{parameter.name}"] = number


def call_parameters(kernel: Kernel) -> list[Param]:
    """The parameters a call passes, in order."""
    return sorted((param for param in kernel.params if param.position >= 0), key=lambda param: param.position)


def _argument_number(parameter: Param, value: HostValue) -> Expr | None:
    if value.untyped is not None and parameter.role in (ParamRole.POINTER, ParamRole.DESCRIPTOR):
        # An argument of unknown type goes where the kernel takes a pointer: it is a tensor.
        value.tensor, value.expr, value.untyped = value.untyped, None, None
        return None
    if parameter.dtype is not None and parameter.dtype.is_float and parameter.role is ParamRole.SCALAR:
        return None
    if value.expr is not None and value.tensor is None:
        return value.expr
    return truth_as_int(value)


def _default_number(launch: Launch, parameter: Param) -> Expr | None:
    """A parameter left out takes its default, unless unknown arguments may set it."""
    if launch.attrs.get("starred") or launch.attrs.get("splat") or parameter.default is None:
        return None
    default = parameter.default
    if default.expr is not None:
        return default.expr
    value = default.attrs.get("value")
    return const(int(value)) if isinstance(value, int) else None


def bind_module(module: Module) -> None:
    """Bind the launches of a Python file to the Triton kernels of the same file."""
    by_offset = {kernel.span.start: kernel for kernel in module.kernels}
    by_name = {kernel.name: kernel for kernel in module.kernels if kernel.framework is Framework.TRITON}
    for launch in module.launches:
        if launch.kernel is not None:
            continue
        path = launch.attrs.get("kernel_path")
        if path is not None and path != module.path:
            continue
        kernel: Kernel | None = by_offset.get(launch.attrs.get("kernel_offset", -1))
        if kernel is None and launch.import_from is None:
            kernel = by_name.get(launch.kernel_name)
        if kernel is not None:
            bind(launch, kernel)


def bind_across(modules: Sequence[Module]) -> None:
    """Bind launches to kernels of other files, by the file their name was resolved to or by dotted module name."""
    paths = {module.path: module for module in modules}
    index: dict[tuple[str, str], list[Kernel]] = {}
    for module in modules:
        for kernel in module.kernels:
            index.setdefault((_stem(module.path), kernel.name), []).append(kernel)
    for module in modules:
        for launch in module.launches:
            if launch.kernel is None:
                found = _found(launch, module, paths, index)
                if found is not None:
                    bind(launch, found)


def _found(
    launch: Launch, module: Module, paths: dict[str, Module], index: dict[tuple[str, str], list[Kernel]]
) -> Kernel | None:
    path = launch.attrs.get("kernel_path")
    if path is not None:
        target = paths.get(path)
        if target is None:
            return None
        offset = launch.attrs.get("kernel_offset", -1)
        exact = next((kernel for kernel in target.kernels if kernel.span.start == offset), None)
        return exact or next((kernel for kernel in target.kernels if kernel.name == launch.kernel_name), None)
    if launch.import_from is None:
        return None
    dotted, name = launch.import_from
    parts = [part for part in dotted.split(".") if part]
    candidates = index.get((parts[-1] if parts else "", name), [])
    level = len(dotted) - len(dotted.lstrip("."))
    return _only(kernel for kernel in candidates if _matches(kernel.span.path, parts, level, module.path))


def _stem(path: str) -> str:
    """The last part of a file's module name: `a/b/c.py` -> `c`, `a/b/__init__.py` -> `b`."""
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _matches(path: str, parts: list[str], level: int, importer: str) -> bool:
    """Whether the file at `path` is the module `parts`, for a relative import seen from `importer`."""
    folders = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if folders[-len(parts) :] != parts:
        return False
    if level == 0:
        return True
    base = importer.split("/")[:-level]
    return folders[: len(folders) - len(parts)] == base


def _only(kernels: Iterable[Kernel]) -> Kernel | None:
    found = list(kernels)
    return found[0] if len(found) == 1 else None
