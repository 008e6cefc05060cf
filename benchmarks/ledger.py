"""The precision ledger: draw findings to triage, add triaged ones, compute precision per rule.

    python benchmarks/ledger.py sample --corpora corpora --per-rule 15 > triage.jsonl
    ... read the code around each finding; set "verdict" to true or false and "reason" to one line ...
    python benchmarks/ledger.py add triage.jsonl
    python benchmarks/ledger.py summarise

`corpora` holds one folder per unpacked package (wheel or source distribution).  Nothing in them is imported or run.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from kernlint.ledger import LedgerError, LedgerRow, parse_ledger, precision_by_rule, precision_document

ROOT = Path(__file__).resolve().parent.parent
LEDGER = ROOT / "benchmarks" / "ledger.jsonl"
PRECISION = ROOT / "analyzer" / "kernlint" / "data" / "precision.json"
_CONTEXT = 12


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    sample = modes.add_parser("sample", help="draw findings at random, per rule, as rows to triage")
    sample.add_argument("--corpora", type=Path, default=ROOT / "corpora", help="folder with a folder per package")
    sample.add_argument("--per-rule", type=int, default=15, help="findings per rule")
    sample.add_argument("--rule", action="append", default=[], help="only this rule code (repeatable)")
    sample.add_argument("--package", action="append", default=[], help="only this package folder (repeatable)")
    sample.add_argument("--persona", choices=["default", "pedantic", "audit"], default="default")
    sample.add_argument("--seed", type=int, default=1)
    sample.add_argument("--jobs", type=int, default=1)
    sample.add_argument("--no-context", action="store_true", help="leave out the source lines around each finding")
    add = modes.add_parser("add", help="append triaged rows to the ledger")
    add.add_argument("files", type=Path, nargs="+")
    modes.add_parser("summarise", help="write kernlint/data/precision.json and print the table")
    options = parser.parse_args(arguments)
    try:
        if options.mode == "sample":
            return _sample(options)
        return _add(options.files) if options.mode == "add" else _summarise()
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


# -- sample ------------------------------------------------------------------------------------------------------


def _sample(options: argparse.Namespace) -> int:
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in sorted(path for path in options.corpora.iterdir() if path.is_dir()):
        if folder.name == "archives" or folder.suffix == ".part":  # what benchmarks/corpora.py leaves beside them
            continue
        if options.package and folder.name not in options.package:
            continue
        name, version = package_of(folder)
        for finding in lint(folder, options.persona, options.jobs):
            row = {
                "package": name,
                "version": version,
                "path": posixpath.normpath(finding["path"]),
                "line": finding["line"],
                "code": finding["code"],
                "message": finding["message"].split("\n")[0],
            }
            if not options.no_context:
                row["context"] = context(folder / row["path"], finding["line"])
            found.setdefault(finding["code"], []).append(row)
    triaged = {_identity(asdict(row)) for row in _ledger()}
    for code in sorted(found):
        if not options.rule or code in options.rule:
            fresh = [row for row in found[code] if _identity(row) not in triaged]
            for row in draw(fresh, options.per_rule, f"{options.seed}:{code}"):
                print(json.dumps({**row, "verdict": None, "reason": ""}))
            print(f"{code}: {len(found[code])} found, {len(fresh)} not triaged yet", file=sys.stderr)
    return 0


def draw(rows: Sequence[dict[str, Any]], count: int, seed: str) -> list[dict[str, Any]]:
    """A random sample, the same for the same rows and seed, in order of place."""
    ordered = sorted(rows, key=_identity)
    chosen = random.Random(seed).sample(range(len(ordered)), min(count, len(ordered)))
    return [ordered[index] for index in sorted(chosen)]


def _identity(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in ("package", "version", "path", "line", "code", "message"))


def package_of(folder: Path) -> tuple[str, str]:
    """Normalised name (PEP 503) and version from the metadata, else from a folder called `name-version`."""
    for metadata in sorted(
        [*folder.glob("*.dist-info/METADATA"), *folder.glob("PKG-INFO"), *folder.glob("*/PKG-INFO")]
    ):
        headers = HeaderParser().parsestr(metadata.read_text("utf-8", "replace"))
        if headers["Name"] and headers["Version"]:
            return re.sub(r"[-_.]+", "-", headers["Name"]).lower(), headers["Version"]
    name, _, version = folder.name.rpartition("-")
    return (name, version) if name else (folder.name, "unknown")


def lint(folder: Path, persona: str, jobs: int) -> Iterator[dict[str, Any]]:
    """Findings of a run over a folder, with paths relative to it."""
    command = shutil.which("kernlint", path=str(Path(sys.executable).parent)) or "kernlint"
    line = [command, "check", ".", "--output", "jsonl", "--exit-zero", "--no-config", "--no-cache", "--jobs", str(jobs)]
    if persona != "default":
        line.append(f"--{persona}")
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 3):
        raise LedgerError(f"kernlint failed in {folder}: {done.stderr.strip()}")
    for text in done.stdout.splitlines():
        row = json.loads(text)
        if row["type"] == "finding":
            yield row


def context(path: Path, line: int) -> list[str]:
    """The numbered source lines around a finding."""
    lines = path.read_text("utf-8", "replace").splitlines()
    first = max(1, line - _CONTEXT)
    shown = enumerate(lines[first - 1 : line + _CONTEXT], first)
    return [f"{'>' if number == line else ' '}{number:5} {text}" for number, text in shown]


# -- add and summarise -------------------------------------------------------------------------------------------


def _ledger() -> list[LedgerRow]:
    return parse_ledger(LEDGER.read_text("utf-8")) if LEDGER.exists() else []


def _add(files: Iterable[Path]) -> int:
    """Check every triaged row, then write the whole ledger, sorted.  Rows without a verdict are left out."""
    names = [field.name for field in fields(LedgerRow)]
    texts = [json.dumps(asdict(row)) for row in _ledger()]
    before, open_rows = len(texts), 0
    for file in files:
        for text in file.read_text("utf-8").splitlines():
            if text.strip():
                row = json.loads(text)
                open_rows += row.get("verdict") is None
                if row.get("verdict") is not None:
                    texts.append(json.dumps({name: row[name] for name in names if name in row}))
    rows = parse_ledger("\n".join(texts))
    rows.sort(key=lambda row: (row.code, row.package, row.version, row.path, row.line, row.message))
    LEDGER.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), "utf-8")
    print(f"{len(rows) - before} rows added, {open_rows} without a verdict left out, {len(rows)} in the ledger")
    return 0


def _summarise() -> int:
    precision = precision_by_rule(_ledger())
    PRECISION.write_text(precision_document(precision), "utf-8")
    print(f"{'rule':6}  {'triaged':>7}  {'true':>5}  precision  word")
    for code, item in precision.items():
        print(f"{code:6}  {item.sampled:7}  {item.true:5}  {item.value:9.2f}  {item.word}")
    sampled, true = sum(item.sampled for item in precision.values()), sum(item.true for item in precision.values())
    print(f"{'all':6}  {sampled:7}  {true:5}  {true / sampled if sampled else 0:9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
