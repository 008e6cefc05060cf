"""What device memory holds before a launch: allocations, fills and copies of the CUDA runtime and of C++ libraries.

An allocation is `empty` until something may have written it.  What is not understood counts as having written: only
memory that nothing touched since its allocation is called empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ONE, ZERO
from kernlint.ir.host import TensorFacts
from kernlint.lift.cuda.host_values import Known, State

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker

# Functions that put the address of new memory behind their first argument (CUDA runtime and driver API references).
_ALLOCATING = frozenset(
    prefix + name
    for prefix in ("cuda", "hip")
    for name in (
        "Malloc",
        "MallocAsync",
        "MallocManaged",
        "MallocHost",
        "HostAlloc",
        "MallocFromPoolAsync",
        "MallocPitch",
    )
) | frozenset({"cuMemAlloc", "cuMemAllocAsync", "cuMemAllocManaged", "hipHostMalloc"})
_FILLING = ("cudaMemset", "hipMemset", "cuMemsetD", "memset")
_HARMLESS = (
    "cudaFree",
    "hipFree",
    "cuMemFree",
    "cudaMemPrefetch",
    "cudaMemAdvise",
    "cudaPointerGet",
    "cudaStreamAttach",
)
_COPYING = ("cudaMemcpy", "hipMemcpy", "cuMemcpy", "memcpy")  # only the first argument is written
# Methods that write the whole tensor in place (ATen), with what it holds then.
_WRITING_METHODS = {"zero_": "zeros", "fill_": "full"}
_VECTORS = frozenset({"device_vector", "universal_vector", "host_vector"})  # thrust: elements are value-initialised
_RAW_BUFFERS = frozenset({"device_uvector", "device_buffer"})  # rmm: not initialised
POINTER_METHODS = frozenset(
    {
        "data_ptr",
        "const_data_ptr",
        "mutable_data_ptr",
        "data",
        "get",
        "begin",
        "end",
        "packed_accessor",
        "packed_accessor32",
        "packed_accessor64",
    }
)
POINTER_CASTS = frozenset({"raw_pointer_cast", "to_address", "addressof"})


def memory_call(w: Walker, name: str, values: list[Known], node: Node, state: State) -> bool:
    """The effect of a call on the memory its arguments point to.  True when the call is one of memory functions."""
    if name.removesuffix("_v2") in _ALLOCATING:
        target = _plain_name(values[0].address_of) if values else ""
        if target:
            span = w.unit.span(node)
            tensor = TensorFacts(target, init="empty", span=span)
            state.set(target, Known(tensor=tensor, root=f"{target}@{span.start}", text=target))
        return True
    if name.startswith(_HARMLESS) or name in ("free", "printf"):
        return True
    if name.startswith(_FILLING):
        value = values[1] if len(values) > 1 else None
        zero = value is not None and (value.expr == ZERO or (value.is_literal and not value.literal))
        for target_value in values[:1]:
            touch(state, target_value, "zeros" if zero else "full")
        return True
    written = values[:1] if name.startswith(_COPYING) else values
    for value in written:
        touch(state, value, "computed")
    return name.startswith(_COPYING)


def memory_method(name: str, base: Known, values: list[Known], state: State) -> None:
    """The effect of a method on the tensor it is called on and on those it is given."""
    if base.tensor is not None and name.endswith("_") and not name.endswith("__"):
        init = _WRITING_METHODS.get(name, "computed")
        touch(state, base, init if name != "fill_" or not _is_zero(values) else "zeros")
    for value in values:
        touch(state, value, "computed")


def _is_zero(values: list[Known]) -> bool:
    return bool(values) and values[0].expr == ZERO


def touch(state: State, value: Known, init: str) -> None:
    """Memory that `value` points to, or has as a member, was written: every variable that names it knows."""
    tensors = [value.tensor] if value.tensor is not None else []
    whole = _plain_name(value.address_of or value.text)
    if whole and value.expr is None:
        members = whole + "."
        for path, known in state.variables.items():
            if known.tensor is not None and (path.startswith(members) or (value.address_of and path == whole)):
                tensors.append(known.tensor)
    for item in value.items or ():
        touch(state, item, init)
    for tensor in tensors:
        if tensor.init != "empty":
            continue
        for path, known in state.variables.items():
            if known.tensor is not None and known.tensor.init == "empty" and same_memory(known.tensor, tensor):
                state.variables[path] = replace(known, tensor=replace(known.tensor, init=init))


def touch_below(w: Walker, node: Node, state: State) -> None:
    """Something is stored through an expression (`*p = 0`, `p[i] = x`): the memory behind its names was written."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "identifier":
            known = state.variables.get(w.text(current))
            if known is not None and known.tensor is not None:
                touch(state, known, "computed")
        pending.extend(current.named_children)


def adopt(state: State, inner: State) -> None:
    """After a body that may have run (a loop, a lambda): memory that it wrote counts as written."""
    for path, known in state.variables.items():
        other = inner.variables.get(path)
        if other is None or other is known or known.tensor is None or other.tensor is None:
            continue
        if known.tensor.init == "empty" != other.tensor.init and same_memory(known.tensor, other.tensor):
            state.variables[path] = replace(known, tensor=replace(known.tensor, init=other.tensor.init))


def same_memory(one: TensorFacts, other: TensorFacts) -> bool:
    """Whether two values come from one allocation."""
    return one.name == other.name or (one.span is not None and one.span == other.span)


def named_allocation(known: Known, name: str) -> Known:
    """A new allocation, called by the first variable that holds it."""
    tensor = known.tensor
    if tensor is None or not tensor.name.startswith("@"):
        return known
    return replace(known, tensor=replace(tensor, name=name))


def container(w: Walker, type_text: str, value: Known, name: str, node: Node) -> Known | None:
    """`thrust::device_vector<float> v(n);` as a tensor; None when the type is no container of device memory."""
    last = type_text.partition("<")[0].strip().rpartition("::")[2]
    if last not in _VECTORS and last not in _RAW_BUFFERS:
        return None
    init = "empty" if last in _RAW_BUFFERS else "zeros"
    given = value.items if value.items is not None else ((value,) if value.span is not None else ())
    copied = any(item.tensor is not None or (item.root and item.expr is None) for item in given)
    if last in _VECTORS and (len(given) > 1 or copied):
        init = "computed"
    span = w.unit.span(node)
    extent = given[0].expr if given else None
    tensor = TensorFacts(name, (extent,), (ONE,), contiguous=True, init=init, span=span)
    return Known(tensor=tensor, root=f"{name}@{span.start}", text=name)


def _plain_name(text: str) -> str:
    """The variable or member path of `&x`, `&buf.ptr`, `&this->ptr`; '' for elements of arrays."""
    clean = "".join(text.split()).replace("->", ".").strip("()")
    return clean if clean.replace(".", "").replace("_", "").isalnum() else ""
