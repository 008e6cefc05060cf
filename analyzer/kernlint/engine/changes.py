"""Which lines changed since a git revision.

git is run so that nothing the repository configures (external diffs, text conversion, file monitors, hooks) gets
executed.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Sequence

from kernlint.records import dataclass

_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_SAFE = (
    "git",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.external=",
    "-c",
    "diff.noprefix=false",
    "-c",
    "diff.mnemonicPrefix=false",
)


class ChangesError(Exception):
    """git is missing, this is no repository, or it does not know the revision."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed lines by absolute path: half-open ranges of 1-based lines; None for files that are new as a whole."""

    lines: dict[str, tuple[tuple[int, int], ...] | None]

    def touch(self, path: str, first: int, last: int) -> bool:
        """Whether any of the lines first..last (inclusive) changed."""
        ranges = self.lines.get(os.path.realpath(path), ())
        return ranges is None or any(start <= last and first < end for start, end in ranges)


def changes_since(revision: str) -> Changes:
    """Lines of the working tree that differ from the merge base of HEAD and `revision`, untracked files included.

    Raises ChangesError.
    """
    if revision.startswith("-"):
        raise ChangesError(f"`{revision}` is no revision")
    top = os.fsdecode(_git(["rev-parse", "--show-toplevel"]).rstrip(b"\n"))
    commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], revision)
    base = commit.strip()
    with contextlib.suppress(ChangesError):  # unrelated histories: compare with the revision itself
        base = _git(["merge-base", os.fsdecode(base), "HEAD"]).strip() or base
    diff = _git(
        ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "-U0", os.fsdecode(base), "--"]
    )
    lines: dict[str, tuple[tuple[int, int], ...] | None] = {}
    for path, ranges in parse_diff(diff).items():
        lines[os.path.realpath(os.path.join(top, path))] = ranges
    untracked = _git(["ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/"])
    for raw in untracked.split(b"\0"):
        if raw:
            lines[os.path.realpath(os.path.join(top, os.fsdecode(raw)))] = None
    return Changes(lines)


def parse_diff(diff: bytes) -> dict[str, tuple[tuple[int, int], ...]]:
    """New-side line ranges by path, from a unified diff without context.

    Where lines were only deleted, the two lines around the gap count as changed.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    path: str | None = None
    pending = [0, 0]  # old and new lines of the current hunk still to come
    for line in diff.split(b"\n"):
        if pending[0] > 0 and line.startswith(b"-"):
            pending[0] -= 1
        elif pending[1] > 0 and line.startswith(b"+"):
            pending[1] -= 1
        elif line.startswith(b"+++ "):
            path = _target(line[4:])
        elif path is not None and (match := _HUNK.match(line)) is not None:
            old = line.split(b" ")[1].partition(b",")[2]
            start, count = int(match[1]), int(match[2]) if match[2] is not None else 1
            pending = [int(old) if old else 1, count]
            found.setdefault(path, []).append((start, start + count) if count else (start, start + 2))
    return {name: tuple(ranges) for name, ranges in found.items()}


def _target(raw: bytes) -> str | None:
    """The path of a `+++` line; git quotes names with odd characters like C strings."""
    raw = raw.rstrip(b"\t")
    if raw.startswith(b'"') and raw.endswith(b'"'):
        raw = re.sub(rb"\\([0-7]{3}|.)", _unescape, raw[1:-1])
    return os.fsdecode(raw[2:]) if raw.startswith(b"b/") else None


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 255])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}.get(code, code)


def _git(arguments: Sequence[str], revision: str = "") -> bytes:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run([*_SAFE, *arguments], capture_output=True, check=False, env=environment)
    except OSError as error:
        raise ChangesError("--since needs git, which cannot be run here") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[0] if said else f"git does not know the revision `{revision}`" if revision else "git failed"
        raise ChangesError(f"--since: {reason}")
    return done.stdout
