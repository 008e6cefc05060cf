"""Names CUDA and the C library give meaning to, as data.  Sources: CUDA C++ Programming Guide; CUDA Math API."""

from __future__ import annotations

import math

from kernlint.ir.kernel import BarrierKind
from kernlint.ir.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, TYPES, UINT32, UINT64, ElementType


def _spread(table: dict[str, str]) -> dict[str, str]:
    return {name: op for op, names in table.items() for name in names.split()}


# one floating-point argument; the op of `Value.op`
UNARY = _spread(
    {
        "exp": "exp expf __expf hexp h2exp __builtin_expf",
        "exp2": "exp2 exp2f hexp2 h2exp2 ptx_exp2 exp2f_approx __exp2f ex2",
        "log": "log logf __logf hlog h2log",
        "log2": "log2 log2f __log2f hlog2 ptx_log2",
        "sqrt": "sqrt sqrtf hsqrt h2sqrt __fsqrt_rn __dsqrt_rn __fsqrt_rz",
        "rsqrt": "rsqrt rsqrtf hrsqrt h2rsqrt __frsqrt_rn",
        "abs": "fabs fabsf abs labs llabs __habs __habs2 habs",
        "sin": "sin sinf __sinf hsin",
        "cos": "cos cosf __cosf hcos",
        "tanh": "tanh tanhf htanh",
        "erf": "erf erff",
        "floor": "floor floorf hfloor",
        "ceil": "ceil ceilf hceil",
        "neg": "__hneg __hneg2",
    }
)
BINARY = _spread(
    {
        "max": "max fmax fmaxf umax llmax ullmax __hmax __hmax2 fmax_f32",
        "min": "min fmin fminf umin llmin ullmin __hmin __hmin2 fmin_f32",
        "pow": "pow powf __powf",
        "add": "__hadd __hadd2 __hadd_rn __hadd2_rn __fadd_rn __fadd_rz __fadd_ru __fadd_rd __dadd_rn",
        "sub": "__hsub __hsub2 __fsub_rn __fsub_rz __dsub_rn",
        "mul": "__hmul __hmul2 __hmul_rn __hmul2_rn __fmul_rn __fmul_rz __fmul_ru __fmul_rd __dmul_rn __mul24 __umul24",
        "div": "__hdiv __h2div __fdividef fdividef __fdiv_rn __fdiv_rz __ddiv_rn",
        "mod": "fmod fmodf",
    }
)
COMPARISONS = {
    "__hlt": "<",
    "__hle": "<=",
    "__hgt": ">",
    "__hge": ">=",
    "__heq": "==",
    "__hne": "!=",
}
FMA = frozenset({"fma", "fmaf", "__fmaf_rn", "__fmaf_rz", "__hfma", "__hfma2", "__hfma2_relu", "__fma_rn", "mad"})

# conversions: (result, lanes taken from the argument)
CONVERSIONS: dict[str, ElementType] = {
    **dict.fromkeys(
        ["__float2half", "__float2half_rn", "__float2half_rz", "__double2half", "__ushort_as_half"], FLOAT16
    ),
    **dict.fromkeys(["__int2half_rn", "__uint2half_rn", "__short_as_half", "__short2half_rn"], FLOAT16),
    **dict.fromkeys(["__half2float", "__bfloat162float", "__low2float", "__high2float", "__int2float_rn"], FLOAT32),
    **dict.fromkeys(
        ["__uint2float_rn", "__ll2float_rn", "__ull2float_rn", "__double2float_rn", "__int2float_rz"], FLOAT32
    ),
    **dict.fromkeys(
        ["__float2bfloat16", "__float2bfloat16_rn", "__float2bfloat16_rz", "__ushort_as_bfloat16"], BFLOAT16
    ),
    **dict.fromkeys(["__double2bfloat16", "__int2bfloat16_rn"], BFLOAT16),
    **dict.fromkeys(["__float2int_rn", "__float2int_rz", "__float2int_ru", "__float2int_rd", "__half2int_rn"], INT32),
    **dict.fromkeys(["__half2int_rz", "__double2int_rn", "__double2int_rz"], INT32),
    **dict.fromkeys(["__float2uint_rn", "__float2uint_rz", "__float2uint_rd", "__float2uint_ru"], UINT32),
    **dict.fromkeys(["__float2ll_rn", "__float2ll_rz"], INT64),
    **dict.fromkeys(["__low2half", "__high2half"], FLOAT16),
    **dict.fromkeys(["__low2bfloat16", "__high2bfloat16"], BFLOAT16),
    **dict.fromkeys(["__half_as_ushort", "__bfloat16_as_ushort"], TYPES["uint16"]),
    "__half_as_short": TYPES["int16"],
}
BITCASTS: dict[str, ElementType] = {
    "__float_as_int": INT32,
    "__float_as_uint": UINT32,
    "__int_as_float": FLOAT32,
    "__uint_as_float": FLOAT32,
    "__double_as_longlong": INT64,
    "__longlong_as_double": FLOAT64,
}
# results with two lanes of this element
PAIRS: dict[str, ElementType] = {
    **dict.fromkeys(
        ["__float22half2_rn", "__floats2half2_rn", "__float2half2_rn", "__half2half2", "__halves2half2"], FLOAT16
    ),
    **dict.fromkeys(["__low2half2", "__high2half2", "__lows2half2", "__highs2half2"], FLOAT16),
    **dict.fromkeys(
        ["__float22bfloat162_rn", "__floats2bfloat162_rn", "__float2bfloat162_rn", "__bfloat162bfloat162"], BFLOAT16
    ),
    **dict.fromkeys(["__halves2bfloat162", "make_bfloat162"], BFLOAT16),
    **dict.fromkeys(["__half22float2", "__bfloat1622float2"], FLOAT32),
    "make_half2": FLOAT16,
}
LOADS = {
    "__ldg": "ldg",
    "ldg": "ldg",
    "__ldcs": "cs",
    "__ldca": "ca",
    "__ldcg": "cg",
    "__ldlu": "lu",
    "__ldcv": "cv",
    "ldg_cg": "cg",
}
STORES = {"__stcs": "cs", "__stcg": "cg", "__stwt": "wt", "__stwb": "wb"}

ATOMICS = {
    "atomicAdd": "add",
    "atomicSub": "add",
    "atomicMax": "max",
    "atomicMin": "min",
    "atomicCAS": "cas",
    "atomicExch": "exch",
    "atomicOr": "or",
    "atomicAnd": "and",
    "atomicXor": "xor",
    "atomicInc": "inc",
    "atomicDec": "dec",
    "gpuAtomicAdd": "add",
    "gpuAtomicAddNoReturn": "add",
    "fastAtomicAdd": "add",
    "gpuAtomicMax": "max",
    "gpuAtomicMin": "min",
    "atomicAddNoRet": "add",
    "atomicMaxFloat": "max",
    "atomicMinFloat": "min",
    "red_add": "add",
}
ATOMIC_METHODS = {
    "fetch_add": "add",
    "fetch_sub": "add",
    "fetch_max": "max",
    "fetch_min": "min",
    "fetch_or": "or",
    "fetch_and": "and",
    "fetch_xor": "xor",
    "exchange": "exch",
    "compare_exchange_strong": "cas",
    "compare_exchange_weak": "cas",
}
BARRIERS = {
    "__syncthreads": BarrierKind.BLOCK,
    "__syncthreads_count": BarrierKind.BLOCK,
    "__syncthreads_and": BarrierKind.BLOCK,
    "__syncthreads_or": BarrierKind.BLOCK,
    "__barrier_sync": BarrierKind.NAMED,
    "__syncwarp": BarrierKind.WARP,
    "__threadfence": BarrierKind.FENCE,
    "__threadfence_block": BarrierKind.FENCE,
    "__threadfence_system": BarrierKind.FENCE,
    "__pipeline_commit": BarrierKind.COMMIT,
    "__pipeline_wait_prior": BarrierKind.WAIT,
    "cp_async_commit_group": BarrierKind.COMMIT,
    "cp_async_wait_group": BarrierKind.WAIT,
    "cp_async_wait_all": BarrierKind.WAIT,
    "cp_async_wait": BarrierKind.WAIT,
    "cp_async_fence": BarrierKind.COMMIT,
    "commit_group": BarrierKind.COMMIT,
    "wait_group": BarrierKind.WAIT,
    "warpgroup_wait": BarrierKind.WAIT,
    "warpgroup_commit_batch": BarrierKind.COMMIT,
    "warpgroup_arrive": BarrierKind.FENCE,
    "cluster_sync": BarrierKind.BLOCK,
    "cluster_arrive": BarrierKind.COMMIT,
    "cluster_arrive_relaxed": BarrierKind.COMMIT,
    "cluster_wait": BarrierKind.WAIT,
    "__cluster_barrier_arrive": BarrierKind.COMMIT,
    "__cluster_barrier_wait": BarrierKind.WAIT,
    "fence_view_async_shared": BarrierKind.FENCE,
    "fence_barrier_init": BarrierKind.FENCE,
}
BLOCK_VOTES = {
    "__syncthreads_count": "block_count",
    "__syncthreads_and": "block_and",
    "__syncthreads_or": "block_or",
}
SHUFFLES = {
    "__shfl_sync": "idx",
    "__shfl_up_sync": "up",
    "__shfl_down_sync": "down",
    "__shfl_xor_sync": "xor",
    "__shfl": "idx",
    "__shfl_up": "up",
    "__shfl_down": "down",
    "__shfl_xor": "xor",
    "WARP_SHFL": "idx",
    "WARP_SHFL_UP": "up",
    "WARP_SHFL_DOWN": "down",
    "WARP_SHFL_XOR": "xor",
    "SHFL_XOR_SYNC": "xor",
}
VOTES = {
    "__ballot_sync": "ballot",
    "__any_sync": "any",
    "__all_sync": "all",
    "__match_any_sync": "match",
    "__match_all_sync": "match",
    "__ballot": "ballot",
    "__any": "any",
    "__all": "all",
    "__activemask": "activemask",
    "__reduce_add_sync": "redux",
    "__reduce_max_sync": "redux",
    "__reduce_min_sync": "redux",
    "__reduce_or_sync": "redux",
    "__reduce_and_sync": "redux",
    "__reduce_xor_sync": "redux",
    "WARP_BALLOT": "ballot",
}
# statements without effect on anything the IR describes
IGNORED = frozenset(
    {
        "printf",
        "__nanosleep",
        "cudaGridDependencySynchronize",
        "cudaTriggerProgrammaticLaunchCompletion",
        "__builtin_unreachable",
        "__trap",
        "__brkpt",
        "trap",
        "clock",
        "__prof_trigger",
        "static_cast_void",
        "__launch_dependents",
        "griddepcontrol_wait",
        "griddepcontrol_launch_dependents",
        "CUTE_STATIC_ASSERT_V",
        "prefetch",
        "__prefetch_global_l1",
        "__prefetch_global_l2",
        "__builtin_prefetch",
    }
)
TRANSPARENT = frozenset(
    {
        "__builtin_expect",
        "__builtin_assume_aligned",
        "__builtin_launder",
        "move",
        "forward",
        "as_const",
        "assume_aligned",
        "__launder",
        "ref",
        "cref",
        "addressof",
        "__cvta_generic_to_global",
        "make_smem_ptr",
        "make_gmem_ptr",
        "__builtin_assume_separate_storage",
        "__cvta_global_to_generic",
        "__cvta_shared_to_generic",
        "__shfl_uniform",
        "__builtin_nontemporal_load",
        "to_underlying",
    }
)
ASSERTS = frozenset({"assert", "__builtin_assume", "CUDA_KERNEL_ASSERT", "CUDA_KERNEL_ASSERT2", "__assume", "assume"})
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "bit_cast", "dynamic_cast", "__builtin_bit_cast"})

# integer functions the normal form knows
INTEGER_CALLS = {"__popc": INT32, "__popcll": INT32, "__clz": INT32, "__ffs": INT32, "__clzll": INT32, "__brev": UINT32}
INTEGER_CALLS |= {"__umulhi": UINT32, "__mulhi": INT32, "__umul64hi": UINT64, "__byte_perm": UINT32, "__ffsll": INT32}

CONSTANTS: dict[str, tuple[int | float | bool, ElementType]] = {
    "true": (True, TYPES["bool"]),
    "false": (False, TYPES["bool"]),
    "warpSize": (32, INT32),
    "INT_MAX": (2**31 - 1, INT32),
    "INT_MIN": (-(2**31), INT32),
    "INT32_MAX": (2**31 - 1, INT32),
    "INT32_MIN": (-(2**31), INT32),
    "UINT_MAX": (2**32 - 1, UINT32),
    "UINT32_MAX": (2**32 - 1, UINT32),
    "INT64_MAX": (2**63 - 1, INT64),
    "LLONG_MAX": (2**63 - 1, INT64),
    "FLT_MAX": (3.4028234663852886e38, FLOAT32),
    "FLT_MIN": (1.1754943508222875e-38, FLOAT32),
    "FLT_EPSILON": (1.1920928955078125e-07, FLOAT32),
    "DBL_MAX": (1.7976931348623157e308, FLOAT64),
    "INFINITY": (math.inf, FLOAT32),
    "CUDART_INF_F": (math.inf, FLOAT32),
    "CUDART_INF": (math.inf, FLOAT64),
    "NAN": (math.nan, FLOAT32),
    "CUDART_NAN_F": (math.nan, FLOAT32),
    "M_PI": (math.pi, FLOAT64),
    "M_SQRT1_2": (math.sqrt(0.5), FLOAT64),
    "M_LOG2E": (math.log2(math.e), FLOAT64),
    "M_2_SQRTPI": (2 / math.sqrt(math.pi), FLOAT64),
    "CUDART_INF_FP16": (math.inf, FLOAT16),
    "HUGE_VALF": (math.inf, FLOAT32),
}
GRID_NAMES = {"threadIdx": "t", "blockIdx": "g", "blockDim": "bd", "gridDim": "gd"}
INFIX = {
    "operator+": "+",
    "operator-": "-",
    "operator*": "*",
    "operator/": "/",
}
BLOCK_COLLECTIVES = frozenset(
    {
        "Sum",
        "Reduce",
        "InclusiveSum",
        "ExclusiveSum",
        "InclusiveScan",
        "ExclusiveScan",
        "Sort",
        "SortDescending",
        "SortBlockedToStriped",
        "SortDescendingBlockedToStriped",
        "Load",
        "Store",
        "FlagHeads",
        "Max",
        "Min",
        "RankKeys",
        "BlockedToStriped",
        "StripedToBlocked",
        "Histogram",
    }
)


def limits_constant(element: ElementType, name: str) -> int | float | None:
    """`std::numeric_limits<element>::name()`."""
    if element.is_float:
        largest = {
            "float16": 65504.0,
            "bfloat16": 3.3895313892515355e38,
            "float32": 3.4028234663852886e38,
            "float64": 1.7976931348623157e308,
            "float8e4m3": 448.0,
            "float8e5m2": 57344.0,
        }.get(element.name)
        if name == "infinity":
            return math.inf
        if name in ("quiet_NaN", "signaling_NaN"):
            return math.nan
        if largest is None:
            return None
        if name == "epsilon":
            return {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(
                element.name
            )
        return {"max": largest, "lowest": -largest}.get(name)
    bits = element.bits
    if element.kind.value == "uint":
        return {"max": (1 << bits) - 1, "min": 0, "lowest": 0}.get(name)
    low = -(1 << (bits - 1))
    return {"max": -low - 1, "min": low, "lowest": low}.get(name)
