"""The kernel IR as text, for `kernlint print`: what was understood of a file.

Every function returns whole lines ending in a newline, in source order.  `line_of` turns byte offsets into line numbers
(`SourceFile.line_of`); without it places are given as byte offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Expr
from kernlint.ir.host import GridDim, HostValue, Launch, TensorFacts
from kernlint.ir.kernel import Access, Autotune, Barrier, Branch, Exit, Kernel, Loop, Module, Param, Region
from kernlint.ir.types import ElementType, Span
from kernlint.ir.value import Value

LineOf = Callable[[int], int] | None
MAX_TEXT = 160  # characters of one expression or condition


def print_ir(module: Module, line_of: LineOf = None) -> str:
    """Kernels with parameters, values and structure, then host functions and launches."""
    lines: list[str] = []
    for kernel in module.kernels:
        lines += _kernel_header(kernel, line_of)
        lines += [f"  {line}" for line in _parameters(kernel)]
        if kernel.autotune is not None:
            lines += [f"  {line}" for line in _autotune(kernel.autotune)]
        lines += [f"  heuristic {name}: {_operand(value)}" for name, value in sorted(kernel.heuristics.items())]
        lines += [f"  assume {_condition(fact)}" for fact in kernel.facts]
        if kernel.values:
            lines.append("  values")
            lines += [f"    {_value(value)}" for value in kernel.values]
        lines.append("  body")
        lines += _region(kernel.body, "    ", line_of)
        lines += [f"  not understood: {why} ({count})" for why, count in sorted(kernel.opaque_reasons.items())]
        lines.append("")
    lines += _launch_lines(module, line_of)
    lines += _unparsed(module, line_of)
    return _text(lines)


def print_cfg(module: Module, line_of: LineOf = None) -> str:
    """The control structure of each kernel: loops, branches, early exits, and what happens in them."""
    lines: list[str] = []
    for kernel in module.kernels:
        lines += _kernel_header(kernel, line_of)
        lines += _region(kernel.body, "  ", line_of)
        lines.append("")
    return _text(lines + _unparsed(module, line_of))


def print_accesses(module: Module, line_of: LineOf = None) -> str:
    """Every memory access: index, guard, mask, fill, type."""
    lines: list[str] = []
    for kernel in module.kernels:
        lines += _kernel_header(kernel, line_of)
        known = sum(access.index_is_known for access in kernel.accesses)
        for access in kernel.accesses:
            lines.append(f"  {_place(access.span, line_of)}: {_access(access)}")
            lines += [f"      {detail}" for detail in _access_details(access)]
        lines += [f"  {known} of {len(kernel.accesses)} indices known", ""]
    return _text(lines + _unparsed(module, line_of))


def print_barriers(module: Module, line_of: LineOf = None) -> str:
    """Every barrier and fence, with what must hold for a thread to reach it."""
    lines: list[str] = []
    for kernel in module.kernels:
        lines += _kernel_header(kernel, line_of)
        lines += [f"  {_place(item.span, line_of)}: {_barrier(item)}" for item in kernel.barriers]
        lines.append("")
    return _text(lines + _unparsed(module, line_of))


def print_launches(module: Module, line_of: LineOf = None) -> str:
    """Every launch: kernel, grid, arguments, and what the host established before it."""
    return _text(_launch_lines(module, line_of) + _unparsed(module, line_of))


def _text(lines: list[str]) -> str:
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _place(span: Span | None, line_of: LineOf) -> str:
    if span is None:
        return "?"
    return f"line {line_of(span.start)}" if line_of is not None else f"@{span.start}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _expr(expr: Expr | None) -> str:
    return "?" if expr is None else _short(repr(expr))


def _condition(condition: Condition | None) -> str:
    return "?" if condition is None else _short(repr(condition))


def _dtype(dtype: ElementType | None, polymorphic: bool = False) -> str:
    return ("~" if polymorphic else "") + ("?" if dtype is None else repr(dtype))


def _shape(shape: Iterable[Expr | None]) -> str:
    return "[" + ", ".join(_expr(size) for size in shape) + "]"


def _kernel_header(kernel: Kernel, line_of: LineOf) -> list[str]:
    names = ", ".join(param.name for param in kernel.params)
    header = f"kernel {kernel.name}({names})  {kernel.framework.value}, {_place(kernel.span, line_of)}"
    if kernel.incomplete:
        header += f", incomplete: {kernel.incomplete}"
    if kernel.parsed_with_errors:
        header += ", parsed with errors"
    lines = [header]
    bounds = [_expr(bound) for bound in kernel.launch_bounds if bound is not None]
    if bounds:
        lines.append(f"  launch bounds {', '.join(bounds)}")
    if kernel.cluster_dims:
        lines.append(f"  cluster {_shape(kernel.cluster_dims)}")
    return lines


def _parameters(kernel: Kernel) -> Iterator[str]:
    for param in kernel.params:
        yield f"param {_parameter(param)}"
    for buffer in kernel.buffers.values():
        if buffer.is_param:
            continue
        extents = "" if buffer.extents is None else _shape(buffer.extents)
        note = " dynamic" if buffer.dynamic else ""
        yield f"{buffer.space.value} {buffer.name}{extents}: {_dtype(buffer.dtype)}{note}"


def _parameter(param: Param) -> str:
    text = f"{param.name}: {param.role.value}"
    if param.dtype is not None:
        text += f" {_dtype(param.dtype)}"
    if param.default is not None:
        text += f" = {_operand(param.default)}"
    return text


def _autotune(autotune: Autotune) -> Iterator[str]:
    key = ", ".join(name for name, _ in autotune.key) if autotune.key_known else "?"
    count = "unknown" if autotune.configs is None else str(len(autotune.configs))
    whole = "" if autotune.complete else " (incomplete)"
    yield f"autotune key [{key}], {count} configs{whole}"
    for config in autotune.configs or ():
        values = ", ".join(f"{name}={value}" for name, value in config.values.items())
        yield f"  config {values} num_warps={config.num_warps} num_stages={config.num_stages}"
    for label, names in (("restore_value", autotune.restore_value), ("reset_to_zero", autotune.reset_to_zero)):
        if names:
            yield f"  {label} {', '.join(names)}"


def _operand(value: Value | None) -> str:
    if value is None:
        return "?"
    if value.op == "const":
        return str(value.attrs.get("value"))
    return f"%{value.ordinal}" + (f"({value.name})" if value.name else "")


def _value(value: Value) -> str:
    inputs = ", ".join(_operand(arg) for arg in value.args)
    name = f" {value.name} =" if value.name else " ="
    text = f"%{value.ordinal}{name} {value.op}({inputs}){_attributes(value)}"
    text += f": {_dtype(value.dtype, value.polymorphic)}"
    if value.shape:
        text += _shape(value.shape)
    if value.pointer is not None:
        text += f"  &{value.pointer.buffer or '?'}[{_expr(value.pointer.offset)}]"
    elif value.expr is not None and value.op != "const":
        text += f"  = {_expr(value.expr)}"
    elif value.cond is not None:
        text += f"  = {_condition(value.cond)}"
    return text


def _attributes(value: Value) -> str:
    """The plain attributes, sorted by name."""
    shown = []
    for name in sorted(value.attrs):
        item = value.attrs[name]
        if isinstance(item, (str, int, float, bool, ElementType)):
            shown.append(f"{name}={item}")
    return f" {{{', '.join(shown)}}}" if shown else ""


def _region(region: Region, indent: str, line_of: LineOf) -> Iterator[str]:
    """A region's items, one a line, nested ones indented.  Iterative: regions may be deep."""
    stack: list[tuple[str, Iterator[Access | Barrier | Loop | Branch | Exit] | str]] = [(indent, iter(region.items))]
    while stack:
        level, items = stack.pop()
        if isinstance(items, str):
            yield level + items
            continue
        item = next(items, None)
        if item is None:
            continue
        stack.append((level, items))
        where = _place(item.span, line_of)
        if isinstance(item, Access):
            yield f"{level}{where}: {_access(item)}"
        elif isinstance(item, Barrier):
            yield f"{level}{where}: {_barrier(item)}"
        elif isinstance(item, Exit):
            yield f"{level}{where}: {item.kind}"
        elif isinstance(item, Loop):
            yield f"{level}{where}: {_loop(item)}"
            stack.append((level + "  ", iter(item.body.items)))
        else:
            yield f"{level}{where}: if {_condition(item.condition)}"
            if item.otherwise.items:
                stack.append((level + "  ", iter(item.otherwise.items)))
                stack.append((level, "else"))
            stack.append((level + "  ", iter(item.then.items)))


def _loop(loop: Loop) -> str:
    text = f"loop {loop.axis.name}"
    if loop.variable:
        text += f" ({loop.variable} from {_expr(loop.start)} below {_expr(loop.stop)} by {_expr(loop.step)})"
    text += f", {_expr(loop.trip_count)} turns"
    return text + (", unrolled" if loop.unrolled else "")


def _access(access: Access) -> str:
    verb = access.kind.value + (f" {access.op}" if access.op else "")
    name = access.buffer.name if access.buffer is not None else "?"
    text = f"{verb} {name}[{_expr(access.index)}]: {_dtype(access.dtype)}"
    if access.shape:
        text += _shape(access.shape)
    if access.width > 1:
        text += f" x{access.width}"
    return text if access.index_is_known else f"{text}  (index not known)"


def _access_details(access: Access) -> Iterator[str]:
    if access.buffer is not None and access.space.value != "global":
        yield f"in {access.space.value} memory"
    if access.mask is not None:
        yield f"mask {_condition(access.mask)}"
    if access.other is not None:
        yield f"other {_operand(access.other)}"
    if access.boundary_check is not None:
        yield f"boundary check {list(access.boundary_check)} of {_shape(access.block_shape_bounds)}"
    if access.guard.op is not Connective.TRUE:
        yield f"guard {_condition(access.guard)}"
    if access.inlined_at:
        yield f"through {len(access.inlined_at)} calls"


def _barrier(barrier: Barrier) -> str:
    text = f"{barrier.kind.value} barrier"
    if barrier.name:
        text += f" {barrier.name}"
    return text if barrier.guard.op is Connective.TRUE else f"{text}, reached if {_condition(barrier.guard)}"


def _launch_lines(module: Module, line_of: LineOf) -> list[str]:
    lines: list[str] = []
    for launch in module.launches:
        lines.append(_launch(launch, line_of))
        for label, dims in (("grid", launch.grid), ("block", launch.block)):
            if dims != ():
                lines.append(f"  {label} {_grid(dims)}")
        if launch.shared is not None:
            lines.append(f"  shared {_host_value(launch.shared)}")
        lines += [f"  {line}" for line in _arguments(launch)]
        lines += [f"  fact {_condition(fact)}" for fact in launch.facts]
        lines += [f"  fact {_expr(b)} divides {_expr(a)}" for a, b in launch.divisible]
        lines.append("")
    return lines


def _launch(launch: Launch, line_of: LineOf) -> str:
    host = f" in {launch.host.name}" if launch.host is not None else ""
    text = f"launch {launch.kernel_name}{host}, {_place(launch.span, line_of)}"
    if launch.kernel is None:
        origin = f" of {launch.import_from[0]}" if launch.import_from is not None and launch.import_from[0] else ""
        text += f", kernel not in this file{origin}"
    notes = [
        f"num_warps={launch.num_warps}" if launch.num_warps is not None else "",
        f"num_stages={launch.num_stages}" if launch.num_stages is not None else "",
        "in a loop" if launch.in_loop else "",
        "device guarded" if launch.device_guarded else "",
        f"status {launch.status}" if launch.status != "unknown" else "",
    ]
    return ", ".join([text, *(note for note in notes if note)])


def _grid(dims: tuple[GridDim, ...] | None) -> str:
    return "?" if dims is None else _shape(dim.expr for dim in dims)


def _arguments(launch: Launch) -> Iterator[str]:
    if launch.arguments:
        for name, value in launch.arguments.items():
            yield f"{name} = {_host_value(value)}"
        return
    for index, value in enumerate(launch.positional):
        yield f"#{index} = {_host_value(value)}"
    for name, value in launch.keywords.items():
        yield f"{name} = {_host_value(value)}"


def _host_value(value: HostValue) -> str:
    if value.tensor is not None:
        return _tensor(value.tensor)
    if value.expr is not None:
        return _expr(value.expr)
    if value.is_literal:
        return repr(value.literal)
    if value.cond is not None:
        return _condition(value.cond)
    if value.dtype is not None:
        return _dtype(value.dtype)
    if value.items is not None:
        return "(" + ", ".join(_host_value(item) for item in value.items) + ")"
    return f"? `{value.text}`" if value.text else "?"


def _tensor(tensor: TensorFacts) -> str:
    shape = f"{tensor.name}.numel = {_expr(tensor.numel)}" if tensor.shape is None else _shape(tensor.shape)
    parts = [f"tensor {tensor.name}", shape, _dtype(tensor.dtype), tensor.init]
    if tensor.contiguous is not None:
        parts.append("contiguous" if tensor.contiguous else "not contiguous")
    if tensor.alias_of:
        parts.append(f"shares {tensor.alias_of}")
    return " ".join(part for part in parts if part)


def _unparsed(module: Module, line_of: LineOf) -> list[str]:
    return [f"not parsed, {_place(region.span, line_of)}: {region.reason}" for region in module.unparsed]
