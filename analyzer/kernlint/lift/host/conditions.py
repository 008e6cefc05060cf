"""Truth of Python expressions: as conditions, and what passing a check says about tensors and sizes."""

from __future__ import annotations

import ast
from dataclasses import replace

from kernlint.ir.condition import TRUE, Condition, compare, conj, disj, flag, negate
from kernlint.lift.host.state import Frame, truth_of
from kernlint.lift.host.value import (
    Dtype,
    Given,
    HostVal,
    Int,
    Literal,
    Quotient,
    Seq,
    SizesOf,
    Tensor,
    Truth,
    as_int,
    as_tensor,
)

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
MAX_DEPTH = 40


def truth_value(frame: Frame, node: ast.expr) -> HostVal:
    """The value of a comparison, `and`, `or`, `not`."""
    if isinstance(node, ast.BoolOp):
        from kernlint.lift.host.expressions import evaluate
        from kernlint.lift.host.state import join_values

        # `a or b` as a default: the last operand decides the kind of value.
        values = [evaluate(frame, value) for value in node.values]
        if not any(isinstance(value, Truth) for value in values):
            if isinstance(node.op, ast.Or) and all(isinstance(value, (Int, Given)) for value in values):
                result = values[-1]
                for value in reversed(values[:-1]):
                    result = join_values(frame, "value", truth_of(value) or TRUE, value, result)
                return result
            if isinstance(values[-1], (Tensor, Seq)):
                return values[-1]
    return Truth(condition_of(frame, node))


def condition_of(frame: Frame, node: ast.expr, depth: int = 0) -> Condition:
    """The condition under which an expression is true."""
    if depth > MAX_DEPTH or not frame.spend():
        return _opaque(frame, node)
    if isinstance(node, ast.BoolOp):
        parts = [condition_of(frame, value, depth + 1) for value in node.values]
        return conj(parts) if isinstance(node.op, ast.And) else disj(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negate(condition_of(frame, node.operand, depth + 1))
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        pairs = zip(operands, node.ops, operands[1:], strict=False)
        return conj([_comparison(frame, node, a, op, b) for a, op, b in pairs])
    from kernlint.lift.host.expressions import evaluate

    value = evaluate(frame, node) if not isinstance(node, ast.Call) or _is_known_call(frame, node) else None
    if value is None or (isinstance(value, Given) and (value.is_tensor or value.anonymous)):
        return _opaque(frame, node)
    found = truth_of(value)
    return found if found is not None else _opaque(frame, node)


def _is_known_call(frame: Frame, node: ast.Call) -> bool:
    """Whether the truth of a call may be more than a name: project functions are not entered to decide a branch."""
    return isinstance(node.func, ast.Name) and node.func.id in ("bool", "int", "len", "min", "max")


def _comparison(frame: Frame, whole: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
    from kernlint.lift.host.expressions import evaluate

    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant):
        value = evaluate(frame, left)
        if isinstance(value, Literal):
            same = value.value is right.value
            return TRUE if same == isinstance(op, ast.Is) else negate(TRUE)
        if isinstance(value, (Tensor, Int, Seq)) and right.value is None:
            return TRUE if isinstance(op, ast.IsNot) else negate(TRUE)
        name = f"{value.key if isinstance(value, Given) else frame.scope.text.code(left)} is {right.value!r}"
        base = flag(name)
        return base if isinstance(op, ast.Is) else negate(base)
    sign = _OPERATORS.get(type(op))
    a, b = evaluate(frame, left), evaluate(frame, right)
    if sign in ("==", "!=") and isinstance(a, Literal) and isinstance(b, Literal):
        equal = a.value == b.value
        return TRUE if equal == (sign == "==") else negate(TRUE)
    if sign is not None and not isinstance(a, Quotient) and not isinstance(b, Quotient):
        if isinstance(a, Int) or isinstance(b, Int):
            x, y = as_int(a), as_int(b)
            if x is not None and y is not None:
                return compare(sign, x, y)
        if isinstance(a, Given) and isinstance(b, Given) and not a.is_tensor and not b.is_tensor:
            return compare(sign, a.integer, b.integer)
        if isinstance(a, Dtype) and isinstance(b, Dtype):
            one_type = _same_dtype(frame, a, b)
            if one_type is not None:
                return TRUE if one_type == (sign == "==") else negate(TRUE)
        if sign in ("==", "!=") and isinstance(a, Given) and isinstance(b, Literal):
            found = flag(f"{a.key} == {b.value!r}")
            return found if sign == "==" else negate(found)
    return _opaque_pair(frame, left, right, sign or type(op).__name__)


def _same_dtype(frame: Frame, a: Dtype, b: Dtype) -> bool | None:
    first, second = frame.state.knowledge.dtype(a.dtype), frame.state.knowledge.dtype(b.dtype)
    if first is None or second is None:
        return None
    if first == second:
        return True
    return None if isinstance(first, str) or isinstance(second, str) else False


def _opaque_pair(frame: Frame, left: ast.expr, right: ast.expr, sign: str) -> Condition:
    negative = sign in ("!=", "NotIn", "IsNot")
    positive = {"!=": "==", "NotIn": "in", "In": "in", "IsNot": "is", "Is": "is"}.get(sign, sign)
    text = f"{frame.scope.text.code(left, 40)} {positive} {frame.scope.text.code(right, 40)}"
    found = flag(_stable(frame, text, left, right))
    return negate(found) if negative else found


def _opaque(frame: Frame, node: ast.expr) -> Condition:
    return flag(_stable(frame, frame.scope.text.code(node, 60), node))


def _stable(frame: Frame, text: str, *nodes: ast.expr) -> str:
    """A flag's name; with its place when a variable in it is assigned more than once, for then it may change."""
    names = (part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))
    changing = any(frame.versions.get(name, 0) > 1 for name in names)
    place = f"@{nodes[0].lineno}:{nodes[0].col_offset}" if changing else ""
    return f"{frame.prefix}{text}{place}"


def assume(frame: Frame, node: ast.expr, truth: bool, depth: int = 0, condition: Condition | None = None) -> None:
    """From here on `node` is true (or false): learn about tensors and sizes, and keep it as a fact.

    `condition` is what `condition_of` said of the node, if it was asked already."""
    if depth == 0:
        condition = condition_of(frame, node) if condition is None else condition
        frame.state.learn(condition if truth else negate(condition))
    if depth > MAX_DEPTH:
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        assume(frame, node.operand, not truth, depth + 1)
    elif isinstance(node, ast.BoolOp):
        if isinstance(node.op, ast.And) == truth:
            for value in node.values:
                assume(frame, value, truth, depth + 1)
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        pairs = list(zip(operands, node.ops, operands[1:], strict=False))
        if truth or len(pairs) == 1:
            for left, op, right in pairs:
                _assume_pair(frame, left, op, right, truth)
    elif isinstance(node, ast.Call):
        _assume_call(frame, node, truth, depth)


def _assume_pair(frame: Frame, left: ast.expr, op: ast.cmpop, right: ast.expr, truth: bool) -> None:
    from kernlint.lift.host.expressions import evaluate

    sign = _OPERATORS.get(type(op))
    if sign is None:
        if isinstance(op, ast.In) and truth and isinstance(right, (ast.Tuple, ast.List)) and len(right.elts) == 1:
            _assume_pair(frame, left, ast.Eq(), right.elts[0], True)
        return
    if not truth:
        sign = _NEGATED[sign]
    if sign != "==":
        return
    for first, second in ((left, right), (right, left)):
        tensor = _tensor_of_rank(frame, first)
        if tensor is not None:
            number = as_int(evaluate(frame, second))
            if number is not None and number.constant is not None:
                frame.state.knowledge.set_rank(tensor.shape, number.constant)
            return
    a, b = evaluate(frame, left), evaluate(frame, right)
    if isinstance(a, Dtype) and isinstance(b, Dtype):
        frame.state.knowledge.equate_dtypes(a.dtype, b.dtype)
    if isinstance(a, (SizesOf, Seq)) and isinstance(b, (SizesOf, Seq)):
        _equate_sizes(frame, left, a, right, b)


def _equate_sizes(frame: Frame, left: ast.expr, a: SizesOf | Seq, right: ast.expr, b: SizesOf | Seq) -> None:
    from kernlint.lift.host.views import shape_from

    knowledge = frame.state.knowledge
    if any(isinstance(side, SizesOf) and (side.strides or side.start or side.stop is not None) for side in (a, b)):
        if isinstance(a, Seq) or isinstance(b, Seq):
            return
        if a.strides and b.strides:
            return
        same_part = (a.start, a.stop) == (b.start, b.stop) and not a.strides and not b.strides
        if same_part and a.start < 0 and a.stop is None:
            for index in range(a.start, 0):
                knowledge.equate(knowledge.dim(a.shape, index), knowledge.dim(b.shape, index))
        return
    first, second = shape_from(frame, left, a), shape_from(frame, right, b)
    if first is not None and second is not None:
        knowledge.equate_shapes(first, second)


def _tensor_of_rank(frame: Frame, node: ast.expr) -> Tensor | None:
    """x in `x.dim()`, `x.ndim`, `len(x.shape)`."""
    from kernlint.lift.host.expressions import evaluate

    inner: ast.expr | None = None
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        inner = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        inner = node.func.value if node.func.attr in ("dim", "ndimension") else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
        value = evaluate(frame, node.args[0])
        whole = isinstance(value, SizesOf) and value.start == 0 and value.stop is None
        if isinstance(value, SizesOf) and whole:
            return Tensor("", value.shape)
        return None
    return as_tensor(evaluate(frame, inner)) if inner is not None else None


def _assume_call(frame: Frame, node: ast.Call, truth: bool, depth: int) -> None:
    from kernlint.lift.host.expressions import evaluate

    func = node.func
    if isinstance(func, ast.Attribute) and func.attr == "is_contiguous" and not node.keywords:
        tensor = as_tensor(evaluate(frame, func.value))
        if tensor is not None:
            frame.state.replace_tensor(tensor, replace(tensor, contiguous=truth))
    elif isinstance(func, ast.Name) and func.id in ("all", "any") and len(node.args) == 1:
        if (func.id == "all") == truth:
            _assume_each(frame, node.args[0], truth, depth)
    elif isinstance(func, ast.Name) and func.id == "isinstance" and truth and len(node.args) == 2:
        names = frame.scope.text.code(node.args[1])
        value = evaluate(frame, node.args[0])
        if isinstance(value, Given) and names in ("torch.Tensor", "Tensor"):
            value.is_tensor = True


def _assume_each(frame: Frame, node: ast.expr, truth: bool, depth: int) -> None:
    """`all(t.is_contiguous() for t in (a, b))`, `all([...])`"""
    from kernlint.lift.host.expressions import evaluate

    if isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            assume(frame, item, truth, depth + 1)
        return
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp)) or len(node.generators) != 1:
        return
    generator = node.generators[0]
    if not isinstance(generator.target, ast.Name) or generator.ifs:
        return
    values = evaluate(frame, generator.iter)
    if not isinstance(values, Seq):
        return
    saved = frame.state.variables.get(generator.target.id)
    for value in values.items[:16]:
        frame.state.variables[generator.target.id] = value
        assume(frame, node.elt, truth, depth + 1)
    if saved is None:
        frame.state.variables.pop(generator.target.id, None)
    else:
        frame.state.variables[generator.target.id] = saved
