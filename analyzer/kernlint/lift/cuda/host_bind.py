"""Binding a CUDA launch to its kernel: arguments, template arguments, and the integers among them."""

from __future__ import annotations

from kernlint.ir.host import HostValue, Launch
from kernlint.ir.kernel import Kernel, Param, ParamRole


def bind(launch: Launch, kernel: Kernel) -> None:
    """Fill `arguments` and `bindings` of the launch and add it to the kernel's launches.

    Explicit template arguments bind template parameters in order; defaults the rest.  Integer values bind the
    parameter's atom `p:NAME`.
    """
    launch.kernel = kernel
    if launch not in kernel.launches:
        kernel.launches.append(launch)
    templates = [param for param in kernel.params if param.position < 0]
    for param, value in zip(templates, launch.template_arguments, strict=False):
        _bind_one(launch, param.name, value, integer=param.role is ParamRole.CONSTEXPR)
    for param in templates[len(launch.template_arguments) :]:
        if param.default is not None and param.default.expr is not None:
            value = HostValue(expr=param.default.expr, span=param.default.span)
            if param.default.expr.constant is not None:
                _bind_one(launch, param.name, value, integer=True)
    ordinary = sorted((param for param in kernel.params if param.position >= 0), key=lambda param: param.position)
    for param, value in zip(ordinary, launch.positional, strict=False):
        _bind_one(launch, param.name, value, integer=_may_be_integer(param))


def _may_be_integer(param: Param) -> bool:
    return param.role is not ParamRole.POINTER and not (param.dtype is not None and param.dtype.is_float)


def _bind_one(launch: Launch, name: str, value: HostValue, integer: bool) -> None:
    launch.arguments[name] = value
    if integer and value.expr is not None and value.tensor is None:
        launch.bindings[f"p:{name}"] = value.expr
