"""Built-in functions: math, conversions, loads and stores, vector makers, assertions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.expr import Expr
from kernlint.ir.types import BOOL, FLOAT32, FLOAT64, ElementType
from kernlint.ir.value import Value
from kernlint.lift.cuda import builtins as known
from kernlint.lift.cuda.device_machine import Machine, Place, TypedValue, object_of, pointee
from kernlint.lift.cuda.device_ops import (
    binary,
    comparison,
    convert,
    data_dependent,
    minimum_or_maximum,
    pointer_to_integer,
)
from kernlint.lift.cuda.device_places import dereference
from kernlint.lift.cuda.device_resolve import resolve_type
from kernlint.lift.cuda.device_sync import atomic_call, barrier_call, shuffle_call, vote_call
from kernlint.lift.cuda.device_types import CType, common, named_element, promoted
from kernlint.lift.cuda.evaluate_inline import Argument, arguments_of
from kernlint.lift.cuda.memory import load_from, store_to

if TYPE_CHECKING:
    from tree_sitter import Node

_STD = frozenset(
    {"", "thrust", "std", "cuda::std", "cutlass", "cuda", "c10::cuda", "::", "__nv_internal", "math", "cute"}
)
_PRIORITY = frozenset(known.BARRIERS) | frozenset(known.SHUFFLES) | frozenset(known.VOTES) | frozenset(known.LOADS)


def builtin_call(
    m: Machine,
    scope: str,
    name: str,
    template_list: Node | None,
    arguments: Node | None,
    node: Node,
    user_defined: bool,
) -> Value | None:
    """The meaning of a call when `name` is built in; None otherwise.  A user's own function of that name wins, except
    over synchronisation and atomics."""
    if scope.startswith(("std::numeric_limits", "numeric_limits")) or "numeric_limits<" in scope:
        return _limits(m, scope, name, node)
    identity = _IDENTITIES.get(name)
    if identity is not None and not user_defined:
        return thread_identity(m, *identity, node)
    if name.endswith("_C") and name[:-2] in ("UINT32", "UINT64", "INT32", "INT64"):
        values = [argument.value for argument in arguments_of(m, arguments)]
        element = named_element(f"{name[:-2].lower()}_t")
        return convert(m, values[0], CType("", element), node, True) if values else None
    if scope not in _STD and not (name.startswith(("__", "atomic"))):
        return None
    if name in known.ASSERTS:
        return assertion(m, name, arguments, node)
    is_priority = name in _PRIORITY or name.startswith("__") or name.split("_")[0] in known.ATOMICS
    if user_defined and not is_priority:
        return None
    if not _is_known(name):
        return None
    given = arguments_of(m, arguments)
    values = [argument.value for argument in given]
    if name in _TUPLES:
        return m.value("tuple", tuple(values), None, node)
    if name == "__pipeline_memcpy_async" and len(values) >= 3:
        return pipeline_copy(m, values, node)
    for handler in (barrier_call, shuffle_call, vote_call, atomic_call):
        result = handler(m, name, values, node)
        if result is not None:
            return result
    return _function(m, name, values, given, template_list, node)


_TUPLES = frozenset({"make_tuple", "make_pair"})
_ADDRESSES = frozenset({"cast_smem_ptr_to_uint", "cast_smem_ptr_to_int", "get_smem_pointer", "smem_ptr_to_uint"})
# what the thread is in its block: (divisor, remainder) of the linear thread number.  Source: CUTLASS `arch/arch.h`,
# `cutlass/cutlass.h`; CUB `util_ptx.cuh`
_IDENTITIES = {
    "canonical_warp_idx": (32, 0),
    "canonical_warp_idx_sync": (32, 0),
    "canonical_warp_group_idx": (128, 0),
    "canonical_lane_idx": (0, 32),
    "LaneId": (0, 32),
    "lane_id": (0, 32),
    "get_lane_id": (0, 32),
    "WarpId": (32, 0),
    "canonical_thread_idx_in_warpgroup": (0, 128),
}


def thread_identity(m: Machine, divisor: int, modulus: int, node: Node) -> Value:
    from kernlint.ir.types import INT32
    from kernlint.lift.cuda.device_groups import linear_thread

    rank = linear_thread(m, node)
    by = m.constant(divisor or modulus, INT32)
    return binary(m, "/" if divisor else "%", rank, by, node)


def pipeline_copy(m: Machine, values: list[Value], node: Node) -> Value:
    """`__pipeline_memcpy_async(destination, source, bytes[, zero_fill])`."""
    from kernlint.lift.cuda.device_asm import async_copy

    count = values[2].expr.constant if values[2].expr is not None else None
    read: Value | None = None
    if len(values) > 3:
        read = binary(m, "-", values[2], values[3], node)
    return async_copy(m, values[0], values[1], count, node, "__pipeline_memcpy_async", read)


def _is_known(name: str) -> bool:
    base = name.removesuffix("_block").removesuffix("_system")
    return (
        name in _TABLE
        or base in known.ATOMICS
        or (name.startswith("make_") and named_element(name[5:]) is not None)
        or name.startswith("__cvta_generic_to_")
        or name in _ADDRESSES
        or name in _TUPLES
    )


_TABLE: frozenset[str] = frozenset().union(
    known.UNARY,
    known.BINARY,
    known.COMPARISONS,
    known.FMA,
    known.CONVERSIONS,
    known.BITCASTS,
    known.PAIRS,
    known.LOADS,
    known.STORES,
    known.BARRIERS,
    known.SHUFFLES,
    known.VOTES,
    known.IGNORED,
    known.TRANSPARENT,
    known.INTEGER_CALLS,
    (
        "make_float8",
        "__isinf",
        "isinf",
        "isnan",
        "isfinite",
        "__hisnan",
        "__hisinf",
        "roundf",
        "rintf",
        "truncf",
        "round",
    ),
    ("rint", "trunc", "log1pf", "expm1f", "log10f", "copysignf", "normcdff", "__saturatef", "hrint", "__powf", "cbrtf"),
    (
        "clamp",
        "swap",
        "__pipeline_memcpy_async",
        "sigmoid",
        "__frcp_rn",
        "hrcp",
        "h2rcp",
        "frexpf",
        "ldexpf",
        "scalbnf",
        "nearbyintf",
        "lrintf",
    ),
    ("memcpy", "memset", "lgammaf", "tgammaf", "erfcf", "acosf", "asinf", "atanf", "atan2f", "sinhf", "coshf"),
    ("sinpif", "cospif", "sincosf", "sincospif", "__sincosf", "hypotf", "fdimf", "exp10f", "__exp10f", "cuda_cast"),
    ("__dp4a", "__vadd4", "__funnelshift_r", "__funnelshift_l", "__nv_cvt_float_to_fp8", "__hmin_nan", "__hmax_nan"),
)


def _function(
    m: Machine, name: str, values: list[Value], given: list[Argument], template_list: Node | None, node: Node
) -> Value | None:
    op = known.UNARY.get(name)
    if op is not None and len(values) == 1:
        return _unary_math(m, op, name, values[0], node)
    op = known.BINARY.get(name)
    if op is not None and len(values) == 2:
        return _binary_math(m, op, name, values, template_list, node)
    if name in ("min", "max") and len(values) > 2:
        result = values[0]
        for value in values[1:]:
            result = minimum_or_maximum(m, name, result, value, node)
        return result
    if name in known.COMPARISONS and len(values) == 2:
        return comparison(m, known.COMPARISONS[name], values[0], values[1], node)
    if name in known.FMA and len(values) == 3:
        dtype = FLOAT32 if name in ("fmaf", "__fmaf_rn", "__fmaf_rz") else _joint(values)
        return m.value("fma", tuple(values), dtype, node)
    if name in known.IGNORED:
        return m.value("call", tuple(values), None, node, attrs={"name": name, "void": True})
    if not values:
        return None
    if name in known.TRANSPARENT:
        return values[0]
    if name in known.LOADS:
        return _load(m, name, values[0], node)
    if name in known.STORES and len(values) == 2:
        ctype = pointee(values[0])
        store_to(m, values[0], ctype, convert(m, values[1], ctype, None, False), node, cached=known.STORES[name])
        return values[1]
    return _conversion(m, name, values, given, node)


def _conversion(m: Machine, name: str, values: list[Value], given: list[Argument], node: Node) -> Value | None:
    first = values[0]
    if name in known.CONVERSIONS:
        return convert(m, first, CType("", known.CONVERSIONS[name]), node, True)
    if name in known.BITCASTS:
        element = known.BITCASTS[name]
        expr = None if element.is_float else data_dependent(m, first)
        return m.value("call", tuple(values), element, node, expr, None, {"name": name})
    if name in known.PAIRS:
        element = replace(known.PAIRS[name], lanes=2)
        if len(values) == 2:
            single = CType("", known.PAIRS[name])
            parts = tuple(convert(m, value, single, None, True) for value in values)
            return m.value("tuple", parts, element, node)
        return m.value("cast", (first,), element, node, attrs={"explicit": True})
    if name.startswith("make_"):
        element_type = named_element(name[5:]) or replace(FLOAT32, lanes=8)
        single = CType("", replace(element_type, lanes=1))
        return m.value("tuple", tuple(convert(m, v, single, None, False) for v in values), element_type, node)
    if (name in _ADDRESSES or name.startswith("__cvta_generic_to_")) and first.pointer is not None:
        from kernlint.ir.types import UINT32

        return pointer_to_integer(m, first, UINT32, node)
    if name == "clamp" and len(values) == 3:
        lower = minimum_or_maximum(m, "max", first, values[1], node)
        return minimum_or_maximum(m, "min", lower, values[2], node)
    if name == "swap" and len(given) == 2:
        return _swap(m, given, node)
    if name in ("isnan", "isinf", "isfinite", "__hisnan", "__isinf", "__hisinf"):
        return m.value("call", tuple(values), BOOL, node, None, None, {"name": name})
    if name in known.INTEGER_CALLS:
        args = [m.expr_of(value) for value in values]
        return m.value(
            "call", tuple(values), known.INTEGER_CALLS[name], node, arith.call(name, *args), None, {"name": name}
        )
    dtype = FLOAT32 if name.endswith("f") else _joint(values)
    for value in values[1:]:
        if isinstance(value, TypedValue) and value.place is not None and value.place.key:
            m.write(value.place.key, m.value("call", (first,), FLOAT32, node, None, None, {"name": name}))
    expr = None if dtype is not None and dtype.is_float else m.opaque_expr(f"result of {name}")
    return m.value("call", tuple(values), dtype, node, expr, None, {"name": name})


def _joint(values: list[Value]) -> ElementType | None:
    dtype = values[0].dtype if values else None
    for value in values[1:]:
        dtype = common(dtype, value.dtype)
    return dtype


def _swap(m: Machine, given: list[Argument], node: Node) -> Value:
    arguments = node.child_by_field_name("arguments")
    from kernlint.lift.cuda import device_places as places

    nodes = [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []
    if len(nodes) == 2:
        first, second = (places.place_of(m, child) for child in nodes)
        places.store(m, first, given[1].value, node)
        places.store(m, second, given[0].value, node)
    return m.value("call", (), None, node, attrs={"name": "swap", "void": True})


def _unary_math(m: Machine, op: str, name: str, x: Value, node: Node) -> Value:
    dtype = x.dtype
    if name.endswith("f") and dtype is not None and dtype.lanes == 1:
        dtype = FLOAT32
    elif name == op and dtype is not None and dtype.is_integer and op != "abs":
        dtype = FLOAT64
    expr: Expr | None = None
    if op == "abs" and (dtype is None or dtype.is_integer):
        dtype = promoted(dtype)
        expr = arith.call("abs", m.expr_of(x)) if x.expr is not None else None
    return m.value(op, (x,), dtype, node, expr)


def _binary_math(m: Machine, op: str, name: str, values: list[Value], template_list: Node | None, node: Node) -> Value:
    if template_list is not None and template_list.named_child_count:
        to = resolve_type(m, m.text(template_list.named_children[0]))
        if to.is_scalar:
            values = [convert(m, value, to, None, False) for value in values]
    if op in ("min", "max"):
        made = minimum_or_maximum(m, op, values[0], values[1], node)
        if name.endswith("f") and made.dtype is not None and not made.dtype.is_float:
            made.dtype = FLOAT32
        return made
    if op == "mod" or op == "pow":
        return m.value(op, tuple(values), _joint(values), node)
    sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[op]
    return binary(m, sign, values[0], values[1], node)


def _load(m: Machine, name: str, address: Value, node: Node) -> Value:
    place = dereference(m, address, node)
    if place.address is None:
        return m.opaque("load of something unknown", node)
    return load_from(m, place.address, place.ctype, node, cached=known.LOADS[name])


def assertion(m: Machine, name: str, arguments: Node | None, node: Node) -> Value:
    given = [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []
    if given:
        value = m.eval(given[0])
        record_fact(m, value)
    return m.value("call", (), None, node, attrs={"name": name, "void": True})


def record_fact(m: Machine, value: Value) -> None:
    """What an assertion says holds under its path; kept when nothing else guards it or it says so itself."""
    from kernlint.ir.condition import Connective, disj, negate

    condition = m.cond_of(value)
    if m.guard.op is not Connective.TRUE:
        condition = disj((negate(m.guard), condition))
    if condition.op is not Connective.TRUE:
        m.kernel.facts.append(condition)


def _limits(m: Machine, scope: str, name: str, node: Node) -> Value:
    start = scope.find("<")
    text = scope[start + 1 : scope.rfind(">")]
    ctype = resolve_type(m, text)
    if ctype.element is not None:
        number = known.limits_constant(ctype.element, name)
        if number is not None:
            return m.constant(number, ctype.element, node)
    return m.value("call", (), ctype.element, node, m.symbol(f"{scope}::{name}()").expr, None, {"name": name})


__all__ = ["Place", "builtin_call", "object_of", "record_fact"]
