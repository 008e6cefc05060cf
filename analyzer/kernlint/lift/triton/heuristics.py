"""`@triton.heuristics`: what a compile-time parameter is computed from."""

from __future__ import annotations

import ast

from kernlint.ir.kernel import Region
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import truth
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.state import Call, State
from kernlint.lift.triton.things import ARGUMENTS, Callee


def read_heuristic(state: State, node: ast.expr) -> Value | None:
    """The value of `lambda args: ...` over the kernel's parameters; `cond` is its truth.  None when not understood.

    `args["N"]` is the parameter `p:N`, whether it is a pointer, a number or None.  Nothing of it becomes part of the
    kernel.
    """
    kept = (state.scope, state.env, state.path, state.guard, state.values, state.opaque_reasons, state.region)
    state.env, state.path, state.values, state.opaque_reasons, state.region = {}, (), [], {}, Region()
    try:
        function = evaluate(state, node)
        if not isinstance(function, Callee):
            return None
        result = state.call_function(state, function, Call(function.name, [ARGUMENTS], {}, node))
        made = state.as_value(result, node)
        if made.cond is None:
            made.cond = truth(state, result, node)
        return None if made.op == "opaque" else made
    except Exception:  # a heuristic that cannot be read is no reason to lose the kernel
        return None
    finally:
        (state.scope, state.env, state.path, state.guard, state.values, state.opaque_reasons, state.region) = kept
