"""Inline PTX: barriers, fences, asynchronous copies, loads, stores, atomics; anything else is a pure function.

Source: PTX ISA, "Instruction Set".
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import negate
from kernlint.ir.expr import axis_expr, const
from kernlint.ir.kernel import AccessKind, BarrierKind, Frame
from kernlint.ir.types import FLOAT32, FLOAT64, TYPES, UINT32, UINT64, ElementType
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda import memory
from kernlint.lift.cuda.device_machine import Machine, Place, TypedValue, pointee
from kernlint.lift.cuda.device_ops import BYTE, convert, recast
from kernlint.lift.cuda.device_sync import atomic, shuffle
from kernlint.lift.cuda.device_types import CType
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

_INSTRUCTION = re.compile(r"(?:@(!?)([%\w]+)\s+)?([a-z][\w.:]*)\s*([^;{}]*);")
_HOLE = re.compile(r"%(?:(\d+)|\[(\w+)\])")
_ADDRESS = re.compile(r"\[\s*(%\d+|%\[\w+\]|\w+)\s*(?:\+\s*(\w+)\s*)?\]")
_CONSTRAINTS = {"r": UINT32, "l": UINT64, "f": FLOAT32, "d": FLOAT64, "h": TYPES["uint16"], "n": UINT32, "q": UINT64}
_SUFFIXES = {
    **{f"{kind}{bits}": TYPES[f"uint{bits}"] for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": TYPES[f"int{bits}"] for bits in (8, 16, 32, 64)},
    "f16": TYPES["float16"],
    "bf16": TYPES["bfloat16"],
    "f32": FLOAT32,
    "f64": FLOAT64,
    "f16x2": replace(TYPES["float16"], lanes=2),
    "bf16x2": replace(TYPES["bfloat16"], lanes=2),
    "b128": replace(UINT32, lanes=4),
}
_ATOMIC_OPS = frozenset({"add", "max", "min", "cas", "exch", "and", "or", "xor", "inc", "dec"})
_PURE_MATH = {"ex2": "exp2", "lg2": "log2", "rcp": "call", "rsqrt": "rsqrt", "sqrt": "sqrt", "tanh": "tanh"}


@dataclass(slots=True)
class _Operands:
    outputs: list[tuple[str, Place, bool]]  # constraint, place, read as well
    inputs: list[tuple[str, Value]]

    def value(self, m: Machine, text: str, node: Node) -> Value | None:
        """The input a hole such as `%2` stands for."""
        hole = _HOLE.fullmatch(text.strip())
        if hole is None or hole.group(1) is None:
            return None
        index = int(hole.group(1))
        if index < len(self.outputs):
            return places.load(m, self.outputs[index][1], node)
        index -= len(self.outputs)
        return self.inputs[index][1] if index < len(self.inputs) else None


def assembly(m: Machine, node: Node) -> Value:
    """One `asm` statement."""
    code_node = node.child_by_field_name("assembly_code")
    key = (m.unit.source.path, node.start_byte if m.unit.use_span is None else -1)
    instructions = m.instructions.get(key) if key[1] >= 0 else None
    if instructions is None:
        code = _code(m, code_node) if code_node is not None else ""
        instructions = [(match.group(3), match.group(4)) for match in _INSTRUCTION.finditer(code)]
        m.instructions[key] = instructions
    operands = _operands(m, node)
    handled = False
    for opcode, rest in instructions:
        handled = _instruction(m, opcode, rest, operands, node) or handled
    if not handled:
        _pure(m, instructions[0][0] if instructions else "asm", operands, node)
    return m.value("call", (), None, node, attrs={"name": "asm", "void": True})


def _code(m: Machine, node: Node) -> str:
    """The assembly text: string pieces joined, escapes read as white space."""
    pieces: list[str] = []
    pending = [node]
    while pending:
        item = pending.pop()
        if item.type == "string_content":
            pieces.append(m.text(item))
        elif item.type == "escape_sequence":
            pieces.append(" ")
        elif item.type == "raw_string_content":
            pieces.append(m.text(item))
        else:
            pending.extend(reversed(item.children))
    return "".join(pieces)


def _operands(m: Machine, node: Node) -> _Operands:
    outputs: list[tuple[str, Place, bool]] = []
    inputs: list[tuple[str, Value]] = []
    for name in ("output_operands", "input_operands"):
        listed = node.child_by_field_name(name)
        for item in listed.named_children if listed is not None else ():
            constraint, value = item.child_by_field_name("constraint"), item.child_by_field_name("value")
            if constraint is None or value is None:
                continue
            text = m.text(constraint).strip('"')
            if name == "output_operands":
                outputs.append((text.strip("=+&"), places.place_of(m, value), "+" in text))
            else:
                inputs.append((text, m.eval(value)))
    return _Operands(outputs, inputs)


def _instruction(m: Machine, opcode: str, rest: str, operands: _Operands, node: Node) -> bool:
    """Effects of one instruction; False when it has none the IR describes."""
    parts = opcode.split(".")
    head = parts[0]
    if head in ("bar", "barrier") and not opcode.startswith("barrier.cluster"):
        return _block_barrier(m, parts, rest, operands, node)
    if opcode.startswith("barrier.cluster"):
        m.barrier(BarrierKind.WAIT if "wait" in parts else BarrierKind.COMMIT, node, opcode)
        return True
    if head in ("membar", "fence"):
        m.barrier(BarrierKind.FENCE, node, opcode)
        return True
    if head == "cp" and len(parts) > 1 and parts[1] == "async":
        return _cp_async(m, parts, opcode, rest, operands, node)
    if head == "mbarrier":
        kind = BarrierKind.WAIT if "wait" in opcode else BarrierKind.COMMIT
        m.barrier(kind, node, opcode)
        _unknown_outputs(m, operands, node, opcode)
        return True
    if head in ("ld", "ldmatrix", "ldu"):
        return _load(m, head, parts, rest, operands, node)
    if head in ("st", "stmatrix"):
        return _store(m, parts, rest, operands, node)
    if head in ("red", "atom"):
        return _atomic(m, head, parts, rest, operands, node)
    if head in ("wgmma", "tcgen05") and ("wait_group" in opcode or "wait" in parts):
        m.barrier(BarrierKind.WAIT, node, opcode)
        return True
    if head in ("mma", "wgmma", "wmma"):
        _dot(m, opcode, operands, node)
        return True
    if head == "shfl" and operands.outputs:
        return _shuffle(m, parts, rest, operands, node)
    if head == "mov" and operands.outputs and _special_register(m, rest, operands, node):
        return True
    if head == "mov" and "%laneid" in rest and operands.outputs:
        from kernlint.lift.cuda.device_groups import linear_thread

        rank = linear_thread(m, node)
        from kernlint.ir import arith

        lane = m.value("mod", (rank,), UINT32, node, arith.mod(m.expr_of(rank), const(32)))
        _assign(m, operands.outputs[0][1], lane, node)
        return True
    return False


_REGISTERS = {"tid": "t", "ctaid": "g", "ntid": "bd", "nctaid": "gd"}
_SPECIAL = re.compile(r"%(tid|ctaid|ntid|nctaid)\.([xyz])\b")


def _special_register(m: Machine, rest: str, operands: _Operands, node: Node) -> bool:
    """`mov.u32 %0, %tid.x;`"""
    found = _SPECIAL.search(rest)
    if found is None:
        return False
    value = m.grid_value(_REGISTERS[found.group(1)], "xyz".index(found.group(2)), node)
    _assign(m, operands.outputs[0][1], value, node)
    return True


def _shuffle(m: Machine, parts: list[str], rest: str, operands: _Operands, node: Node) -> bool:
    """`shfl.sync.idx.b32 %0, %1, lane, clamp, mask;`, with or without a predicate output."""
    kind = {"idx": "idx", "up": "up", "down": "down", "bfly": "xor"}.get(parts[2] if len(parts) > 2 else "")
    pieces = [piece.strip() for piece in rest.split(",")]
    source = operands.value(m, pieces[1], node) if len(pieces) > 2 else None
    if kind is None or source is None:
        return False
    lane = operands.value(m, pieces[2], node)
    made = shuffle(m, kind, [source, lane] if lane is not None else [source], None, ".".join(parts), node)
    _assign(m, operands.outputs[0][1], made, node)
    return True


def _block_barrier(m: Machine, parts: list[str], rest: str, operands: _Operands, node: Node) -> bool:
    if "warp" in parts:
        m.barrier(BarrierKind.WARP, node, ".".join(parts))
        return True
    arguments = [piece.strip() for piece in rest.split(",") if piece.strip()]
    whole = arguments in (["0"], []) and "arrive" not in parts
    kind = BarrierKind.BLOCK if whole else BarrierKind.NAMED
    m.barrier(kind, node, f"{'.'.join(parts)} {', '.join(arguments)}".strip())
    _unknown_outputs(m, operands, node, "barrier reduction")
    return True


def _address(m: Machine, text: str, operands: _Operands, element: ElementType, node: Node) -> Value | None:
    """The pointer in `[%1]` or `[%1 + 16]`, seen as pointing to `element`."""
    found = _ADDRESS.search(text)
    if found is None:
        return None
    base = operands.value(m, found.group(1), node)
    if base is None:
        return None
    pointer = base.pointer
    target = CType(element.name, element)
    if pointer is None:
        made = m.typed("pointer", (base,), node, ctype=target)
        made.pointer = Pointer(None, m.opaque_expr("address in a register"), element)
        return made
    if base.dtype is not None and base.dtype.is_integer:
        pointer = Pointer(pointer.buffer, pointer.offset, BYTE, (), pointer.casts)
        source = CType("uint8", BYTE)
    else:
        source = pointee(base)
    displacement = found.group(2)
    if displacement is not None and displacement.isdigit():
        pointer = replace(recast(pointer, source, CType("uint8", BYTE)), dtype=BYTE)
        pointer = replace(pointer, offset=pointer.offset + const(int(displacement)))
        source = CType("uint8", BYTE)
    moved = recast(pointer, source, target)
    place = base.place if isinstance(base, TypedValue) else None
    return m.typed("cast", (base,), node, pointer=moved, ctype=target, place=place, attrs={"explicit": True})


def _element(parts: list[str]) -> ElementType:
    element = next((_SUFFIXES[part] for part in reversed(parts) if part in _SUFFIXES), UINT32)
    for part in parts:
        if part in ("v2", "v4", "v8") and element.lanes == 1:
            element = replace(element, lanes=int(part[1]))
    return element


def _load(m: Machine, head: str, parts: list[str], rest: str, operands: _Operands, node: Node) -> bool:
    element = _element(parts)
    if head == "ldmatrix":
        element = replace(UINT32, lanes=4)  # each address names one 16-byte row
    address = _address(m, rest, operands, element, node)
    if address is None:
        _unknown_outputs(m, operands, node, head)
        return True
    cached = next((part for part in parts if part in ("nc", "cg", "ca", "cs", "cv", "lu")), "")
    order = next((part for part in parts if part in ("acquire", "relaxed", "volatile")), "")
    made = memory.access(m, AccessKind.LOAD, address, node, element=element, cached=cached, order=order)
    wide = m.value("load", (address,), element, node, None, None, {"access": made})
    made.value = wide
    made.attrs["instruction"] = ".".join(parts)
    for index, (constraint, place, _) in enumerate(operands.outputs):
        dtype = _CONSTRAINTS.get(constraint[:1], UINT32)
        expr = None
        if not dtype.is_float:
            from kernlint.ir.expr import Atom, AtomKind, of_atom

            key = f"ld:{made.ordinal}.{index}"
            expr = of_atom(Atom(AtomKind.LOAD, key, f"ld#{made.ordinal}", (made.pointer.offset,), None, made.ordinal))
        part = m.value("split_lanes", (wide,), dtype, node, expr, None, {"dim": 0, "component": index})
        _assign(m, place, part, node)
    return True


def _store(m: Machine, parts: list[str], rest: str, operands: _Operands, node: Node) -> bool:
    element = _element(parts)
    address = _address(m, rest, operands, element, node)
    values = [value for text, value in operands.inputs if value.pointer is None]
    value = values[-1] if len(values) == 1 else m.value("join_lanes", tuple(values), element, node)
    order = next((part for part in parts if part in ("release", "relaxed", "volatile")), "")
    if address is not None:
        memory.access(m, AccessKind.STORE, address, node, element=element, value=value, order=order)
    return True


def _atomic(m: Machine, head: str, parts: list[str], rest: str, operands: _Operands, node: Node) -> bool:
    op = next((part for part in parts if part in _ATOMIC_OPS), "")
    element = _element(parts)
    address = _address(m, rest, operands, element, node)
    if address is None or not op:
        _unknown_outputs(m, operands, node, head)
        return True
    scope = {"cta": "block", "sys": "system", "gpu": "device"}.get(
        next((part for part in parts if part in ("cta", "sys", "gpu")), "gpu"), "device"
    )
    order = next((part for part in parts if part in ("release", "relaxed", "acquire", "acq_rel")), "")
    value = operands.inputs[-1][1] if len(operands.inputs) > 1 else None
    old = atomic(m, op, address, value, node, scope=scope, order=order, name=".".join(parts))
    for _, place, _ in operands.outputs:
        _assign(m, place, old, node)
    return True


def _cp_async(m: Machine, parts: list[str], opcode: str, rest: str, operands: _Operands, node: Node) -> bool:
    if "commit_group" in parts:
        m.barrier(BarrierKind.COMMIT, node, opcode)
        return True
    if "wait_group" in parts or "wait_all" in parts:
        m.barrier(BarrierKind.WAIT, node, opcode)
        return True
    if "mbarrier" in parts:
        m.barrier(BarrierKind.COMMIT, node, opcode)
        return True
    holes = _ADDRESS.findall(rest)
    tail = rest.rpartition("]")[2].strip(" ,\n\t")
    size = next((piece.strip() for piece in tail.split(",") if piece.strip()), "")
    size_value = operands.value(m, size, node)
    count = int(size) if size.isdigit() else (size_value.expr.constant if size_value and size_value.expr else None)
    if len(holes) < 2:
        m.reason("asynchronous copy")
        return True
    destination = operands.value(m, holes[0][0], node)
    source = operands.value(m, holes[1][0], node)
    if destination is None or source is None or "bulk" in parts:
        m.reason("asynchronous copy")
        return True
    pieces = [piece.strip() for piece in tail.split(",") if piece.strip()]
    source_size = operands.value(m, pieces[1], node) if len(pieces) > 1 else None
    async_copy(m, destination, source, count, node, opcode, source_size)
    return True


def async_copy(
    m: Machine,
    destination: Value,
    source: Value,
    count: int | None,
    node: Node,
    name: str,
    source_size: Value | None = None,
) -> Value:
    """An asynchronous copy: a LOAD of the source and an ASYNC_COPY of the destination.

    `count` is in bytes; `source_size`, when given, is the bytes really read (the rest is zero), 0 for a masked copy."""
    element = replace(UINT32, lanes=count // 4) if count in (4, 8, 16) else None
    sides = []
    for side in (source, destination):
        target = CType("", element) if element is not None else pointee(side)
        if side.pointer is not None and element is not None:
            base = CType("uint8", BYTE) if side.dtype is not None and side.dtype.is_integer else pointee(side)
            pointer = side.pointer
            if base.element is BYTE:
                pointer = replace(pointer, dtype=BYTE)
            moved = recast(pointer, base, target)
            side = m.typed("cast", (side,), node, pointer=moved, ctype=target, attrs={"explicit": True})
        sides.append(side)
    masked = source_size is not None and source_size.expr is not None and source_size.expr.constant is None
    if masked and source_size is not None and source_size.expr is not None:
        from kernlint.ir.condition import equals_zero

        m.push_frame(Frame(negate(equals_zero(source_size.expr)), value=source_size))
    value = memory.load_from(m, sides[0], CType("", element or pointee(source).element), node)
    if masked:
        m.pop_frame()
    memory.access(m, AccessKind.ASYNC_COPY, sides[1], node, element=element, value=value, attrs={"instruction": name})
    return value


def _dot(m: Machine, opcode: str, operands: _Operands, node: Node) -> None:
    args = tuple(value for _, value in operands.inputs)
    carried = tuple(places.load(m, place, node) for _, place, read in operands.outputs if read)
    for constraint, place, _ in operands.outputs:
        dtype = _CONSTRAINTS.get(constraint[:1], UINT32)
        expr = None if dtype.is_float else m.opaque_expr("matrix product")
        made = m.value("dot", (*args, *carried), dtype, node, expr, None, {"name": opcode, "acc": True})
        _assign(m, place, made, node)


def _pure(m: Machine, opcode: str, operands: _Operands, node: Node) -> None:
    """Outputs as unnamed pure functions of the inputs."""
    head = opcode.split(".")[0]
    op = _PURE_MATH.get(head, "call")
    args = tuple(value for _, value in operands.inputs)
    for constraint, place, read in operands.outputs:
        dtype = place.ctype.element or _CONSTRAINTS.get(constraint[:1], UINT32)
        inputs = (*args, places.load(m, place, node)) if read else args
        expr = None if dtype.is_float else m.opaque_expr(f"asm {opcode}")
        made = m.value(op, inputs, dtype, node, expr, None, {"name": opcode})
        _assign(m, place, made, node)


def _unknown_outputs(m: Machine, operands: _Operands, node: Node, why: str) -> None:
    for constraint, place, _ in operands.outputs:
        dtype = place.ctype.element or _CONSTRAINTS.get(constraint[:1], UINT32)
        _assign(m, place, m.opaque(f"asm {why}", node, dtype, count=False), node)


def _assign(m: Machine, place: Place, value: Value, node: Node) -> None:
    places.store(m, place, convert(m, value, place.ctype, None, False), node)


__all__ = ["assembly", "async_copy", "axis_expr"]
