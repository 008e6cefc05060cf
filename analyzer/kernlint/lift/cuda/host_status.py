"""Whether the status of a launch is read on the path after it.

From the statement behind the launch, every path is followed to the end of the function: it either reads the status,
leaves without reading it, or hands control to something that might.  `cudaGetLastError()` whose result is dropped
clears the error unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kernlint.ir.types import Span
from kernlint.lift.cuda.parser import first_named
from kernlint.lift.cuda.unit import FunctionDefinition, TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Frame

READ, EXIT, FALL, MAYBE = "read", "exit", "fall", "maybe"
_LAST_ERROR = frozenset({"cudaGetLastError", "hipGetLastError"})
_STATUS = _LAST_ERROR | {
    "cudaPeekAtLastError",
    "hipPeekAtLastError",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaThreadSynchronize",
    "hipDeviceSynchronize",
    "hipStreamSynchronize",
}
# Calls whose own result may carry the error of an earlier launch.
_MAY_CARRY = re.compile(r"^(?:cuda|hip)(?:Mem(?:cpy|set)|Event|Stream|Graph|Free)")
_STATUS_WORD = re.compile(r"\b(?:cuda|hip)(?:GetLastError|PeekAtLastError|\w*Synchronize)\b")
# Calls that answer with a status, in practice handed to a checking macro or function where anyone cares.
_RUNTIME_CALL = re.compile(
    r"^(?:cuda|hip)(?:Malloc|Memcpy|Memset|Free|SetDevice|Stream|Event|FuncSetAttribute|DeviceSynchronize)"
)
_LOOKED_AT = frozenset(
    {"argument_list", "return_statement", "condition_clause", "binary_expression", "init_declarator"}
)
_CHECKS = re.compile(r"check|err(?:or)?(?![a-z]*[A-Z]?value)|assert|verify", re.I)
_LAUNCH_RELATED = re.compile(r"kernel|launch|last|post|cuda|gpu|hip|sync", re.I)
_EXITS = re.compile(r"^(?:exit|abort|terminate|_exit|quick_exit|__builtin_unreachable)$")
_NESTED = frozenset({"lambda_expression"})
_HEADERS = (".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".cu.h")
MAX_NODES = 4000
MAX_CALLERS = 20
MAX_DEPTH = 4

Path = Sequence[tuple[TranslationUnit, Sequence["Node"], int, str]]  # innermost last


class StatusReader:
    """Answers for one translation unit; what helpers and macros do is remembered by name."""

    def __init__(self, program: TranslationUnit) -> None:
        self.program = program
        self.known: dict[str, bool] = {}
        self.copies: dict[str, bool] = {}
        self.outcomes: dict[tuple[int, int], tuple[set[str], Span | None]] = {}  # by tree and node
        self.span: Span | None = None

    def of(
        self, frames: Sequence[Frame], function: FunctionDefinition, call: Node | None, unit: TranslationUnit
    ) -> tuple[str, Span | None]:
        """(`checked`, `unchecked` or `unknown`, where it is read).  `call` is the call node of a launch function, whose
        own result is its status."""
        self.span = None
        if call is not None and self.consumed(call, unit, function):
            return "checked", unit.span(call)
        path = [(frame.unit, frame.statements, frame.index, frame.kind) for frame in frames]
        if path and self.same_statement(path[-1], call):
            return "checked", self.span
        found = self.behind(path, function, 0)
        guarded = self.guards(path)
        if READ in guarded or not found - {READ}:
            return ("checked", self.span) if READ in found | guarded else ("unknown", None)
        if found | guarded <= {EXIT, FALL}:
            return "unchecked", None
        return "unknown", self.span

    def checks_calls(self, function: FunctionDefinition) -> bool:
        """Whether the function does look at what other calls of the runtime return: `check(cudaMalloc(&p, n))`."""
        return any(
            _RUNTIME_CALL.match(name) and node.parent is not None and node.parent.type in _LOOKED_AT
            for name, node in _runtime_calls(function)
        )

    def same_statement(self, place: tuple[TranslationUnit, Sequence[Node], int, str], call: Node | None) -> bool:
        """`CHECK((kernel<<<...>>>(x)), cudaGetLastError())`: read by the statement that launches."""
        unit, statements, index, _ = place
        node = statements[index]
        if call is not None or node.type != "expression_statement":
            return False
        return self.reading(unit, node) == READ

    def behind(self, path: Path, function: FunctionDefinition, depth: int) -> set[str]:
        """How the paths that start behind the innermost statement end."""
        result: set[str] = set()
        leaves = False  # some path returns unread: what the callers do decides
        for unit, statements, index, kind in reversed(path):
            found = self.sequence(unit, statements[index + 1 :])
            result |= found - {FALL, EXIT}
            if kind == "call" and EXIT in found:  # a `return` in an inlined body or lambda goes on after the call
                found.add(FALL)
            leaves = leaves or (EXIT in found and kind != "call")
            if FALL not in found:
                break
        else:
            leaves = True
        return result | self.callers(function, depth) if leaves else result

    def callers(self, function: FunctionDefinition, depth: int) -> set[str]:
        """What happens after the function returns unread: its callers in this text decide, if there are any."""
        if depth >= MAX_DEPTH:
            return {MAYBE}
        found: set[str] = set()
        word = re.compile(rb"\b" + re.escape(function.name.encode()) + rb"\b")
        calls = 0
        for other in self.program.own:
            if other is function or other.is_kernel or calls >= MAX_CALLERS:
                continue
            body = other.unit.data[other.body.start_byte : other.body.end_byte]
            if not word.search(body):
                continue
            for node in _calls_of(other.body, function.name, other.unit):
                calls += 1
                found |= self.behind(_path_to(node, other), other, depth + 1)
        if calls:
            return found
        header = function.unit.path.endswith(_HEADERS)
        return {MAYBE} if header else {EXIT}

    def guards(self, path: Path) -> set[str]:
        """Local objects whose destructor may read the status."""
        found: set[str] = set()
        for unit, statements, index, _ in path:
            for node in statements[:index]:
                if node.type != "declaration":
                    continue
                kind = node.child_by_field_name("type")
                name = unit.text(kind).rpartition("::")[2].partition("<")[0] if kind is not None else ""
                structs = self.program.structs.get(name, ())
                for struct in structs:
                    for method in struct.methods.get("~" + name, ()):
                        body = method.unit.data[method.body.start_byte : method.body.end_byte]
                        if _STATUS_WORD.search(body.decode("utf-8", "replace")):
                            found.add(READ)
                if not structs and "check" in name.lower():
                    found.add(MAYBE)
        return found

    # -- statements

    def sequence(self, unit: TranslationUnit, statements: Sequence[Node]) -> set[str]:
        result: set[str] = set()
        for node in statements:
            found = self.outcome(unit, node)
            result |= found - {FALL}
            if FALL not in found:
                return result
        return result | {FALL}

    def outcome(self, unit: TranslationUnit, node: Node) -> set[str]:
        """How control leaves a statement entered with the status unread."""
        key = (id(unit.tree), node.id)
        if key not in self.outcomes:
            outer, self.span = self.span, None
            found = self.statement_outcome(unit, node)
            self.outcomes[key] = (found, self.span)
            self.span = outer
        found, span = self.outcomes[key]
        self.span = self.span or span
        return found

    def statement_outcome(self, unit: TranslationUnit, node: Node) -> set[str]:
        kind = node.type
        if kind in ("compound_statement", "case_statement", "labeled_statement", "else_clause", "ERROR"):
            return self.sequence(unit, node.named_children)
        if kind == "return_statement":
            return {READ} if self.reading(unit, node) == READ else {EXIT}
        if kind == "throw_statement":
            return set()
        if kind in ("break_statement", "continue_statement"):
            return {FALL}
        if kind == "goto_statement":
            return {FALL, MAYBE}
        if kind == "if_statement":
            return self.if_outcome(unit, node)
        if kind in ("for_statement", "while_statement", "for_range_loop", "switch_statement"):
            body = node.child_by_field_name("body")
            inner = self.outcome(unit, body) if body is not None else {FALL}
            condition = node.child_by_field_name("condition")
            if condition is not None and self.reading(unit, condition) == READ:
                return {READ}
            return inner | {FALL}
        if kind in ("do_statement", "try_statement"):
            body = node.child_by_field_name("body")
            return self.outcome(unit, body) if body is not None else {FALL}
        if kind.startswith("preproc_if"):
            arms = [child for child in node.named_children if child.type.startswith("preproc_el")]
            taken = self.sequence(unit, [child for child in node.named_children[1:] if child not in arms])
            other = self.sequence(unit, arms[0].named_children) if arms else {FALL}
            return taken | other
        return self.expression_outcome(unit, node)

    def if_outcome(self, unit: TranslationUnit, node: Node) -> set[str]:
        condition = node.child_by_field_name("condition")
        read = self.reading(unit, condition) if condition is not None else FALL
        if read == READ:
            return {READ}
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        then = self.outcome(unit, consequence) if consequence is not None else {FALL}
        then = then | {MAYBE} if read == MAYBE else then
        return then | (self.outcome(unit, alternative) if alternative is not None else {FALL})

    def expression_outcome(self, unit: TranslationUnit, node: Node) -> set[str]:
        found = self.reading(unit, node)
        if found == READ:
            return {READ}
        if found == EXIT:
            return {EXIT}
        if found == MAYBE:
            return {FALL, MAYBE}
        first = first_named(node)
        if node.type == "expression_statement" and first is not None and first.type == "call_expression":
            function = first.child_by_field_name("function")
            if function is not None and _EXITS.match(unit.text(function).rpartition("::")[2]):
                return set()
        return {FALL}

    # -- expressions

    def reading(self, unit: TranslationUnit, node: Node) -> str:
        """What an expression does with the status: READ, EXIT (cleared unread), MAYBE or FALL (nothing)."""
        bare = _bare_call(unit, node)
        if bare in _LAST_ERROR:
            return EXIT
        if bare in _STATUS:
            return FALL
        result = FALL
        pending, visited = [node], 0
        while pending and visited < MAX_NODES:
            current = pending.pop()
            visited += 1
            if current.type in _NESTED:
                if _STATUS_WORD.search(unit.text(current)):
                    result = MAYBE
                continue
            if current.type == "call_expression":
                found = self.call_reads(unit, current)
                if found == READ:
                    if self.span is None:
                        self.span = unit.span(current)
                    return READ
                result = found if found == MAYBE else result
            elif current.type == "identifier" and self.macro_reads(unit.text(current)):
                self.span = self.span or unit.span(current)
                return READ
            pending.extend(reversed(current.named_children))
        return result

    def call_reads(self, unit: TranslationUnit, node: Node) -> str:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return FALL
        name = unit.text(function).partition("<")[0].replace("->", ".").rpartition(".")[2].rpartition("::")[2].strip()
        if name in _STATUS:
            return READ
        if name in self.program.macros or name in self.program.functions:
            if self.defined_reads(name, 0):
                return READ
            return MAYBE if self.checks_copies(name) else FALL
        if _MAY_CARRY.match(name) and not _is_statement(node):
            return MAYBE
        lowered = name.lower()
        if "synchronize" in lowered and not lowered.startswith(("cuda", "hip")):
            return READ
        children = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
        plain = all(child.type.endswith("_literal") or _is_handle(unit.text(child)) for child in children)
        if plain and _CHECKS.search(name) and _LAUNCH_RELATED.search(name):
            return READ
        if plain and ("sync" in lowered or (_CHECKS.search(name) and len(children) <= 1)):
            return MAYBE
        return FALL

    def macro_reads(self, name: str) -> bool:
        """A bare name that is an object-like macro which reads the status."""
        macro = self.program.macros.get(name)
        return macro is not None and macro.parameters is None and self.defined_reads(name, 0)

    def defined_reads(self, name: str, depth: int) -> bool:
        """Whether the macro or function of this name, as defined here, reads the status somewhere."""
        if name in self.known or depth > MAX_DEPTH:
            return self.known.get(name, False)
        self.known[name] = False
        macro = self.program.macros.get(name)
        texts = [macro.body] if macro is not None else []
        for function in self.program.functions.get(name, ())[:8]:
            body = function.unit.data[function.body.start_byte : function.body.end_byte]
            if not function.is_kernel and len(body) < 20_000:
                texts.append(body.decode("utf-8", "replace"))
        for text in texts:
            if _reads_text(text) or any(
                word != name
                and (word in self.program.macros or word in self.program.functions)
                and self.defined_reads(word, depth + 1)
                for word in dict.fromkeys(re.findall(r"\b([A-Za-z_]\w*)\s*\(", text))
            ):
                self.known[name] = True
        return self.known[name]

    def checks_copies(self, name: str) -> bool:
        """Whether a function of this name looks at what a copy or another runtime call inside it returns: that may
        report the error of an earlier launch."""
        if name not in self.copies:
            self.copies[name] = any(
                any(_MAY_CARRY.match(called) and not _is_statement(node) for called, node in _runtime_calls(function))
                for function in self.program.functions.get(name, ())[:8]
                if not function.is_kernel
            )
        return self.copies[name]

    def consumed(self, call: Node, unit: TranslationUnit, function: FunctionDefinition) -> bool:
        """Whether the value of a launch function's call is looked at."""
        node: Node | None = call
        while node is not None:
            parent = node.parent
            if parent is None:
                return False
            kind = parent.type
            if kind == "cast_expression" and unit.text(parent).startswith("(void)"):
                return False
            if kind in ("argument_list", "return_statement", "condition_clause", "binary_expression"):
                return True
            if kind in ("conditional_expression", "unary_expression", "initializer_list"):
                return True
            if kind in ("init_declarator", "assignment_expression"):
                target = parent.child_by_field_name("declarator") or parent.child_by_field_name("left")
                name = unit.text(target) if target is not None else ""
                end = function.body.end_byte if unit is function.unit else len(unit.data)
                rest = unit.data[parent.end_byte : end].decode("utf-8", "replace")
                return re.search(rf"\b{re.escape(name.strip('*&'))}\b", rest) is not None if name else False
            if kind.endswith("_statement") or kind == "compound_statement":
                return False
            node = parent
        return False


def _runtime_calls(function: FunctionDefinition) -> Iterator[tuple[str, Node]]:
    """Calls of the CUDA or HIP runtime in a function's body, by name, in order."""
    pending = [function.body]
    for _ in range(MAX_NODES):
        if not pending:
            return
        node = pending.pop()
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        if called is not None and (name := function.unit.text(called).lstrip(":")).startswith(("cuda", "hip")):
            yield name, node
        pending.extend(reversed(node.named_children))


def _is_statement(call: Node) -> bool:
    """Whether a call's result is dropped."""
    return call.parent is None or call.parent.type == "expression_statement"


def _is_handle(text: str) -> bool:
    return "stream" in text.lower() or text in ("__FILE__", "__LINE__", "__func__", "__FUNCTION__")


def _reads_text(text: str) -> bool:
    """Whether a macro or function body uses (not merely calls) a status function."""
    for match in _STATUS_WORD.finditer(text):
        before, after = text[: match.start()].rstrip(), text[match.end() :]
        bare = (not before or before[-1] in ";{})") and not before.endswith("(void)")
        dropped = before.endswith("(void)") or (bare and re.match(r"\s*\([^()]*\)\s*(?:;|\}|$)", after) is not None)
        if not dropped:
            return True
    return False


def _bare_call(unit: TranslationUnit, node: Node) -> str:
    """The name called when a statement is nothing but a call whose result is dropped."""
    if node.type != "expression_statement" or node.named_child_count == 0:
        return ""
    inner = node.named_children[0]
    while inner.type in ("parenthesized_expression", "cast_expression") and inner.named_child_count:
        inner = inner.named_children[-1]
    function = inner.child_by_field_name("function") if inner.type == "call_expression" else None
    return unit.text(function).rpartition("::")[2] if function is not None else ""


def _calls_of(body: Node, name: str, unit: TranslationUnit) -> list[Node]:
    """Call expressions of a function by its last name component, in order."""
    found: list[Node] = []
    pending = [body]
    while pending:
        node = pending.pop()
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            text = unit.text(function).partition("<")[0].rpartition("::")[2] if function is not None else ""
            if text.strip() == name:
                found.append(node)
        pending.extend(reversed(node.named_children))
    return found


def _path_to(node: Node, function: FunctionDefinition) -> list[tuple[TranslationUnit, Sequence[Node], int, str]]:
    """The enclosing statement lists of a node, outermost first, as `StatusReader.behind` wants them."""
    path: list[tuple[TranslationUnit, Sequence[Node], int, str]] = []
    current: Node | None = node
    while current is not None and current.id != function.body.id:
        parent = current.parent
        if parent is None:
            break
        if parent.type in ("compound_statement", "case_statement"):
            siblings = parent.named_children
            index = next((i for i, child in enumerate(siblings) if child.id == current.id), len(siblings))
            outer = parent.parent
            kind = "call" if outer is not None and outer.type == "lambda_expression" else "block"
            path.append((function.unit, siblings, index, kind))
        current = parent
    path.reverse()
    return path
