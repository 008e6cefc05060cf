"""Lift one `__global__` function: walk its body with the abstract machine, then put closed forms everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, Expr, const, substitute
from kernlint.ir.expr import param as param_expr
from kernlint.ir.kernel import Access, Branch, Exit, Frame, Framework, Kernel, Loop, Param, ParamRole
from kernlint.ir.types import Space
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.control import STATEMENTS
from kernlint.lift.cuda.device_machine import Machine, TypedValue
from kernlint.lift.cuda.device_resolve import resolve_type, substitute_words
from kernlint.lift.cuda.device_types import CType, named_element
from kernlint.lift.cuda.evaluate_expr import EXPRESSIONS
from kernlint.lift.cuda.unit import FunctionDefinition, ParameterDeclaration, TranslationUnit

if TYPE_CHECKING:
    pass


def lift_kernel(definition: FunctionDefinition, unit: TranslationUnit, strict: bool = False) -> Kernel:
    """The kernel IR of a `__global__` function.  Never raises unless `strict`: what goes wrong is said in
    `Kernel.incomplete`, and what was understood until then is kept."""
    kernel = Kernel(definition.name, Framework.CUDA, definition.span, definition.body_span, ())
    kernel.parsed_with_errors = definition.parsed_with_errors
    machine = Machine(definition, unit, kernel, EXPRESSIONS, STATEMENTS)
    try:
        _enter(machine, definition)
        machine.run(definition.body)
    except Exception as error:
        if strict:
            raise
        kernel.incomplete = f"internal error: {type(error).__name__}"
    try:
        finish(machine)
    except Exception as error:
        if strict:
            raise
        kernel.incomplete = kernel.incomplete or f"internal error: {type(error).__name__}"
    return kernel


def _enter(m: Machine, definition: FunctionDefinition) -> None:
    """Parameters, template parameters and launch bounds."""
    kernel = m.kernel
    params: list[Param] = []
    for template in definition.template_parameters:
        role = ParamRole.CONSTEXPR if template.kind == "value" else ParamRole.TYPE
        element = named_element(template.type_text) if template.kind == "value" else None
        where = m.unit.span(template.node)
        default: Value | None = None
        if template.kind == "value":
            value = m.value(
                "param", (), element, template.node, param_expr(template.name), None, {"name": template.name}
            )
            value.name = template.name
            m.write(m.new_variable(template.name, CType(template.type_text, element)).key, value)
            default = m.eval(template.default) if template.default is not None else None
        else:
            m.scope.names[template.name] = CType(template.name)
        params.append(Param(template.name, role, where, element, default, template.type_text or "typename", -1))
    for position, declared in enumerate(definition.parameters):
        params.append(_parameter(m, declared, position))
    kernel.params = tuple(params)
    bounds = [m.expr_of(m.eval(node)) for node in definition.launch_bounds[:2]]
    kernel.launch_bounds = (bounds[0] if bounds else None, bounds[1] if len(bounds) > 1 else None)
    kernel.cluster_dims = _dims(definition.recorded.get("cluster_dims", ()))
    kernel.decorators = tuple(sorted(definition.qualifiers))


def _dims(texts: tuple[str, ...]) -> tuple[Expr, ...]:
    return tuple(const(int(text)) if text.strip().isdigit() else param_expr(text.strip()) for text in texts)


def _parameter(m: Machine, declared: ParameterDeclaration, position: int) -> Param:
    base = resolve_type(m, declared.type_text)
    depth = base.depth + declared.pointer_depth
    ctype = replace(base, depth=depth, const=declared.const or base.const)
    annotation = f"{'const ' if declared.const else ''}{declared.type_text}{'*' * declared.pointer_depth}"
    span = m.unit.span(declared.node)
    variable = m.new_variable(declared.name, ctype)
    element = base.element
    if depth:
        role = ParamRole.POINTER
        pointee = ctype.pointed()
        buffer = m.buffer(declared.name, Space.GLOBAL, pointee, declared.node, declared.const)
        buffer.is_param, buffer.restrict, buffer.volatile = True, declared.restrict, declared.volatile
        value = m.typed("param", (), declared.node, ctype=pointee, attrs={"name": declared.name})
        value.pointer = Pointer(buffer, const(0), buffer.dtype)
    elif element is not None:
        role = ParamRole.SCALAR
        expr = param_expr(declared.name) if not element.is_float and element.lanes == 1 else None
        made = m.value("param", (), element, declared.node, expr, None, {"name": declared.name})
        made.name = declared.name
        m.write(variable.key, made)
        return Param(declared.name, role, span, element, None, annotation, position)
    else:
        role = ParamRole.DESCRIPTOR if "TensorMap" in base.name else ParamRole.UNKNOWN
        made = m.symbol(declared.name, ctype)
        assert isinstance(made, TypedValue)
        value = made
        if ctype.struct is not None:
            value.pointer = None
    value.name = declared.name
    m.write(variable.key, value)
    return Param(declared.name, role, span, element, None, annotation, position)


# closed forms


def _may_be_carried(key: str) -> bool:
    """Whether an expression with this key can depend on a carried atom: its key shows it, except behind a load."""
    return "?:carry:" in key or "ld:" in key


class _Rewriter:
    """Substitutes carried atoms in everything that was recorded, each object once."""

    def __init__(self, mapping: dict[Atom, Expr]) -> None:
        self.mapping = {atom.key: (atom, expr) for atom, expr in mapping.items()}
        self.conditions: dict[int, Condition] = {}
        self.expressions: dict[int, Expr] = {}
        self.pointers: dict[int, Pointer] = {}
        self.frames: dict[int, Frame] = {}
        self.paths: dict[tuple[int, ...], tuple[Frame, ...]] = {}
        self.kept: list[object] = []  # objects whose id is a key must stay alive

    def needed(self, form: Expr | Condition) -> dict[Atom, Expr]:
        """The part of the mapping that concerns this expression."""
        mapping = self.mapping
        found: dict[Atom, Expr] = {}
        if not _may_be_carried(form.key):
            return found
        for atom in form.deep_atoms:
            if atom.kind is AtomKind.OPAQUE and atom.key in mapping:
                found[atom] = mapping[atom.key][1]
        return found

    def expr(self, expr: Expr) -> Expr:
        key = id(expr)
        found = self.expressions.get(key)
        if found is None:
            if not _may_be_carried(expr.key):
                return expr
            mapping = self.needed(expr)
            found = substitute(expr, mapping) if mapping else expr
            self.expressions[key] = found
            self.kept.append(expr)
        return found

    def condition(self, condition: Condition) -> Condition:
        key = id(condition)
        found = self.conditions.get(key)
        if found is None:
            mapping = self.needed(condition)
            found = condition.substitute(mapping) if mapping else condition
            self.conditions[key] = found
            self.kept.append(condition)
        return found

    def pointer(self, pointer: Pointer) -> Pointer:
        if not self.has_carried(pointer):
            return pointer
        found = self.pointers.get(id(pointer))
        if found is None:
            offset = self.expr(pointer.offset)
            indices = tuple(self.expr(index) for index in pointer.indices)
            changed = offset is not pointer.offset or indices != pointer.indices
            found = Pointer(pointer.buffer, offset, pointer.dtype, indices, pointer.casts) if changed else pointer
            self.pointers[id(pointer)] = found
            self.kept.append(pointer)
        return found

    def path(self, path: tuple[Frame, ...]) -> tuple[Frame, ...]:
        key = tuple(map(id, path))
        found = self.paths.get(key)
        if found is None:
            found = tuple(self.frame(frame) for frame in path)
            self.paths[key] = found
            self.kept.append(path)
        return found

    def frame(self, frame: Frame) -> Frame:
        found = self.frames.get(id(frame))
        if found is None:
            condition = self.condition(frame.condition)
            found = frame if condition is frame.condition else replace(frame, condition=condition)
            self.frames[id(frame)] = found
            self.kept.append(frame)
        return found

    def has_carried(self, pointer: Pointer) -> bool:
        return _may_be_carried(pointer.offset.key) or any(_may_be_carried(index.key) for index in pointer.indices)

    def optional(self, expr: Expr | None) -> Expr | None:
        return self.expr(expr) if expr is not None else None


def finish(m: Machine) -> None:
    """Put closed forms in place of carried atoms, and drop what only the front end needs."""
    mapping: dict[Atom, Expr] = {}
    for atom in reversed(m.closed):
        form = m.closed[atom]
        inner = {other: mapping[other] for other in form.deep_atoms if other in mapping}
        mapping[atom] = substitute(form, inner) if inner else form
    kernel = m.kernel
    if mapping:
        rewriter = _Rewriter(mapping)
        for value in kernel.values:
            if value.expr is not None:
                value.expr = rewriter.expr(value.expr)
            if value.cond is not None:
                value.cond = rewriter.condition(value.cond)
            pointer = value.pointer
            if pointer is not None:
                value.pointer = rewriter.pointer(pointer)
        for item in kernel.body.walk():
            item.path = rewriter.path(item.path)
            if isinstance(item, Loop):
                _rewrite_loop(rewriter, item)
            elif isinstance(item, Branch):
                item.condition = rewriter.condition(item.condition)
            else:
                item.guard = rewriter.condition(item.guard)
                if isinstance(item, Access):
                    item.pointer = rewriter.pointer(item.pointer)
                    if "width" in item.attrs and isinstance(item.attrs["width"], Expr):
                        item.attrs["width"] = rewriter.expr(item.attrs["width"])
        kernel.facts[:] = [rewriter.condition(fact) for fact in kernel.facts]
    for value in kernel.values:
        if isinstance(value, TypedValue):
            value.ctype = value.obj = value.place = value.items = None
        value.attrs.pop("alternatives", None)
    kernel.attrs["steps"] = m.steps


def _rewrite_loop(rewriter: _Rewriter, loop: Loop) -> None:
    loop.start, loop.stop = rewriter.optional(loop.start), rewriter.optional(loop.stop)
    loop.step, loop.trip_count = rewriter.optional(loop.step), rewriter.optional(loop.trip_count)
    loop.axis.extent = rewriter.optional(loop.axis.extent)
    loop.breaks = tuple(rewriter.condition(condition) for condition in loop.breaks)


__all__ = ["Exit", "lift_kernel", "substitute_words"]
