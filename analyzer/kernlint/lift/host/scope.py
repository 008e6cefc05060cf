"""What the names of a Python file mean: imports, functions, classes, constants, also across files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from weakref import WeakKeyDictionary

from kernlint.lift.host.definitions import (
    COMPOUND,
    Assigned,
    Class,
    Definition,
    Function,
    FunctionNode,
    Imported,
    bodies_of,
    folded,
    imports_of,
)
from kernlint.lift.host.text import ParseFailure, PythonText, parse_python
from kernlint.records import dataclass
from kernlint.source.file import NoResolver, Resolver, SourceFile

MAX_HOPS = 8  # imports followed from one name to its definition
MAX_CACHED_FILES = 64


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """A definition and the scope it stands in.  An `Imported` one lies outside the project; `dotted` is its name."""

    scope: PythonScope
    definition: Definition

    @property
    def dotted(self) -> str:
        return self.definition.dotted if isinstance(self.definition, Imported) else ""


class PythonScope:
    """The module-level names of one file, and every function in it.

    Conditional definitions are all seen; the first import of a name wins over later fallbacks (`except ImportError`),
    and a function or import wins over a plain assignment (`triton = None`), anything else over None.
    """

    def __init__(self, text: PythonText, resolver: Resolver | None = None) -> None:
        self.text = text
        self.source: SourceFile = text.source
        self.path: str = text.source.path
        self.tree: ast.Module = text.tree
        self.resolver: Resolver = resolver or NoResolver()
        self.names: dict[str, Definition] = {}
        self.functions: list[Function] = []
        self.classes: dict[str, ast.ClassDef] = {}
        self.methods: dict[tuple[str, str], Function] = {}  # (class, method)
        self.stars: list[Imported] = []
        self._wrappings: list[tuple[Function, list[ast.expr]]] = []
        self._by_node: dict[ast.stmt, Function] = {}
        self._dotted: dict[str, str] = {}
        self._resolved: dict[str, Resolved | None] = {}
        self._others: dict[str, PythonScope] = {}
        self.read_files: set[str] = set()  # other files looked into directly
        self._collect()

    # ---- collecting ------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        later: dict[str, Imported] = {}  # imports inside functions: visible to the whole file as a last resort
        stack: list[tuple[Iterator[ast.stmt], str, Function | None]] = [(iter(self.tree.body), "", None)]
        while stack:
            statements, class_name, outer = stack[-1]
            node = next(statements, None)
            if node is None:
                stack.pop()
                continue
            top = outer is None and not class_name
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = Function(node, class_name, outer)
                self.functions.append(function)
                if top:
                    self._define(node.name, function)
                elif outer is None:
                    self.methods[class_name, node.name] = function
                stack.append((iter(node.body), "", function))
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
                if top:
                    self._define(node.name, Class(node))
                stack.append((iter(node.body), node.name, outer))
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for name, imported in imports_of(node):
                    if name == "*":
                        self.stars.append(imported)
                    elif top:
                        self._define(name, imported)
                    else:
                        later.setdefault(name, imported)
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                if top:
                    self._assign(node)
            elif isinstance(node, COMPOUND):
                stack.append((chain.from_iterable(bodies_of(node)), class_name, outer))
        for name, imported in later.items():
            self.names.setdefault(name, imported)
        for function in self.functions:
            function.is_jit = self._has_jit_decorator(function.node)
        for function, wrappers in self._wrappings:
            function.is_jit = function.is_jit or any(self._is_jit_maker(wrapper) for wrapper in wrappers)
            if function.is_jit:
                function.wrappers += tuple(wrappers)

    def _define(self, name: str, definition: Definition) -> None:
        known = self.names.get(name)
        if isinstance(known, Imported) and isinstance(definition, Imported):
            return
        self.names[name] = definition

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                value = node.value if not isinstance(node, ast.AugAssign) else None
                annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
                known = self.names.get(target.id)
                function = self._wrapped_function(value)
                if known is None or (isinstance(known, Assigned) and _is_none(known.value) and value is not None):
                    self.names[target.id] = Assigned(value, annotation, function)
                elif isinstance(known, Assigned) and not _is_none(value) and not _same_text(known.value, value):
                    self.names[target.id] = Assigned(None)
            elif isinstance(target, (ast.Tuple, ast.List)):
                values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else []
                for index, item in enumerate(target.elts):
                    if isinstance(item, ast.Name):
                        whole = len(values) == len(target.elts)
                        self.names.setdefault(item.id, Assigned(values[index] if whole else None))

    def _wrapped_function(self, value: ast.expr | None) -> Function | None:
        """f in `g = f` and `g = triton.jit(f)`."""
        wrappers: list[ast.expr] = []
        while isinstance(value, ast.Call) and value.args and len(wrappers) < MAX_HOPS:
            wrappers.append(value.func)
            value = value.args[0]
        known = self.names.get(value.id) if isinstance(value, ast.Name) else None
        if not isinstance(known, Function):
            return None
        if wrappers:
            self._wrappings.append((known, wrappers[::-1]))
        return known

    # ---- questions -------------------------------------------------------------------------------------------------

    def dotted(self, node: ast.expr) -> str:
        """The full dotted name an expression denotes, imports expanded: `tl.load` -> `triton.language.load`.

        '' when it is not a chain of names.  A name that is not imported stands for itself.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        head = self.dotted_name(node.id)
        if not parts:
            return head
        parts.append(head)
        parts.reverse()
        return ".".join(parts)

    def dotted_name(self, name: str) -> str:
        """`dotted` of a bare name; follows re-exports inside the project (`from .compat import tl`)."""
        known = self._dotted.get(name)
        if known is None:
            self._dotted[name] = name
            definition = self.names.get(name)
            known = name
            if isinstance(definition, Imported):
                resolved = self.resolve(name)
                known = (resolved.dotted if resolved is not None else "") or definition.dotted
            elif definition is None and self.stars:
                resolved = self.resolve(name)
                known = (resolved.dotted if resolved is not None else "") or name
            self._dotted[name] = known
        return known

    def resolve(self, name: str) -> Resolved | None:
        """The definition of a name of this file, followed through imports to the file that has it.

        None for a name that is not defined at module level (a builtin, a local).  A definition outside the project
        comes back as its `Imported`.
        """
        if name not in self._resolved:
            self._resolved[name] = None  # breaks import cycles
            self._resolved[name] = self._follow(name, 0)
        return self._resolved[name]

    def resolve_node(self, node: ast.expr) -> Resolved | None:
        """`resolve` for `name` and `module.name`."""
        if isinstance(node, ast.Name):
            return self.resolve(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve_node(node.value)
            if base is None or not isinstance(base.definition, Imported):
                return None
            imported = base.definition
            module = ".".join(part for part in (imported.module, imported.name) if part)
            member = Imported(module, node.attr, imported.level)
            return base.scope._follow_import(member, 0)
        return None

    def _follow(self, name: str, hops: int) -> Resolved | None:
        definition = self.names.get(name)
        if definition is None:
            for star in self.stars:
                other = self._other(star.module, star.level)
                found = other._follow(name, hops + 1) if other is not None and hops < MAX_HOPS else None
                if found is not None:
                    return found
            return None
        if isinstance(definition, Imported) and hops < MAX_HOPS:
            return self._follow_import(definition, hops)
        return Resolved(self, definition)

    def _follow_import(self, imported: Imported, hops: int) -> Resolved:
        here = Resolved(self, imported)
        if imported.name is None or _is_foreign(imported):
            return here
        other = self._other(imported.module, imported.level)
        if other is None:
            return here
        found = other._follow(imported.name, hops + 1)
        return found if found is not None else here

    def _other(self, module: str, level: int) -> PythonScope | None:
        if level == 0 and module.partition(".")[0] in FOREIGN:
            return None
        source = self.resolver.python_module(module, level, self.path)
        if source is None or source.path == self.path:
            return None
        self.read_files.add(source.path)
        other = scope_of(source, self.resolver)
        if other is not None:
            self._others[source.path] = other
        return other

    def files_read(self) -> tuple[str, ...]:
        """Every other file that names of this one were followed into, sorted."""
        found: set[str] = set()
        scopes = [self]
        for scope in scopes:
            scopes += [other for path, other in scope._others.items() if path not in found]
            found |= scope.read_files
        return tuple(sorted(found - {self.path}))

    def forget(self) -> None:
        """Drop what was found in other files, so that no cycle of references keeps the syntax trees alive."""
        self._resolved.clear()
        self._others.clear()

    def _has_jit_decorator(self, node: FunctionNode) -> bool:
        return any(self._is_jit_maker(decorator) for decorator in node.decorator_list)

    def _is_jit_maker(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            node = node.func
        last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if not last.endswith("jit"):
            return False
        dotted = self.dotted(node) if self.names else last
        return is_triton_jit(dotted)

    def function_at(self, node: ast.stmt) -> Function | None:
        """The record of a function definition of this file."""
        if not self._by_node:
            self._by_node = {function.node: function for function in self.functions}
        return self._by_node.get(node)

    def jit_function(self, node: ast.expr) -> tuple[PythonScope, Function] | None:
        """The jit function an expression names, directly, imported, or wrapped (`triton.jit(f)`), else None."""
        resolved = self.resolve_node(node)
        for _ in range(MAX_HOPS):
            if resolved is None:
                return None
            definition = resolved.definition
            if isinstance(definition, Function):
                return (resolved.scope, definition) if definition.is_jit else None
            if not isinstance(definition, Assigned) or definition.value is None:
                return None
            if definition.target is not None:
                return (resolved.scope, definition.target) if definition.target.is_jit else None
            inner = _unwrapped(definition.value)
            target = resolved.scope.resolve_node(inner)
            if inner is not definition.value and target is not None and isinstance(target.definition, Function):
                return target.scope, target.definition
            resolved = target
        return None

    def constant(self, node: ast.expr) -> int | float | str | bool | None:
        """The value of a literal or of a module-level constant (numbers, strings, booleans), else None."""
        return self._constant(node, 0)

    def _constant(self, node: ast.expr, depth: int) -> int | float | str | bool | None:
        if isinstance(node, ast.Constant):
            value = node.value
            return value if isinstance(value, (int, float, str)) else None
        if depth > 12:
            return None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._constant(node.operand, depth + 1)
            if isinstance(value, (int, float)):
                return -value if isinstance(node.op, ast.USub) else value
            return None
        if isinstance(node, ast.BinOp):
            return folded(node.op, self._constant(node.left, depth + 1), self._constant(node.right, depth + 1))
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            if self.dotted(node.func) in ("triton.language.constexpr", "int", "float"):
                return self._constant(node.args[0], depth + 1)
            return None
        if isinstance(node, (ast.Name, ast.Attribute)):
            resolved = self.resolve_node(node)
            if resolved is not None and isinstance(resolved.definition, Assigned):
                value_node = resolved.definition.value
                return resolved.scope._constant(value_node, depth + 1) if value_node is not None else None
        return None


# Packages that hold no kernels of the user's own; never searched for definitions.
FOREIGN = frozenset({"triton", "torch", "numpy", "math", "functools", "typing", "os", "sys", "einops", "jax", "cupy"})


def _is_foreign(imported: Imported) -> bool:
    return imported.level == 0 and imported.module.partition(".")[0] in FOREIGN


def is_triton_jit(dotted: str) -> bool:
    """Whether a decorator makes Triton kernels: `triton.jit`, Gluon's and projects' wrappers of it."""
    last = dotted.rpartition(".")[2]
    return last == "triton_jit" or (last == "jit" and (dotted == "jit" or "triton" in dotted or "gluon" in dotted))


def _unwrapped(node: ast.expr) -> ast.expr:
    """f in `triton.jit(f)`, `triton.autotune(...)(triton.jit(f))`, `libentry()(f)`."""
    for _ in range(MAX_HOPS):
        if isinstance(node, ast.Call) and len(node.args) >= 1 and isinstance(node.args[0], (ast.Name, ast.Call)):
            node = node.args[0]
        else:
            break
    return node


def _is_none(value: ast.expr | None) -> bool:
    """Whether a value is written as None: what a name holds where something optional is missing."""
    return isinstance(value, ast.Constant) and value.value is None


def _same_text(a: ast.expr | None, b: ast.expr | None) -> bool:
    return a is not None and b is not None and ast.dump(a) == ast.dump(b)


_CACHES: WeakKeyDictionary[Resolver, dict[str, PythonScope | None]] = WeakKeyDictionary()


def scope_of(source: SourceFile, resolver: Resolver) -> PythonScope | None:
    """The scope of a file, cached for as long as its resolver (one run); None when it does not parse."""
    try:
        cache = _CACHES.setdefault(resolver, {})
    except TypeError:  # a resolver that cannot be referenced weakly
        cache = {}
    if source.path in cache:
        cache[source.path] = cache.pop(source.path)  # the most recently used last
    else:
        while len(cache) >= MAX_CACHED_FILES:
            oldest = cache.pop(next(iter(cache)))
            if oldest is not None:
                oldest.forget()
        text = parse_python(source)
        cache[source.path] = None if isinstance(text, ParseFailure) else PythonScope(text, resolver)
    return cache[source.path]
