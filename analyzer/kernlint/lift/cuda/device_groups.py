"""Cooperative groups: thread blocks, tiles, grids, and their ranks, sizes and barriers.

Source: CUDA C++ Programming Guide, "Cooperative Groups".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.expr import Expr, const
from kernlint.ir.kernel import BarrierKind
from kernlint.ir.types import INT32, UINT32, Space
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import Machine, Object, object_of, pointee
from kernlint.lift.cuda.device_sync import shuffle
from kernlint.lift.cuda.device_types import CType
from kernlint.lift.cuda.evaluate_inline import arguments_of

if TYPE_CHECKING:
    from tree_sitter import Node

_FACTORIES = {
    "this_thread_block": "block",
    "this_grid": "grid",
    "this_cluster": "cluster",
    "coalesced_threads": "warp",
    "this_multi_grid": "grid",
    "this_thread": "thread",
}
_BARRIERS = {
    "block": BarrierKind.BLOCK,
    "grid": BarrierKind.GRID,
    "tile": BarrierKind.WARP,
    "warp": BarrierKind.WARP,
    "cluster": BarrierKind.BLOCK,
    "thread": BarrierKind.WARP,
}
_SHUFFLES = {"shfl": "idx", "shfl_up": "up", "shfl_down": "down", "shfl_xor": "xor"}
_VOTES = {"ballot": "ballot", "any": "any", "all": "all", "match_any": "match", "match_all": "match"}
_RANKS = frozenset({"thread_rank", "thread_index", "group_index", "block_rank"})


def _group(m: Machine, role: str, node: Node, size: Expr | None = None, width: Value | None = None) -> Value:
    obj = m.new_object(CType(f"cooperative_groups::{role}"), role)
    obj.role = role
    obj.extra = (width,) if width is not None else ()
    made = m.typed("opaque", (), node, obj=obj, ctype=obj.ctype, attrs={"why": "cooperative group"})
    made.expr = size
    return made


def group_function(
    m: Machine, scope: str, name: str, template_list: Node | None, arguments: Node | None, node: Node
) -> Value | None:
    """`cg::this_thread_block()`, `cg::tiled_partition<32>(g)`, `cg::sync(g)`, `cg::reduce(g, x, op)`; else None."""
    if name in _FACTORIES and (not scope or scope.split("::")[-1] in ("cg", "cooperative_groups")):
        return _group(m, _FACTORIES[name], node)
    if name in ("tiled_partition", "labeled_partition", "binary_partition") or (
        name == "experimental_tiled_partition" and template_list is not None
    ):
        given = [a.value for a in arguments_of(m, arguments)]
        width = None
        if template_list is not None and template_list.named_child_count:
            width = m.eval(template_list.named_children[0])
        elif len(given) > 1:
            width = given[1]
        return _group(m, "tile" if name == "tiled_partition" else "warp", node, None, width)
    if name == "map_shared_rank":
        return _of_another_block(m, arguments, node)
    if scope.split("::")[-1] not in ("cg", "cooperative_groups"):
        return None
    given = [a.value for a in arguments_of(m, arguments)]
    obj = object_of(given[0]) if given else None
    if name == "sync" and obj is not None:
        return _sync(m, obj, node, "cg::sync")
    if name == "wait" or name == "wait_prior":
        m.barrier(BarrierKind.WAIT, node, f"cg::{name}")
        return m.value("call", tuple(given), None, node, attrs={"name": name, "void": True})
    if name in ("reduce", "inclusive_scan", "exclusive_scan") and len(given) >= 2:
        m.barrier(BarrierKind.WARP, node, f"cg::{name}")
        x = given[1]
        expr = None if x.dtype is not None and x.dtype.is_float else m.opaque_expr("reduced")
        op = "custom"
        for word, meaning in (("plus", "sum"), ("greater", "max"), ("less", "min")):
            if word in m.text(node):
                op = meaning
        return m.value(
            "reduce" if name == "reduce" else "scan", (x,), x.dtype, node, expr, None, {"op": op, "dim": None}
        )
    if name == "memcpy_async" and len(given) >= 3:
        from kernlint.lift.cuda.device_asm import async_copy

        return async_copy(m, given[1], given[2], None, node, "cg::memcpy_async")
    return None


def _of_another_block(m: Machine, arguments: Node | None, node: Node) -> Value | None:
    """`map_shared_rank(p, rank)`: the same place in another block's shared memory, a buffer apart."""
    given = arguments_of(m, arguments)
    value = given[0].value if given else None
    pointer = value.pointer if value is not None else None
    if value is None or pointer is None or pointer.buffer is None:
        return value
    key = f"{pointer.buffer.name}@cluster"
    known = m.symbols.get(key)
    if known is None or known.pointer is None:
        made = m.buffer(key, Space.UNKNOWN, pointee(value), node)
        known = m.typed("pointer", (), node, pointer=Pointer(made, const(0), made.dtype))
        m.symbols[key] = known
    remote = known.pointer
    assert remote is not None
    moved = Pointer(remote.buffer, pointer.offset, pointer.dtype, pointer.indices, pointer.casts)
    return m.typed("call", (value,), node, pointer=moved, ctype=pointee(value), attrs={"name": "map_shared_rank"})


def _sync(m: Machine, obj: Object, node: Node, name: str) -> Value:
    m.barrier(_BARRIERS.get(obj.role, BarrierKind.WARP), node, name)
    return m.value("call", (), None, node, attrs={"name": name, "void": True})


def linear_thread(m: Machine, node: Node) -> Value:
    """The rank of a thread in its block: x + y*bx + z*bx*by."""
    x, y, z = (m.grid_value("t", index, node) for index in range(3))
    bx, by = m.grid_value("bd", 0, node), m.grid_value("bd", 1, node)
    expr = m.expr_of(x) + m.expr_of(y) * m.expr_of(bx) + m.expr_of(z) * m.expr_of(bx) * m.expr_of(by)
    return m.value("add", (x, y, z, bx, by), UINT32, node, expr)


def group_method(
    m: Machine, obj: Object, name: str, template_list: Node | None, arguments: Node | None, node: Node
) -> Value | None:
    """A method of a cooperative group; None when not known."""
    width = obj.extra[0] if obj.extra else None
    if name in ("sync", "barrier_wait", "barrier_arrive"):
        return _sync(m, obj, node, f"{obj.role}.{name}")
    if name in _SHUFFLES:
        given = [a.value for a in arguments_of(m, arguments)]
        return shuffle(m, _SHUFFLES[name], given, None, name, node)
    if name in _VOTES:
        given_values = tuple(a.value for a in arguments_of(m, arguments))
        m.barrier(BarrierKind.WARP, node, name)
        return m.value("vote", given_values, INT32, node, m.opaque_expr("vote"), None, {"kind": _VOTES[name]})
    if name == "thread_rank":
        rank = linear_thread(m, node)
        if obj.role == "block":
            return rank
        if obj.role == "tile" and width is not None:
            return m.value("mod", (rank, width), UINT32, node, arith.mod(m.expr_of(rank), m.expr_of(width)))
        if obj.role == "grid":
            return _grid_rank(m, rank, node)
        if obj.role == "cluster":
            own = arith.mod(_linear_block(m, node), m.expr_of(m.symbol("cluster.num_blocks()")))
            return m.value("add", (rank,), UINT32, node, own * _block_size(m, node) + m.expr_of(rank))
        return m.value("call", (), UINT32, node, m.opaque_expr("rank"), None, {"name": name})
    if name in ("size", "num_threads"):
        if obj.role == "tile" and width is not None:
            return width
        dims = [m.grid_value("bd", index, node) for index in range(3)]
        size = m.expr_of(dims[0]) * m.expr_of(dims[1]) * m.expr_of(dims[2])
        if obj.role == "grid":
            for index in range(3):
                size = size * m.expr_of(m.grid_value("gd", index, node))
        if obj.role in ("block", "grid"):
            return m.value("mul", tuple(dims), UINT32, node, size)
        return m.value("call", (), UINT32, node, m.opaque_expr("size of a group"), None, {"name": name})
    if name == "meta_group_rank" and width is not None:
        rank = linear_thread(m, node)
        return m.value("floordiv", (rank, width), UINT32, node, arith.floordiv(m.expr_of(rank), m.expr_of(width)))
    if name == "meta_group_size" and width is not None:
        total = const(1)
        for index in range(3):
            total = total * m.expr_of(m.grid_value("bd", index, node))
        return m.value("floordiv", (width,), UINT32, node, arith.cdiv(total, m.expr_of(width)))
    grid = {"thread_index": "t", "group_index": "g", "group_dim": "bd", "dim_threads": "bd", "dim_blocks": "gd"}.get(
        name
    )
    if grid is not None:
        if obj.role == "grid" and grid == "bd":
            grid = "gd"
        return m.value("tuple", tuple(m.grid_value(grid, i, node) for i in range(3)), None, node, attrs={"grid": grid})
    if name in ("block_rank", "cluster_rank"):
        block, blocks = _linear_block(m, node), m.symbol("cluster.num_blocks()")
        operation = arith.mod if name == "block_rank" else arith.floordiv
        op = "mod" if name == "block_rank" else "floordiv"
        return m.value(op, (blocks,), UINT32, node, operation(block, m.expr_of(blocks)))
    if name in ("num_blocks", "num_clusters", "num_threads"):
        return m.symbol(f"cluster.{name}()")
    if name == "map_shared_rank":
        return _of_another_block(m, arguments, node)
    return None


def _block_size(m: Machine, node: Node) -> Expr:
    size = const(1)
    for index in range(3):
        size = size * m.expr_of(m.grid_value("bd", index, node))
    return size


def _linear_block(m: Machine, node: Node) -> Expr:
    block = [m.expr_of(m.grid_value("g", index, node)) for index in range(3)]
    grid = [m.expr_of(m.grid_value("gd", index, node)) for index in range(3)]
    return block[0] + block[1] * grid[0] + block[2] * grid[0] * grid[1]


def _grid_rank(m: Machine, rank: Value, node: Node) -> Value:
    linear = _linear_block(m, node)
    size = const(1)
    for index in range(3):
        size = size * m.expr_of(m.grid_value("bd", index, node))
    return m.value("add", (rank,), UINT32, node, linear * size + m.expr_of(rank))
