"""The value graph: SSA values with element type, shape, integer meaning and provenance.

Both front ends produce the same operations, so that one analysis serves every language.

Operations (`Value.op`):

| op | args | attrs | meaning |
|---|---|---|---|
| `param` | | `name` | kernel parameter |
| `const` | | `value` | literal int, float (also inf, -inf, nan) or bool |
| `opaque` | any inputs | `why` | not understood |
| `add sub mul div floordiv mod min max` | operands | `rounding` | arithmetic, elementwise; `div` is true division |
| `and or xor shl shr pow fma` | operands | | likewise |
| `neg not abs exp exp2 log log2 sqrt rsqrt` | x | | elementwise unary |
| `sin cos tanh sigmoid erf floor ceil relu` | x | | likewise |
| `cmp` | a, b | `op` (`<` `<=` `>` `>=` `==` `!=`) | elementwise comparison |
| `cast` | x | `explicit` | conversion to `dtype` |
| `where` | condition, a, b | | elementwise select, `?:` |
| `call` | operands | `name` | a pure elementwise function not listed here |
| `load` | pointer or index values | `access` | memory read; `attrs["access"]` is the `Access` |
| `atomic` | | `access` | old value of an atomic |
| `reduce` | x | `op`, `dim` (negative, or None for all), `out_dtype` | cross-lane reduction; `op` is one of
  `sum prod max min argmax argmin and or xor custom` |
| `scan` | x | `op`, `dim` | prefix reduction |
| `sort` | x | `dim` | |
| `dot` | a, b[, acc] | `input_precision`, `out_dtype`, `acc` (bool) | matrix product over a's last, b's first dim |
| `shuffle` | x | `kind` (`down up xor idx`), `mask` | CUDA `__shfl_*_sync` |
| `vote` | x | `kind` | ballot, any, all, match, redux |
| `arange` | | `start` | lane numbers |
| `full` | fill | | constant tile |
| `expand broadcast trans reshape join_lanes split_lanes` | x | `dim` | shape only |
| `carry` | init, next | `loop` | loop-carried variable; `next` is appended when the loop body is done |
| `join` | then, else | `condition` | merge after a branch |
| `pointer` | | | address; see `Value.pointer` |
| `program_id num_programs` | | `dim` (None when not a constant) | place in the grid |
| `index` | bounds | `loop` | the variable of a counted loop |
| `tuple` | items | | |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Expr
from kernlint.ir.types import ElementType, Space, Span
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.ir.kernel import Access


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory an access can name: a pointer parameter, a shared or local array.

    `extents` are the declared extents of an array, outermost first (shared and local arrays), or None.  Extents may be
    symbolic; a dynamic `extern __shared__` array has `dynamic=True` and no extents.
    """

    name: str
    space: Space
    dtype: ElementType | None
    span: Span
    extents: tuple[Expr, ...] | None = None
    dynamic: bool = False
    is_param: bool = False
    readonly: bool = False  # const T* or const T* __restrict__
    restrict: bool = False
    alignment: int | None = None  # bytes, when declared
    volatile: bool = False

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """An address: `buffer` plus `offset` counted in elements of `dtype`.  buffer is None when unknown.

    When an array is indexed by several subscripts, `indices` keeps them (outermost first) beside the flat offset.
    `casts` lists element types the pointer was reinterpreted from, oldest first; the offset is in the newest.
    """

    buffer: Buffer | None
    offset: Expr
    dtype: ElementType | None
    indices: tuple[Expr, ...] = ()
    casts: tuple[ElementType, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BlockPointer:
    """`tl.make_block_ptr` / tensor descriptors.  All tuples have one entry per dimension.

    `offsets` are element offsets of the block's corner.  `bounded` is True for descriptors, whose accesses are always
    bounds-checked by the hardware and padded with zero.
    """

    pointer: Pointer
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offsets: tuple[Expr, ...]
    block_shape: tuple[Expr, ...]
    bounded: bool = False


@dataclass(slots=True, eq=False)
class Value:
    """One SSA value.  `shape` holds the lane extents of a Triton block, () for scalars and all CUDA values.

    `expr` is its integer meaning in normal form when it is an integer (or an integer-valued pointer offset); `cond`
    its boolean meaning when it is a truth value; both may be None.  Identity is object identity.
    """

    op: str
    args: tuple[Value, ...] = ()
    dtype: ElementType | None = None
    shape: tuple[Expr, ...] = ()
    expr: Expr | None = None
    cond: Condition | None = None
    span: Span | None = None
    pointer: Pointer | None = None
    block: BlockPointer | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    name: str = ""  # the source variable it was last assigned to, for messages
    ordinal: int = 0
    # True when `dtype` is not known for certain but follows a tensor parameter's element type.
    polymorphic: bool = False

    @property
    def access(self) -> Access | None:
        found: Access | None = self.attrs.get("access")
        return found

    def __repr__(self) -> str:
        label = f"%{self.ordinal}"
        return f"{label}:{self.op}" + (f"[{self.name}]" if self.name else "")


def ancestors(value: Value, limit: int = 4000) -> Iterator[Value]:
    """`value` and everything it was computed from, breadth first, each once, at most `limit` values."""
    queue, seen = [value], {id(value)}
    for current in queue:
        yield current
        for arg in current.args:
            if id(arg) not in seen and len(seen) < limit:
                seen.add(id(arg))
                queue.append(arg)
