"""Whether the bytes of a file are text kernlint can read."""

from __future__ import annotations

import codecs

_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def why_unreadable(data: bytes) -> str:
    """Why the bytes are no source text, '' when they may be.

    Bytes that are no valid UTF-8 are let through: kernels with Latin-1 comments are common, and all syntax is ASCII.
    """
    for mark, name in _OTHER_ENCODINGS:
        if data.startswith(mark):
            return f"it is {name} text; kernlint reads UTF-8"
    if b"\0" in data:
        return "it holds NUL bytes, so it is binary or in another encoding"
    return ""
