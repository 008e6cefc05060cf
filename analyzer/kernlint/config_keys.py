"""The configuration keys as a table: name, type, default, allowed values, documentation.

`kernlint config --schema` and `--show` are made from it, and reading checks values against it.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from kernlint.records import dataclass

TEXT, LIST, TABLE, FLAG, NUMBER, LISTS = "string", "list", "table", "boolean", "integer", "table of lists"

FRAMEWORKS = ("cuda", "triton", "torch", "jax", "nki")
SEVERITIES = ("info", "warning", "error")
PERSONA_NAMES = ("default", "pedantic", "audit")
_TARGET = r"sm_\d{2,3}[af]?"
_VERSION = r"\d+(\.\d+)*"


@dataclass(frozen=True, slots=True)
class Key:
    """One key.  `choices` and `pattern` constrain a string, or each entry of a list or table.  `names` are the allowed
    keys of a table (any, when empty)."""

    name: str
    kind: str
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    pattern: str = ""
    names: tuple[str, ...] = ()
    example: Any = field(default=None)

    def problem(self, value: Any) -> str:
        """Why the value is not right; '' when it is."""
        if self.kind == FLAG:
            return "" if isinstance(value, bool) else "must be true or false"
        if self.kind == NUMBER:
            fine = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            return "" if fine else "must be a whole number, zero or more"
        if self.kind == TEXT:
            return self._entry_problem(value)
        if self.kind == LIST:
            return self._list_problem(value)
        return self._table_problem(value)

    def _list_problem(self, value: Any) -> str:
        if not isinstance(value, list):
            return "must be a list of strings"
        return next((problem for problem in map(self._entry_problem, value) if problem), "")

    def _table_problem(self, value: Any) -> str:
        if not isinstance(value, dict):
            return "must be a table"
        for name, entry in value.items():
            if self.names and name not in self.names:
                return f"has no entry `{name}`; known are {', '.join(self.names)}"
            problem = self._list_problem(entry) if self.kind == LISTS else self._entry_problem(entry)
            if problem:
                return f"entry `{name}`: {problem}"
        return ""

    def _entry_problem(self, value: Any) -> str:
        if not isinstance(value, str):
            return "must be a string" if self.kind in (TEXT, TABLE) else "must be a list of strings"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}, not `{value}`"
        if self.pattern and not re.fullmatch(self.pattern, value):
            return f"`{value}` does not look like `{self.example}`"
        return ""


KEYS: tuple[Key, ...] = (
    Key("select", LIST, ["ALL"], "Rules to run: codes, names, code prefixes (`KL1`), families (`bounds`), or `ALL`."),
    Key("ignore", LIST, [], "Rules not to run, taken from `select`."),
    Key("extend-select", LIST, [], "Rules to run besides those of `select`, after `ignore`."),
    Key("per-file-ignores", LISTS, {}, "File pattern -> rules not to report in files that match."),
    Key("exclude", LIST, [], "Files and folders to leave out, in `.gitignore` syntax, relative to this file."),
    Key("include", LIST, [], "Files to lint whose names are not those of CUDA, C++ or Python, as patterns."),
    Key("respect-gitignore", FLAG, True, "Whether to leave out what `.gitignore` files leave out."),
    Key("targets", LIST, ["sm_80"], "Architectures the code is meant for.", pattern=_TARGET, example="sm_90"),
    Key(
        "versions",
        TABLE,
        {},
        "Framework versions the code is meant for.",
        pattern=_VERSION,
        names=FRAMEWORKS,
        example="3.2",
    ),
    Key(
        "persona",
        TEXT,
        "default",
        "How certain a finding must be: `default` shows certain ones, `pedantic` likely ones too, `audit` everything.",
        choices=PERSONA_NAMES,
    ),
    Key("min-severity", TEXT, "info", "The least severity that is reported.", choices=SEVERITIES),
    Key("output", LIST, [], "Formats, each `FORMAT` or `FORMAT:FILE`; `full` to standard output when empty."),
    Key("baseline", TEXT, "", "Baseline file; its findings are not reported."),
    Key("include-paths", LIST, [], "Folders searched for local CUDA includes, besides the including file's."),
    Key("max-file-size", NUMBER, 2 * 1024 * 1024, "Size in bytes beyond which a file is reported instead of read."),
    Key("cache", FLAG, True, "Whether results are kept in `.kernlint_cache/`."),
    Key("jobs", NUMBER, 0, "Processes; 0 means one per processor."),
    Key("sarif-category", TEXT, "", "Category of SARIF output, for several uploads on one commit."),
)
BY_NAME = {key.name: key for key in KEYS}


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of `kernlint.toml`, which is also that of `[tool.kernlint]`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kernlint configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _schema_of(key) for key in KEYS},
    }


def _schema_of(key: Key) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "string"}
    if key.choices:
        entry["enum"] = list(key.choices)
    if key.pattern:
        entry["pattern"] = f"^{key.pattern}$"
    shape: dict[str, Any]
    if key.kind == TEXT:
        shape = entry
    elif key.kind == LIST:
        shape = {"type": "array", "items": entry}
    elif key.kind in (TABLE, LISTS):
        value = {"type": "array", "items": entry} if key.kind == LISTS else entry
        shape = {"type": "object"}
        if key.names:
            shape |= {"properties": dict.fromkeys(key.names, value), "additionalProperties": False}
        else:
            shape["additionalProperties"] = value
    else:
        shape = {"type": key.kind} | ({"minimum": 0} if key.kind == NUMBER else {})
    return {"description": key.doc, **shape, "default": key.default}
