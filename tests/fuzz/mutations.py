"""Token-level mutations of source text: what a half-written or damaged file looks like to a linter."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ODD = (
    *"()[]{};:,*&'@#%0",
    *("<<<", ">>>", "/*", '"""', "\\\n", "#if 1\n", "-1", "99999999999999999999", "//", "template<"),
    *("tl.arange", "__syncthreads()", "None", "if", "for", "lambda", "return", "\x00", "\x0c", "\ufeff", "é", "😀", ""),
)


def mutate(text: str, seed: int, changes: int) -> str:
    """`changes` random edits of the token sequence: delete, double, swap, replace, or insert something odd."""
    rng = random.Random(seed)
    tokens = _TOKEN.findall(text)
    for _ in range(changes):
        if not tokens:
            break
        at = rng.randrange(len(tokens))
        action = rng.randrange(6)
        if action == 0:
            del tokens[at]
        elif action == 1:
            tokens.insert(at, tokens[at])
        elif action == 2:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif action == 3:
            tokens[at] = rng.choice(tokens)
        elif action == 4:
            tokens.insert(at, rng.choice(_ODD))
        else:
            del tokens[at : at + rng.randrange(1, 20)]
    return "".join(tokens)
