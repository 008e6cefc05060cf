"""Element types as far as the kernel and its launches determine them.

A Triton kernel is generic in its tensors' element types; a launch, an assert or an allocation may pin them.  Types that
follow a tensor of unknown type are *generic*: 16 bits in half-precision runs, 32 in others.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.ir.kernel import Kernel
from kernlint.ir.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, ElementType
from kernlint.ir.value import Value
from kernlint.records import dataclass

_SHAPE_ONLY = {"expand", "broadcast", "trans", "reshape", "join_lanes", "split_lanes", "sort", "shuffle"}
_UNARY = {"neg", "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf",
          "floor", "ceil", "relu", "scan"}  # fmt: skip
_ARITHMETIC = {"add", "sub", "mul", "div", "min", "max", "fma", "mod", "floordiv", "where", "join"}
_MAX_VALUES = 4000


@dataclass(frozen=True, slots=True)
class Typed:
    """`type` None: not known.  `generic`: follows a tensor whose element type no launch determines; `given` then says
    whether that tensor is known to come from the caller, who chooses the type."""

    type: ElementType | None
    generic: bool = False
    given: bool = False

    @property
    def is_low(self) -> bool:
        return self.type is not None and self.type.is_float and self.type.bits <= 16


UNTYPED = Typed(None)


def tensor_types(kernel: Kernel) -> dict[str, ElementType]:
    """Element types of tensor parameters on which every launch that knows them agrees."""
    found: dict[str, set[ElementType]] = {}
    for launch in kernel.launches:
        for name, value in launch.arguments.items():
            tensor = value.tensor
            if tensor is not None and tensor.dtype is not None:
                found.setdefault(name, set()).add(tensor.dtype)
    return {name: next(iter(types)) for name, types in found.items() if len(types) == 1}


def caller_tensors(kernel: Kernel) -> set[str]:
    """Tensor parameters that some launch passes on from its caller."""
    return {
        name
        for launch in kernel.launches
        for name, value in launch.arguments.items()
        if value.tensor is not None and value.tensor.init == "given"
    }


def narrowest_types(kernel: Kernel) -> dict[str, ElementType]:
    """For template parameters that some launch instantiates with 16-bit floats, the narrowest of those."""
    found: dict[str, set[ElementType]] = {}
    for launch in kernel.launches:
        instantiated = launch.attrs.get("types", {})
        for name, value in launch.arguments.items():
            found.setdefault(name, set()).update(instantiated.get(value.text, ()) if value.text else ())
    low = {name: [t for t in types if t.is_float and t.bits <= 16] for name, types in found.items()}
    # Of two types of 16 bits the one that keeps fewer digits.
    return {name: min(types, key=lambda t: (t.bits, t is not BFLOAT16, t.name)) for name, types in low.items() if types}


class Types:
    """Answers `of(value)`; remembers what it found."""

    def __init__(self, kernel: Kernel, tensors: Mapping[str, ElementType] | None = None) -> None:
        self._tensors = dict(tensors if tensors is not None else tensor_types(kernel))
        self._given = caller_tensors(kernel)
        self._instantiated = narrowest_types(kernel)
        self._known: dict[int, Typed] = {}

    def of_tensor(self, name: str) -> ElementType | None:
        """The element type the launches give a tensor parameter."""
        return self._tensors.get(name)

    def of(self, value: Value) -> Typed:
        """The element type of a value; iterative, so that long chains of operations cost no stack."""
        stack = [value]
        while stack:
            current = stack[-1]
            if id(current) in self._known:
                stack.pop()
                continue
            missing = [arg for arg in self._needed(current) if id(arg) not in self._known]
            if missing and len(stack) < _MAX_VALUES:
                if any(arg in stack[-200:] for arg in missing):
                    self._known[id(current)] = UNTYPED
                    continue
                stack += missing
                continue
            self._known[id(current)] = self._decide(current)
            stack.pop()
        return self._known[id(value)]

    def _needed(self, value: Value) -> tuple[Value, ...]:
        if value.dtype is not None and not value.polymorphic:
            return ()
        like = value.attrs.get("like")
        if isinstance(like, Value):
            return (like,)
        if value.op in ("load", "atomic", "param", "const", "opaque", "pointer") or _to_unknown(value):
            return ()
        if value.op in _SHAPE_ONLY or value.op in _UNARY or value.op in ("reduce", "carry", "cast"):
            return value.args[:1]
        if value.op == "where":
            return value.args[1:]
        if value.op == "dot":
            return value.args[2:3]
        return value.args if value.op in _ARITHMETIC else ()

    def _decide(self, value: Value) -> Typed:
        if value.dtype is not None and not value.polymorphic:
            return Typed(value.dtype)
        instantiated = self._instantiated.get(str(value.attrs.get("type", "")))
        if instantiated is not None:
            return Typed(instantiated)
        like = value.attrs.get("like")
        if isinstance(like, Value):
            return self._tensor(like) if like.op in ("param", "pointer") else self._get(like)
        if value.op in ("load", "atomic", "param", "pointer"):
            return self._tensor(value)
        if _to_unknown(value):
            return UNTYPED
        needed = self._needed(value)
        if not needed:
            return Typed(value.dtype, value.polymorphic)
        types = [self._get(arg) for arg in needed if not arg.attrs.get("constexpr")]
        if not types:
            return Typed(value.dtype, value.polymorphic)
        result = types[0]
        for other in types[1:]:
            result = _meet(result, other, value.op)
        return result

    def _get(self, value: Value) -> Typed:
        return self._known.get(id(value), UNTYPED)

    def _tensor(self, value: Value) -> Typed:
        """The element type of the tensor a load reads or a pointer names."""
        pointer = value.access.pointer if value.access is not None else value.pointer
        buffer = pointer.buffer if pointer is not None else None
        name = buffer.name if buffer is not None else str(value.attrs.get("name", ""))
        known = self._tensors.get(name)
        if known is not None:
            return Typed(known)
        declared = (pointer.dtype if pointer is not None else None) or (buffer.dtype if buffer is not None else None)
        if declared is not None and not value.polymorphic:
            return Typed(declared)
        return Typed(declared, generic=buffer is not None, given=name in self._given)


def _to_unknown(value: Value) -> bool:
    """A conversion to a type chosen elsewhere (`cdtype = float32 if half else x.dtype`)."""
    explicit = value.op == "cast" and bool(value.attrs.get("explicit"))
    return explicit and value.dtype is None and not isinstance(value.attrs.get("like"), Value)


def _meet(a: Typed, b: Typed, op: str) -> Typed:
    """Promotion as in Triton's `computation_type`; one wide operand makes the result wide whatever the other is."""
    x, y = a.type, b.type
    for wide in (FLOAT64, FLOAT32):
        if wide in (x, y):
            return Typed(wide)
    if x is None or y is None:
        if (x is None and not a.generic) or (y is None and not b.generic):
            return UNTYPED
        return Typed(None, True, _all_given(a, b))
    if not x.is_float or not y.is_float:
        return b if y.is_float else a
    wider = x if x.bits >= y.bits else y
    result = FLOAT32 if op in ("div", "mod") or {x, y} == {FLOAT16, BFLOAT16} else wider
    return Typed(result, a.generic or b.generic, _all_given(a, b))


def _all_given(a: Typed, b: Typed) -> bool:
    return all(typed.given for typed in (a, b) if typed.generic)
