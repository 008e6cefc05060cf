"""One parsed piece of CUDA text: its tree, the positions of its nodes in the user's file, and what it declares.

Parser nodes never leave `kernlint.lift`; everything here is for the CUDA front end alone.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from kernlint.ir.types import Span
from kernlint.records import dataclass
from kernlint.source.file import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from kernlint.lift.cuda.macros import Expansion, MacroTable


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Where text bytes lie in the user's file: piecewise, `starts[i]` (in the text) is at `offsets[i]` (in the file).

    Within a piece offsets advance one to one, except in pieces listed in `frozen` (an f-string hole, an escape), all of
    which stands at the piece's offset.  One piece starting at 0 is a plain base offset.
    """

    starts: tuple[int, ...] = (0,)
    offsets: tuple[int, ...] = (0,)
    frozen: frozenset[int] = frozenset()  # indices of pieces

    def __call__(self, position: int) -> int:
        piece = max(0, bisect.bisect_right(self.starts, position) - 1)
        base = self.offsets[piece]
        return base if piece in self.frozen else base + position - self.starts[piece]

    def from_position(self, start: int) -> OffsetMap:
        """The map of the text that begins at `start` of this one."""
        first = max(0, bisect.bisect_right(self.starts, start) - 1)
        starts = tuple(max(0, begin - start) for begin in self.starts[first:])
        offsets = (self(start), *self.offsets[first + 1 :])
        return OffsetMap(starts, offsets, frozenset(piece - first for piece in self.frozen if piece >= first))


@dataclass(slots=True, eq=False)
class TemplateParameter:
    """`kind` is `type`, `value` or `template`; `type_text` the type of a value parameter as written."""

    name: str
    kind: str
    node: Node
    default: Node | None = None
    type_text: str = ""
    pack: bool = False


@dataclass(slots=True, eq=False)
class ParameterDeclaration:
    """One function parameter.  `type_text` is the type without declarator and qualifiers (`float`, `Vec<T, 4>`).

    `pointer_depth` counts `*` (arrays count too); `const` says the pointee (or value) is const, `restrict` that the
    pointer is `__restrict__`.  `array_sizes` are the written extents, None where empty.
    """

    name: str
    type_text: str
    node: Node
    pointer_depth: int = 0
    is_reference: bool = False
    is_array: bool = False
    array_sizes: tuple[Node | None, ...] = ()
    const: bool = False
    restrict: bool = False
    volatile: bool = False
    default: Node | None = None
    pack: bool = False
    grid_constant: bool = False

    @property
    def is_pointer(self) -> bool:
        return self.pointer_depth > 0


@dataclass(slots=True, eq=False)
class FunctionDefinition:
    """A function with a body.  Look names up in the unit being linted, take positions from this one's `unit`.

    `qualifiers` holds `global device host forceinline noinline static inline constexpr` as written.
    `recorded` keeps what was blanked or does not fit the grammar: `cluster_dims` and `maxnreg` as argument texts.
    """

    name: str
    node: Node
    name_node: Node
    body: Node
    unit: TranslationUnit
    qualifiers: frozenset[str] = frozenset()
    template_parameters: tuple[TemplateParameter, ...] = ()
    parameters: tuple[ParameterDeclaration, ...] = ()
    return_type: str = ""
    launch_bounds: tuple[Node, ...] = ()
    recorded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scope: tuple[str, ...] = ()  # enclosing namespaces and classes, outermost first
    class_name: str = ""
    parsed_with_errors: bool = False
    specialization: str = ""  # template arguments of an explicit specialization, as written
    is_const_method: bool = False
    launches: bool = False  # the body holds a launch

    @property
    def is_kernel(self) -> bool:
        return "global" in self.qualifiers

    @property
    def is_device(self) -> bool:
        return "device" in self.qualifiers or "global" in self.qualifiers

    @property
    def is_host(self) -> bool:
        """Runs on the host: neither __global__ nor device-only."""
        return "global" not in self.qualifiers and ("device" not in self.qualifiers or "host" in self.qualifiers)

    @property
    def span(self) -> Span:
        return self.unit.span(self.name_node)

    @property
    def body_span(self) -> Span:
        return self.unit.span(self.body)


@dataclass(slots=True, eq=False)
class Field:
    """One data member of a struct."""

    name: str
    type_text: str
    node: Node
    pointer_depth: int = 0
    array_sizes: tuple[Node | None, ...] = ()
    static: bool = False
    const: bool = False
    default: Node | None = None


@dataclass(slots=True, eq=False)
class Struct:
    """A struct, class or union with a body.  `alignment` is the argument text of alignas / __align__, when written."""

    name: str
    node: Node
    unit: TranslationUnit
    fields: tuple[Field, ...] = ()
    methods: dict[str, list[FunctionDefinition]] = field(default_factory=dict)
    template_parameters: tuple[TemplateParameter, ...] = ()
    bases: tuple[str, ...] = ()
    alignment: str = ""
    is_union: bool = False
    specialization: str = ""


@dataclass(slots=True, eq=False)
class Constant:
    """A named compile-time or file-scope constant: `constexpr int N = 4;`, an enumerator, a static constexpr member.

    `value` is the initialiser; None for an enumerator without one, which is `previous`'s value plus one (0 when there
    is no previous)."""

    name: str
    value: Node | None
    unit: TranslationUnit
    type_text: str = ""
    previous: Constant | None = None
    class_name: str = ""
    is_enumerator: bool = False


@dataclass(slots=True, eq=False)
class FileArray:
    """A file-scope `__device__`, `__constant__` or `__shared__` variable."""

    name: str
    type_text: str
    node: Node
    unit: TranslationUnit
    space: str  # device, constant, shared, managed
    pointer_depth: int = 0
    array_sizes: tuple[Node | None, ...] = ()
    const: bool = False


@dataclass(slots=True, eq=False)
class Recorded:
    """An annotation found (and perhaps blanked) at `start`..`end` of the unit's text, e.g. `__align__(16)`."""

    name: str
    arguments: tuple[str, ...]
    start: int
    end: int


@dataclass(slots=True, eq=False)
class TranslationUnit:
    """`data` is what was parsed: the text with unparsable annotations blanked, as long as the original.

    The name tables hold what this text and its local includes declare; a definition from an include keeps its own
    unit.  Macro expansions are parsed as units of their own in which every node stands at the use.
    """

    source: SourceFile
    data: bytes
    tree: Tree
    macros: MacroTable
    offsets: OffsetMap = field(default_factory=OffsetMap)
    use_span: Span | None = None  # set for macro expansions: the span of every node
    functions: dict[str, list[FunctionDefinition]] = field(default_factory=dict)
    constants: dict[str, list[Constant]] = field(default_factory=dict)
    structs: dict[str, list[Struct]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # typedef / using name -> type text
    alias_templates: dict[str, tuple[TemplateParameter, ...]] = field(default_factory=dict)
    variables: dict[str, FileArray] = field(default_factory=dict)
    recorded: list[Recorded] = field(default_factory=list)  # by start
    own: list[FunctionDefinition] = field(default_factory=list)  # functions defined in this very text, in order
    error_nodes: list[Node] = field(default_factory=list)  # ERROR and MISSING nodes of this text, outermost, in order
    dependencies: list[str] = field(default_factory=list)  # paths of the includes read
    original: bytes = b""  # the text before blanking
    parts: list[TranslationUnit] = field(default_factory=list)  # kernels parsed alone, since the text around is broken

    @property
    def root(self) -> Node:
        return self.tree.root_node

    @property
    def path(self) -> str:
        return self.source.path

    def span(self, node: Node) -> Span:
        """Where a node of this unit stands in the user's file."""
        if self.use_span is not None:
            return self.use_span
        return self.span_of(node.start_byte, node.end_byte)

    def span_of(self, start: int, end: int) -> Span:
        if self.use_span is not None:
            return self.use_span
        first = self.offsets(start)
        last = self.offsets(end - 1) + 1 if end > start else first
        return Span(self.source.path, first, max(first, last))

    def text(self, node: Node) -> str:
        """The node's text as parsed (blanked annotations are spaces)."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def argument_texts(self, arguments: Node) -> list[str]:
        """The texts of a call's arguments as written, for a macro expansion (the tree may have been helped to parse
        them)."""
        data = self.original or self.data
        return [
            data[child.start_byte : child.end_byte].decode("utf-8", "replace")
            for child in arguments.named_children
            if child.type != "comment"
        ]

    def expand(self, name: str, arguments: Sequence[str] | None, use: Span) -> Expansion | None:
        """What the macro `name` stands for at `use`: see `MacroTable.expand`."""
        return self.macros.expand(self, name, arguments, use)

    def recorded_in(self, start: int, end: int) -> list[Recorded]:
        """Annotations recorded within a byte range of the text, in order."""
        first = bisect.bisect_left(self.recorded, start, key=lambda record: record.start)
        found = []
        for record in self.recorded[first:]:
            if record.start >= end:
                break
            found.append(record)
        return found

    def recorded_before(self, node: Node, end: int) -> list[Recorded]:
        """Annotations of a declaration up to `end`, those blanked in front of it included (the node begins after
        them)."""
        return self.recorded_in(leading_start(node), end)


def leading_start(node: Node) -> int:
    """Where the blank space before a declaration begins: specifiers blanked there belong to it."""
    previous = node.prev_sibling
    while previous is not None and previous.type == "comment":
        previous = previous.prev_sibling
    if previous is not None:
        return previous.end_byte
    return node.parent.start_byte if node.parent is not None and node.parent.parent is not None else 0
