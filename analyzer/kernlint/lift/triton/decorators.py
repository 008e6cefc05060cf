"""Decorators: autotuning, heuristics, options of `triton.jit`."""

from __future__ import annotations

import ast

from kernlint.ir.kernel import Autotune, Config, Kernel
from kernlint.ir.types import Span
from kernlint.lift.host.definitions import Function
from kernlint.lift.triton.heuristics import read_heuristic
from kernlint.lift.triton.state import State
from kernlint.lift.triton.static import static_value
from kernlint.lift.triton.static_values import Fixed, Settings, Unknown, known_items


def read(kernel: Kernel, function: Function, state: State) -> None:
    """Fill in what the decorators of a jit function say."""
    names: list[str] = []
    for node in function.node.decorator_list:
        call = node if isinstance(node, ast.Call) else None
        dotted = state.scope.dotted(call.func if call is not None else node)
        names.append(dotted)
        if "gluon" in dotted:
            kernel.attrs["gluon"] = True  # another language: layouts and shared memory are explicit there
        last = dotted.rpartition(".")[2].lower()
        if call is None:
            continue
        if last.endswith("jit"):
            _jit_options(kernel, call, state)
        elif "heuristics" in last:
            _heuristics(kernel, call, state)
        elif "autotune" in last or "libtuner" in last or _has_configs(call):
            kernel.autotune = _autotune(call, state)
    kernel.decorators = tuple(names)


def _has_configs(call: ast.Call) -> bool:
    written = {keyword.arg for keyword in call.keywords}
    return "configs" in written and "key" in written


def _jit_options(kernel: Kernel, call: ast.Call, state: State) -> None:
    for keyword in call.keywords:
        if keyword.arg in (
            "do_not_specialize",
            "do_not_specialize_on_alignment",
            "noinline",
            "debug",
            "launch_metadata",
        ):
            value = static_value(state.scope, keyword.value)
            items = known_items(value)
            if items is not None:
                kernel.attrs[keyword.arg] = [item.value for item in items if isinstance(item, Fixed)]
            elif isinstance(value, Fixed):
                kernel.attrs[keyword.arg] = value.value


def _heuristics(kernel: Kernel, call: ast.Call, state: State) -> None:
    written = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "values"), None)
    if isinstance(written, ast.Name):
        value = static_value(state.scope, written, want_node=True)
        written = value.node if isinstance(value, Unknown) and value.node is not None else written
    if not isinstance(written, ast.Dict):
        kernel.attrs["heuristics_unread"] = True
        return
    for key, node in zip(written.keys, written.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            kernel.heuristics[key.value] = read_heuristic(state, node)


def _autotune(call: ast.Call, state: State) -> Autotune:
    written = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    for position, name in enumerate(
        ("configs", "key", "prune_configs_by", "reset_to_zero", "restore_value", "pre_hook")
    ):
        if position < len(call.args):
            written.setdefault(name, call.args[position])
    configs, complete = _configs(state, written.get("configs"))
    key, key_known = _names(state, written.get("key"))
    restore, _ = _names(state, written.get("restore_value"))
    reset, _ = _names(state, written.get("reset_to_zero"))
    hook = written.get("pre_hook")
    prune = written.get("prune_configs_by")
    return Autotune(
        state.span(call), configs, complete, key, key_known,
        restore_value=tuple(name for name, _ in restore), reset_to_zero=tuple(name for name, _ in reset),
        pre_hook=hook is not None and not _is_none(hook), prunes=prune is not None and not _is_none(prune),
    )  # fmt: skip


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(state: State, node: ast.expr | None) -> tuple[tuple[tuple[str, Span], ...], bool]:
    """The strings of a list, each with its own place; False when not all of it could be read."""
    if node is None or _is_none(node):
        return (), True
    if isinstance(node, (ast.List, ast.Tuple)) and all(isinstance(e, ast.Constant) for e in node.elts):
        return tuple((str(e.value), state.span(e)) for e in node.elts if isinstance(e, ast.Constant)), True
    items = known_items(static_value(state.scope, node))
    if items is None:
        return (), False
    values = [item.value for item in items if isinstance(item, Fixed) and isinstance(item.value, str)]
    return tuple((value, state.span(node)) for value in values), len(values) == len(items)


def _configs(state: State, node: ast.expr | None) -> tuple[tuple[Config, ...] | None, bool]:
    if node is None:
        return None, False
    value = static_value(state.scope, node)
    items = known_items(value, partial=True)
    if items is None:
        return None, False
    configs: list[Config] = []
    complete = known_items(value) is not None
    for item in items:
        if isinstance(item, Settings):
            configs.append(
                Config(item.span or state.span(node), dict(item.values), item.num_warps, item.num_stages, item.pre_hook)
            )
        else:
            complete = False
    return (tuple(configs) if configs else None), complete and bool(configs)
