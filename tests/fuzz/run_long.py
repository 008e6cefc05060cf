"""The long fuzz run:  python tests/fuzz/run_long.py [SECONDS] [SEED].  Prints each failing seed and source, exits 1."""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutations import mutate

from kernlint.source.file import CUDA, PYTHON
from kernlint.testing import check_source

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    sources = [(p, p.read_text()) for p in sorted(FIXTURES.rglob("*")) if p.suffix in {".py", ".cu"}]
    end, runs, failures = time.monotonic() + seconds, 0, 0
    for seed in itertools.count(first):
        for path, text in sources:
            if time.monotonic() > end:
                print(f"{runs} mutated files, {failures} failures")
                return 1 if failures else 0
            runs += 1
            try:
                check_source(mutate(text, seed, 1 + seed % 40), PYTHON if path.suffix == ".py" else CUDA)
            except Exception:
                failures += 1
                print(f"seed {seed}, {path.relative_to(FIXTURES)}:\n{traceback.format_exc()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
