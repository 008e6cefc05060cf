"""Fetch and unpack the measured packages of `corpora.toml`:  python benchmarks/corpora.py [--into DIR] [NAME...]

Everything goes to `corpora/NAME-VERSION/` beside this repository's sources (ignored by git) unless told otherwise.
Packages are downloaded with pip by name and version and unpacked as archives.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "corpora"


@dataclass(frozen=True)
class Corpus:
    name: str
    version: str
    kind: str
    paths: tuple[str, ...]
    target: Path

    @property
    def folder(self) -> Path:
        return self.target / f"{self.name}-{self.version}"

    @property
    def roots(self) -> list[Path]:
        """The folders to lint."""
        return [self.folder / path for path in self.paths]


def corpora(names: list[str] | None = None, target: Path = TARGET) -> list[Corpus]:
    """The listed packages, or those named.  Raises SystemExit on an unknown name."""
    table = tomllib.loads((ROOT / "benchmarks" / "corpora.toml").read_text())
    unknown = sorted(set(names or []) - set(table))
    if unknown:
        raise SystemExit(f"unknown package {', '.join(unknown)}; known: {', '.join(sorted(table))}")
    return [
        Corpus(name, row["version"], row["kind"], tuple(row["paths"]), target)
        for name, row in table.items()
        if not names or name in names
    ]


def fetch(corpus: Corpus) -> None:
    if corpus.folder.exists():
        print(f"{corpus.name} {corpus.version}: present")
        return
    archives = corpus.target / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    only = ["--only-binary" if corpus.kind == "wheel" else "--no-binary", corpus.name]
    wanted = f"{corpus.name}=={corpus.version}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *only, "-d", str(archives), wanted]
    subprocess.run(command, check=True)
    stem = corpus.name.replace("-", "_")
    found = sorted(p for p in archives.iterdir() if p.name.replace("-", "_").lower().startswith(stem))
    found = [p for p in found if corpus.version in p.name]
    if not found:
        raise SystemExit(f"pip left no archive for {wanted}")
    part = corpus.folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    if found[0].suffix == ".whl":
        with zipfile.ZipFile(found[0]) as archive:
            archive.extractall(part)
    else:
        with tarfile.open(found[0]) as archive:
            archive.extractall(part, filter="data")
    part.rename(corpus.folder)
    print(f"{corpus.name} {corpus.version}: unpacked")


def arguments(description: str) -> tuple[argparse.Namespace, list[Corpus]]:
    """Command-line arguments every measuring script shares: which packages, and where they are unpacked."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="packages of corpora.toml; all by default")
    parser.add_argument("--into", type=Path, default=TARGET, help="folder of the unpacked packages")
    options = parser.parse_args()
    return options, corpora(options.names, options.into)


if __name__ == "__main__":
    for item in arguments("Fetch and unpack the measured packages.")[1]:
        fetch(item)
