"""Blanking of macros the grammar cannot place: specifiers, statements without `;`, wrappers around a body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlint.lift.cuda.blanking import Edit, arguments_end, split_arguments
from kernlint.lift.cuda.macros import Macro, MacroTable, macro_from_directive
from kernlint.lift.cuda.unit import Recorded

_DEFINE = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(?P<name>[A-Za-z_]\w*)(?P<params>\((?:[^()\n]|\\\r?\n)*\))?"
    rb"(?P<body>(?:\\\r?\n|[^\n])*)",
    re.MULTILINE,
)
_SPECIFIER_WORDS = frozenset(
    {
        "__device__",
        "__host__",
        "__global__",
        "__forceinline__",
        "__noinline__",
        "__inline__",
        "__inline",
        "inline",
        "static",
        "constexpr",
        "extern",
        "__restrict__",
        "__restrict",
        "__attribute__",
        "__declspec",
        "__launch_bounds__",
        "__maxnreg__",
        "__cluster_dims__",
        "__align__",
        "alignas",
        "_Pragma",
        "__pragma",
        "__extension__",
        "always_inline",
        "noinline",
        "unused",
        "aligned",
        "visibility",
        "default",
        "hidden",
        "maybe_unused",
        "nodiscard",
        "no_sanitize",
        "__grid_constant__",
        "__builtin_align__",
    }
)
_QUALIFIER_WORDS = ("__global__", "__device__", "__host__", "__forceinline__", "__noinline__")
_KEPT_QUALIFIERS = frozenset({"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__align__"})
_SCAN = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    rb"|^[ \t]*#(?:\\\r?\n|[^\n])*|(?P<word>[A-Za-z_]\w*)",
    re.DOTALL | re.MULTILINE,
)
_CAPS = re.compile(rb"_*[A-Z][A-Z0-9_]{2,}\Z")
_WORD_IN_BODY = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*')
_TYPE_LIKE = re.compile(
    rb"\s*(?:(?:__\w+__|static|inline|constexpr|const|extern|virtual|explicit|friend|void|bool|char|short|int|long|float"
    rb"|double|unsigned|signed|auto|half|size_t|template|typename|struct|class|dim3|operator)\b"
    rb"|[A-Za-z_][\w:]*(?:<[^;{}]*?>)?[\s*&]+[A-Za-z_~]|[A-Z][A-Z0-9_]{2,}\b)"
)
# In a parameter list only two names in a row show that the word before them was no type.
_PARAMETER_LIKE = re.compile(
    rb"\s+(?:const\s+|typename\s+)*[A-Za-z_][\w:]*(?:<[^;{}()]*?>)?(?:::\w+)*(?:\s+const)?[\s*&]+[A-Za-z_]\w*\s*[,)=\[]"
)
_LOOP_BOUND = re.compile(rb"\bfor \([^;{}]*;[^;<>]*<=? (?P<bound>[A-Za-z_][^;()]*(?:\([^;()]*\))?); ")
_BETWEEN_STRINGS = re.compile(rb'"[ \t\r\n]*(?P<word>[A-Z_][A-Z0-9_]*)[ \t\r\n]*"')
_PRAGMA_BEFORE_BODY = re.compile(rb"\)[ \t]*(?://[^\n]*)?\r?\n(?P<pragma>[ \t]*#[ \t]*pragma[^\n]*)")
_TYPE_ARGUMENT = re.compile(
    rb"(?<=[(,])[ \t\r\n]*(?P<type>(?:(?:const|unsigned|signed|long|short)[ \t]+)*"
    rb"(?:float|double|int|char|bool|void|short|long|unsigned)(?:[ \t]*\*)*)[ \t\r\n]*(?=[,)])"
)
_SPACE = b" \t\r\n"
_MARGIN = 300  # bytes around an error in which its cause is looked for


def defined_macros(data: bytes) -> list[Macro]:
    """The `#define`s of a text in order, found without parsing it (comments are not skipped)."""
    found = []
    for match in _DEFINE.finditer(data):
        params = match.group("params")
        found.append(
            macro_from_directive(
                match.group("name").decode(),
                params.decode("utf-8", "replace")[1:-1] if params is not None else None,
                match.group("body").decode("utf-8", "replace"),
            )
        )
    return found


def _is_specifier(macro: Macro, table: MacroTable, depth: int = 0) -> bool:
    """Whether a macro stands for nothing but declaration specifiers, attributes or pragmas (or for nothing)."""
    if depth > 8:
        return False
    words = [word for word in _WORD_IN_BODY.findall(macro.body) if not word.startswith('"')]
    if not words:
        return not macro.body.strip("()[] ;,")
    first = True
    for word in words:
        inner = table.get(word)
        known = word in _SPECIFIER_WORDS or (macro.parameters is not None and word in macro.parameters)
        known = known or (inner is not None and inner is not macro and _is_specifier(inner, table, depth + 1))
        if not known and (first or not _argument_of_known(macro.body, word)):
            return False
        first = False
    return not set(macro.body) & set("{};=+?")


def _argument_of_known(body: str, word: str) -> bool:
    """Whether every use of `word` stands inside parentheses, as an attribute's argument does."""
    depth = 0
    for token in re.findall(r"\w+|[()]", body):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
        elif token == word and depth == 0:
            return False
    return True


def specifier_edits(data: bytes, table: MacroTable, errors: list[tuple[int, int]], by_shape: bool) -> list[Edit]:
    """Blank uses of macros that stand for specifiers; `by_shape` also ALL-CAPS words where only a specifier fits."""
    specifiers = {name for name, macro in table.macros.items() if _is_specifier(macro, table)}
    edits: list[Edit] = []
    previous_end = 0
    for match in _scan(_SCAN, data, errors):
        word = match.group("word")
        if word is None:
            if not match.group().startswith((b'"', b"'")):
                continue
            previous_end = match.end()
            continue
        if match.start() < previous_end:
            continue
        name = word.decode()
        if name in specifiers:
            macro = table.macros[name]
            end: int | None = match.end()
            arguments: tuple[str, ...] = ()
            if macro.parameters is not None:
                end = arguments_end(data, match.end())
                if end is None:
                    continue
                arguments = split_arguments(data[data.index(b"(", match.end()) + 1 : end - 1])
            assert end is not None
            edits.append(Edit(match.start(), end, _records(table, name, arguments, match.start(), end)))
        elif by_shape and _CAPS.match(word) and name not in table:
            in_list = _text_before(data, match.start())[-1:] in (b"(", b",")
            if not in_list and not _specifier_place(data, match.start()):
                continue
            end = arguments_end(data, match.end()) or match.end()
            if (_PARAMETER_LIKE if in_list else _TYPE_LIKE).match(data, end):
                edits.append(Edit(match.start(), end, _shape_records(name, data, match.end(), end, match.start())))
                previous_end = end
    return edits


def _records(table: MacroTable, name: str, arguments: tuple[str, ...], start: int, end: int) -> tuple[Recorded, ...]:
    text = table.expand_text(name, arguments) or ""
    found = [Recorded(word, (), start, end) for word in _QUALIFIER_WORDS if re.search(rf"\b{word}", text)]
    for word in sorted(_KEPT_QUALIFIERS):
        at = text.find(word)
        if at >= 0:
            raw = text.encode("utf-8", "replace")
            where = raw.find(word.encode()) + len(word)
            close = arguments_end(raw, where)
            if close is not None:
                found.append(Recorded(word, split_arguments(raw[raw.index(b"(", where) + 1 : close - 1]), start, end))
    return tuple(found)


def _shape_records(name: str, data: bytes, word_end: int, end: int, start: int) -> tuple[Recorded, ...]:
    """What the name of an unknown specifier macro suggests."""
    found = []
    parts = set(name.split("_"))
    if "DEVICE" in parts or "HD" in parts or ("KERNEL" not in parts and "INLINE" in parts):
        found.append(Recorded("__device__", (), start, end))
    if {"GRID", "CONSTANT"} <= parts:
        found.append(Recorded("__grid_constant__", (), start, end))
    if "HOST" in parts or "HD" in parts:
        found.append(Recorded("__host__", (), start, end))
    if "LAUNCH" in parts and "BOUNDS" in parts and end > word_end:
        inner = data[data.index(b"(", word_end) + 1 : end - 1]
        found.append(Recorded("__launch_bounds__", split_arguments(inner), start, end))
    return tuple(found)


def _specifier_place(data: bytes, at: int) -> bool:
    """Whether a declaration may begin or continue with a specifier here: after `;`, `}`, `{`, `>` of a template head,
    another specifier, or a directive."""
    before = _text_before(data, at)
    if not before or before[-1:] in b";{}>:" or before.rsplit(b"\n", 1)[-1].lstrip().startswith(b"#"):
        return True
    last = re.search(rb"(\w+)\Z", before)
    return last is not None and (
        last.group(1).decode("utf-8", "replace") in _SPECIFIER_WORDS
        or last.group(1) in (b"void", b"struct", b"class", b"union")
    )


def _text_before(data: bytes, at: int) -> bytes:
    """The last bytes before `at`, without white space and comments at their end."""
    before = data[max(0, at - 600) : at].rstrip(_SPACE)
    for _ in range(20):
        line_start = before.rfind(b"\n") + 1
        comment = before.find(b"//", line_start)
        if comment >= 0 and before.count(b'"', line_start, comment) % 2 == 0:
            before = before[:comment].rstrip(_SPACE)
        elif before.endswith(b"*/") and (opening := before.rfind(b"/*")) >= 0:
            before = before[:opening].rstrip(_SPACE)
        else:
            break
    return before


def type_argument_edits(data: bytes, table: MacroTable, errors: list[tuple[int, int]]) -> list[Edit]:
    """`LAUNCH(float, 32)`: a built-in type as a macro argument is no expression; its capitalised name parses as one.

    The original text is what a macro expansion gets (`TranslationUnit.argument_texts`)."""
    edits: list[Edit] = []
    for match in _scan(_TYPE_ARGUMENT, data, errors):
        start, end = match.span("type")
        text = match.group("type")
        edits.append(Edit(start, end, (), text[:1].upper() + re.sub(rb"[^\w]", b"_", text[1:])))
    return edits


def ambiguity_edits(data: bytes, errors: list[tuple[int, int]]) -> list[Edit]:
    """Help the grammar where it takes `i < N; ...` for the start of template arguments, by writing `i <(N);...` in as
    many bytes; where a pragma stands between a loop's head and its body; where a macro stands between two strings."""
    edits: list[Edit] = []
    for match in _scan(_LOOP_BOUND, data, errors):
        start, end = match.span("bound")
        edits.append(Edit(start - 1, end + 2, (), b"(" + match.group("bound") + b");"))
    for match in _scan(_PRAGMA_BEFORE_BODY, data, errors):
        edits.append(Edit(*match.span("pragma")))
    for match in _scan(_BETWEEN_STRINGS, data, errors):
        edits.append(Edit(*match.span("word")))
    return edits


def statement_edits(data: bytes, table: MacroTable, errors: list[tuple[int, int]]) -> list[Edit]:
    """Blank ALL-CAPS or defined macro uses at the start of a statement that no `;` ends, near an error."""
    edits: list[Edit] = []
    skip_to = 0
    for match in _scan(_SCAN, data, errors):
        word = match.group("word")
        if word is None or match.start() < skip_to:
            continue
        if not (_CAPS.match(word) or word.decode() in table):
            continue
        before = _text_before(data, match.start())
        directive = before.rsplit(b"\n", 1)[-1].lstrip().startswith(b"#")
        if before and before[-1:] not in b";{}):" and not directive and not before.endswith(b"else"):
            continue
        end = arguments_end(data, match.end())
        newline = data.find(b"\n", match.end())
        if end is None:
            rest = data[match.end() : newline if newline >= 0 else len(data)].strip()
            if not rest or rest.startswith(b"//") or re.match(rb"(?:for|while|if|do)\b", rest):
                edits.append(Edit(match.start(), match.end()))
            continue
        after = re.match(rb"[ \t]*(?://[^\n]*)?\r?(?:\n|\Z)|\s*[A-Za-z_{}#]", data[end : end + 400])
        if after is None:
            continue
        following = data[end : end + 400].lstrip()
        if following[:1] in (b";", b",", b".", b"?", b"=", b"+", b"*", b"<", b"&", b"|", b")", b"-"):
            continue
        inner_brace = data.find(b"{", match.end(), end)
        if inner_brace >= 0:
            close = data.rfind(b"}", inner_brace, end)
            edits.append(Edit(match.start(), inner_brace))
            edits.append(Edit(close + 1, end))
            continue
        edits.append(Edit(match.start(), end))
        skip_to = end
    return edits


def _windows(data: bytes, errors: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Line-aligned byte ranges around the errors, merged.  A range may begin inside a comment: blanking there is
    harmless."""
    merged: list[tuple[int, int]] = []
    for start, end in errors:
        start = data.rfind(b"\n", 0, max(0, start - _MARGIN)) + 1
        end = min(len(data), end + _MARGIN)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _scan(pattern: re.Pattern[bytes], data: bytes, errors: list[tuple[int, int]]) -> Iterator[re.Match[bytes]]:
    """Matches near errors, in order."""
    for start, end in _windows(data, errors):
        yield from pattern.finditer(data, start, end)
