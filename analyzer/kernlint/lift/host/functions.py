"""The host functions of a Python file, and the launches inside them."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from dataclasses import field

from kernlint.ir.host import HostFunction, Launch
from kernlint.ir.types import Span
from kernlint.lift.host.definitions import Function, FunctionNode, calls_in
from kernlint.lift.host.launches import launches_in
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.host.sites import Sites, sites_of
from kernlint.lift.host.state import Frame, State
from kernlint.lift.host.statements import run_body
from kernlint.lift.host.value import HostVal, given
from kernlint.records import dataclass

BUDGET = 40_000  # expressions and statements evaluated per function


def lift_host(scope: PythonScope) -> tuple[list[HostFunction], list[Launch]]:
    """All functions that are not kernels, in source order, and every launch in the file."""
    described = {function.node: _described(scope, function) for function in scope.functions if not function.is_jit}
    sites = sites_of(scope)
    if not sites.lines:
        return list(described.values()), []
    recorder = _Recorder(scope, described, {scope.path: sites})
    for function in scope.functions:
        if function.outer is None and function.node in described and sites.within(function.node):
            recorder.run(function)
    for function in scope.functions:  # functions around no launch themselves, calling one that launches for them
        if function.outer is None and function.node in described and recorder.calls_launcher(function):
            recorder.run(function)
    for function in scope.functions:  # local functions that were never reached
        if function.node in described and function.node not in recorder.done and sites.within(function.node):
            recorder.run(function)
    recorder.run_module()
    functions = list(described.values())
    if recorder.script is not None and recorder.script.launches:
        functions.insert(0, recorder.script)
    _drop_repeated(functions)
    for function in scope.functions:
        host = described.get(function.node)
        if host is not None and host.launches:
            host.calls = _calls(scope, sites, function.node)
    launches = sorted(
        (launch for function in functions for launch in function.launches),
        key=lambda launch: (launch.span.start, launch.span.end, launch.kernel_name),
    )
    return functions, launches


def _drop_repeated(functions: list[HostFunction]) -> None:
    """Keep one description of each launch, and of one reached through its callers only those.

    A launch of a kernel, or on a grid, that is a parameter says nothing by itself.
    """
    reached = {
        launch.attrs["site"]
        for function in functions
        for launch in function.launches
        if launch.attrs.get("call_span") is not None
    }
    seen: set[object] = set()
    for function in functions:
        kept: list[Launch] = []
        for launch in function.launches:
            through = launch.attrs.get("call_span")
            if through is not None and launch.import_from is None and "kernel_offset" not in launch.attrs:
                continue  # reached through a function that is itself only handed the kernel
            key = (launch.attrs["site"], launch.kernel_name, launch.attrs.get("kernel_offset"), through)
            if key not in seen and (through is not None or launch.attrs["site"] not in reached):
                seen.add(key)
                kept.append(launch)
        function.launches = kept


def _described(scope: PythonScope, function: Function) -> HostFunction:
    node = function.node
    arguments = node.args
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    decorators = tuple(
        scope.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        for decorator in node.decorator_list
    )
    return HostFunction(
        name=node.name,
        span=scope.text.name_span(node),
        body_span=_body_span(scope, node),
        parameters=tuple(names),
        class_name=function.class_name,
        decorators=decorators,
        is_test=_is_test(scope.path, function, decorators),
    )


def _body_span(scope: PythonScope, node: FunctionNode) -> Span:
    first, last = scope.text.span(node.body[0]), scope.text.span(node.body[-1])
    return Span(scope.path, first.start, last.end)


def _calls(scope: PythonScope, sites: Sites, node: FunctionNode) -> tuple[str, ...]:
    """Dotted names of everything the function calls, sorted: `torch.empty_like`, `ctx.mark_dirty`."""
    first = bisect_left(sites.calls, node.lineno, key=lambda call: call.lineno)
    last = bisect_right(sites.calls, node.end_lineno or node.lineno, key=lambda call: call.lineno)
    return tuple(sorted({name for call in sites.calls[first:last] if (name := scope.dotted(call.func))}))


def _is_test(path: str, function: Function, decorators: tuple[str, ...]) -> bool:
    """pytest's own conventions: `test_*` functions, and methods so named of `Test*` classes."""
    if any(name.startswith("pytest.") for name in decorators):
        return True
    if not function.name.startswith("test"):
        return False
    file = path.rpartition("/")[2]
    return (
        function.name.startswith("test_")
        or file.startswith("test_")
        or file.endswith("_test.py")
        or function.class_name.startswith("Test")
    )


@dataclass(slots=True, eq=False)
class _Recorder:
    """Evaluates functions and collects their launches."""

    scope: PythonScope
    described: dict[FunctionNode, HostFunction]
    sites: dict[str, Sites]  # by file: this one, and those that launch for it
    done: set[FunctionNode] = field(default_factory=set)
    current: list[HostFunction] = field(default_factory=list)
    script: HostFunction | None = None
    names: frozenset[str] | None = None

    def enters(self, scope: PythonScope, node: ast.stmt) -> bool:
        return node in self._sites(scope).launchers

    def _sites(self, scope: PythonScope) -> Sites:
        if scope.path not in self.sites:
            self.sites[scope.path] = sites_of(scope)
        return self.sites[scope.path]

    def calls_launcher(self, function: Function) -> bool:
        """Whether a function not evaluated yet calls, by name, a function that launches what it is given."""
        if function.node in self.done:
            return False
        names = self._launcher_names()
        return bool(names) and any(
            isinstance(call.func, ast.Name) and call.func.id in names for call in calls_in(function.node)
        )

    def _launcher_names(self) -> frozenset[str]:
        if self.names is None:
            found = {function.name for function in self.scope.functions if self.enters(self.scope, function.node)}
            self.names = frozenset(found)
        return self.names

    def run(self, function: Function) -> None:
        """Evaluate a function with nothing known about its parameters."""
        contiguous, guarded = decorator_effects(self.scope, function.node)
        state = State(variables=parameters_of(self.scope, function.node, contiguous))
        frame = Frame(self.scope, state, [BUDGET], guarded=guarded, class_name=function.class_name)
        frame.versions = dict.fromkeys(state.variables, 1)
        self._evaluate(frame, function.node)

    def run_module(self) -> None:
        """Launches outside any function."""
        body = [
            node
            for node in self.scope.tree.body
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
        ]
        if not any(self.sites[self.scope.path].within(node) for node in body):
            return
        span = Span(self.scope.path, 0, 0)
        self.script = HostFunction("<module>", span, Span(self.scope.path, 0, len(self.scope.source.data)))
        frame = Frame(self.scope, State(), [BUDGET], recorder=self)
        self.current.append(self.script)
        run_body(frame, body)
        self.current.pop()

    def _evaluate(self, frame: Frame, node: FunctionNode) -> None:
        self.done.add(node)
        host = self.described[node]
        frame.recorder = self
        self.current.append(host)
        run_body(frame, node.body)
        self.current.pop()
        final = frame.final if frame.final is not None and not frame.state.live else frame.state
        host.facts = [final.knowledge.canonical_condition(fact) for fact in final.facts]

    def statement(self, frame: Frame, node: ast.stmt) -> None:
        sites = self._sites(frame.scope)
        if sites.within(node):
            host = self.current[-1]
            host.launches.extend(launches_in(frame, node, sites, host))

    def local_function(self, frame: Frame, node: FunctionNode) -> None:
        if node not in self.described or node in self.done or not self._sites(self.scope).within(node):
            return
        state = frame.state.copy()
        parameters = parameters_of(self.scope, node, False)
        state.variables.update(parameters)
        inner = Frame(self.scope, state, frame.budget, guarded=frame.guarded, class_name=frame.class_name)
        inner.versions = {**frame.versions, **dict.fromkeys(parameters, 1)}
        self._evaluate(inner, node)


def parameters_of(scope: PythonScope, node: FunctionNode, contiguous: bool) -> dict[str, HostVal]:
    """Parameters as values of unknown kind, or of the kind they are annotated with."""
    from dataclasses import replace

    arguments = node.args
    values: dict[str, HostVal] = {}
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        value = given(arg.arg, arg.arg, span=scope.text.span(arg))
        kinds = _annotated_kinds(arg.annotation)
        value.is_tensor = bool(kinds) and kinds <= _TENSOR_TYPES | {"None", "Optional"} and bool(kinds & _TENSOR_TYPES)
        value.is_int = kinds in ({"int"}, {"int", "None"}, {"int", "Optional"})
        if contiguous:
            value.tensor = replace(value.tensor, contiguous=True)
        values[arg.arg] = value
    return values


_TENSOR_TYPES = {"Tensor", "LongTensor", "FloatTensor", "IntTensor", "BoolTensor", "Parameter"}


def _annotated_kinds(annotation: ast.expr | None) -> set[str]:
    """The last names of all types in an annotation: `torch.Tensor | None` -> {Tensor, None}."""
    if annotation is None:
        return set()
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return {part.strip().rpartition(".")[2] for part in annotation.value.replace("|", ",").split(",")}
    kinds: set[str] = set()
    stack: list[ast.expr] = [annotation]
    while stack and len(kinds) < 16:
        node = stack.pop()
        if isinstance(node, ast.Name):
            kinds.add(node.id)
        elif isinstance(node, ast.Attribute):
            kinds.add(node.attr)
        elif isinstance(node, ast.Constant):
            kinds.add("None")
        elif isinstance(node, ast.BinOp):
            stack += [node.left, node.right]
        elif isinstance(node, ast.Subscript):
            stack += [node.value, node.slice]
        else:
            kinds.add("?")
    return kinds


def decorator_effects(scope: PythonScope, node: FunctionNode) -> tuple[bool, bool]:
    """(tensors are made contiguous, their device is made current) by the function's decorators.

    A decorator is read where it is defined: Liger's `ensure_contiguous` and FLA's `input_guard` call `.contiguous()`
    on every tensor argument.
    """
    contiguous = guarded = False
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        resolved = scope.resolve_node(target)
        if resolved is None or not isinstance(resolved.definition, Function):
            continue
        selective = isinstance(decorator, ast.Call) and any(
            "contiguous" in (keyword.arg or "") for keyword in decorator.keywords
        )
        for part in ast.walk(resolved.definition.node):
            if isinstance(part, ast.Attribute) and part.attr == "contiguous" and not selective:
                contiguous = True
            elif isinstance(part, ast.withitem) and isinstance(part.context_expr, ast.Call):
                func = part.context_expr.func
                last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
                guarded = guarded or "device" in last.lower()
            elif isinstance(part, ast.Name) and "device_ctx" in part.id:
                guarded = True
    return contiguous, guarded
