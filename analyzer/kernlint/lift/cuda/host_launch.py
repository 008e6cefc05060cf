"""Launches: `k<<<grid, block, shared, stream>>>(...)` and the runtime's launch functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import AtomKind, Expr
from kernlint.ir.host import GridDim, HostValue, Launch
from kernlint.ir.types import Span
from kernlint.lift.cuda.host_eval import as_dims, evaluate
from kernlint.lift.cuda.host_values import UNKNOWN, KernelRef, Known, State
from kernlint.lift.cuda.parser import first_named

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker

API_LAUNCHES = frozenset(
    {
        "cudaLaunchKernel",
        "cudaLaunchCooperativeKernel",
        "cudaLaunchKernelEx",
        "cudaLaunchKernelExC",
        "hipLaunchKernel",
        "hipLaunchCooperativeKernel",
    }
)
_COOPERATIVE = "cudaLaunchAttributeCooperative"
_NO_KERNEL = KernelRef("")


def chevron_launch(w: Walker, node: Node, state: State) -> Known:
    """`kernel<<<grid, block, shared, stream>>>(arguments)`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    syntax = next((child for child in node.children if child.type == "kernel_call_syntax"), None)
    if function is None or syntax is None:
        return UNKNOWN
    target = evaluate(w, function, state)
    config = [evaluate(w, child, state) for child in syntax.named_children if child.type != "comment"]
    given = _argument_values(w, arguments, state)
    where = w.unit.span_of(function.start_byte, syntax.end_byte)
    refs = target.kernels or (KernelRef(_callee_name(w, function), key=_callee_name(w, function)),)
    for ref in refs:
        w.emit(_launch(w, ref, where, node, config, given, state, indirect=not target.kernels), None)
    return UNKNOWN


def _argument_values(w: Walker, arguments: Node | None, state: State) -> tuple[Known, ...]:
    found: list[Known] = []
    for child in arguments.named_children if arguments is not None else ():
        if child.type == "comment":
            continue
        if child.type == "parameter_pack_expansion":
            inner = child.child_by_field_name("pattern") or first_named(child)
            pack = evaluate(w, inner, state)
            if pack.items is not None:
                found.extend(pack.items)
                continue
            found.append(UNKNOWN)
            continue
        found.append(evaluate(w, child, state))
    return tuple(found)


def _callee_name(w: Walker, function: Node) -> str:
    from kernlint.lift.cuda.host_calls import callee

    while function.type in ("parenthesized_expression", "pointer_expression") and function.named_child_count:
        function = function.named_children[-1]
    return callee(w, function)[0]


def dims_of(value: Known) -> tuple[GridDim, ...] | None:
    """A value used as a grid or block; None when it may be a dim3 of which nothing is known."""
    if value.dims is not None:
        return value.dims
    if value.items is not None:
        return as_dims(value).dims
    if value.expr is not None and value.span is not None and not value.floating:
        return (GridDim(value.expr, value.span),)
    return None


def _launch(
    w: Walker,
    ref: KernelRef,
    where: Span,
    node: Node,
    config: list[Known],
    given: tuple[Known, ...],
    state: State,
    indirect: bool = False,
) -> Launch:
    grid = dims_of(config[0]) if config else None
    block = dims_of(config[1]) if len(config) > 1 else None
    launch = Launch(ref.name, where, w.host, grid, block)
    launch.shared = config[2].as_host_value() if len(config) > 2 and config[2] is not UNKNOWN else None
    launch.stream = config[3].as_host_value() if len(config) > 3 and config[3] is not UNKNOWN else None
    launch.positional = tuple(value.as_host_value() for value in given)
    launch.template_arguments = tuple(value.as_host_value() for value in ref.template_arguments)
    launch.facts = [*state.facts, *([ref.condition] if ref.condition is not None else [])]
    launch.divisible = [pair for fact in launch.facts if (pair := divisibility(fact)) is not None]
    launch.in_loop = state.loops > 0
    types = {value.text: state.types[value.text] for value in ref.template_arguments if value.text in state.types}
    if types:
        launch.attrs["types"] = types  # the element types a template argument stands for
    launch.attributes = dict(state.attributes.get(ref.key, {}))
    if indirect and ref.name in state.variables:
        launch.attrs["indirect"] = True  # the name is that of a variable that holds a kernel
    return launch


def divisibility(fact: Condition) -> tuple[Expr, Expr] | None:
    """(a, b) when the fact says a % b == 0."""
    if fact.op is not Connective.EQ or fact.expr is None or len(fact.expr.terms) != 1:
        return None
    mono, _ = fact.expr.terms[0]
    if len(mono) != 1 or mono[0].kind is not AtomKind.MOD:
        return None
    a, b = mono[0].args
    return (a, b) if isinstance(a, Expr) and isinstance(b, Expr) else None


def api_launch(w: Walker, node: Node, name: str, nodes: list[Node], state: State) -> Known:
    """`cudaLaunchKernel(f, grid, block, args, shared, stream)`, its cooperative form, the Ex forms with a config."""
    values = [evaluate(w, child, state) for child in nodes]
    where = w.unit.span(node)
    if name in ("cudaLaunchKernelEx", "cudaLaunchKernelExC"):
        if len(values) < 2:
            return UNKNOWN
        names = (w.text(nodes[0]).lstrip("&"), values[0].address_of, values[0].root)
        base = next((name for name in names if f"{name}.gridDim" in state.variables), names[0])
        config = [state.variables.get(f"{base}.{part}", UNKNOWN) for part in ("gridDim", "blockDim")]
        shared = state.variables.get(f"{base}.dynamicSmemBytes")
        stream = state.variables.get(f"{base}.stream")
        config += [shared or UNKNOWN, stream or UNKNOWN]
        target = values[1]
        given = tuple(values[2:])
        if name.endswith("C"):
            given = _pointed_at(w, values[2], state) if len(values) > 2 else ()
    else:
        if len(values) < 3:
            return UNKNOWN
        target = values[0]
        given = _pointed_at(w, values[3], state) if len(values) > 3 else ()
        config = [values[1], values[2], *values[4:6]]
    target_node = nodes[1] if name.startswith("cudaLaunchKernelEx") else nodes[0]
    label = _callee_name(w, target_node) if target_node.type != "cast_expression" else target.text
    refs = target.kernels or (replace(_NO_KERNEL, name=label, key=label),)
    for ref in refs:
        launch = _launch(w, ref, where, node, config, given, state, indirect=not target.kernels)
        launch.cooperative = "Cooperative" in name
        launch.attrs["api"] = name
        if name.startswith("cudaLaunchKernelEx"):
            _config_attributes(launch, state)
        w.emit(launch, node)
    return Known(text=w.text(node))


_CONFIG_FIELDS = ("gridDim", "blockDim", "dynamicSmemBytes", "stream", "attrs", "numAttrs")


def set_config(w: Walker, name: str, initializer: Node | None, state: State) -> None:
    """`cudaLaunchConfig_t config = {grid, block, bytes, stream}` or with designators: its members one by one."""
    if initializer is None or initializer.type != "initializer_list":
        return
    for index, child in enumerate(child for child in initializer.named_children if child.type != "comment"):
        field = _CONFIG_FIELDS[index] if index < len(_CONFIG_FIELDS) else ""
        value: Node | None = child
        if child.type == "initializer_pair":
            value = child.child_by_field_name("value")
            designator = child.child_by_field_name("designator")
            field = w.text(designator).lstrip(".") if designator is not None else ""
        if field and value is not None:
            state.set(f"{name}.{field}", evaluate(w, value, state))


def _config_attributes(launch: Launch, state: State) -> None:
    """What the launch attributes of a config say, as far as their ids were written plainly."""
    for path in state.variables:
        if path.endswith(".id"):
            text = state.variables[path].text
            if _COOPERATIVE in text:
                launch.cooperative = True
            if "ClusterDimension" in text:
                launch.attrs["cluster"] = True


def _pointed_at(w: Walker, value: Known, state: State) -> tuple[Known, ...]:
    """The variables behind `void* args[] = {&a, &b}`."""
    if value.items is None:
        return ()
    return tuple(state.variables.get(item.address_of, UNKNOWN) if item.address_of else UNKNOWN for item in value.items)


def set_attribute(w: Walker, nodes: list[Node], state: State) -> Known:
    """`cudaFuncSetAttribute(kernel, attribute, value)`: remembered for later launches of the kernel."""
    values = [evaluate(w, child, state) for child in nodes]
    if len(values) < 3:
        return UNKNOWN
    attribute = values[1].text.rpartition("::")[2] or w.text(nodes[1])
    label = _callee_name(w, nodes[0])
    keys = [ref.key for ref in values[0].kernels]
    if keys and not w.inline_depth and not w.macro_depth:
        w.tied.setdefault(w.unit.span(nodes[0]).start, set()).update(ref.name for ref in values[0].kernels)
    for key in dict.fromkeys(keys or [label]):
        known: dict[str, HostValue] = dict(state.attributes.get(key, {}))
        known[attribute] = values[2].as_host_value()
        state.attributes[key] = known
    return UNKNOWN
