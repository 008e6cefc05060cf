"""Coalescing on whole sources: indices with loaded numbers in them."""

from __future__ import annotations

import pytest

from kernlint.finding import Confidence
from kernlint.testing import check_source
from kernlint_rules.memory.uncoalesced_access import UncoalescedAccess

KERNEL = """\
__global__ void append(const float* key, float* cache, const int* slot, int heads, int dim, int page) {
    const int token = blockIdx.x, head = blockIdx.y;
    const long long to = slot[WHICH], block = to / page, offset = to % page;
    for (int d = threadIdx.x; d < dim; d += blockDim.x)
        cache[INDEX] = key[((long long)token * heads + head) * dim + d];
}
void launch(const float* key, float* cache, const int* slot, int tokens, int heads, int dim, int page) {
    append<<<dim3(tokens, heads), 128>>>(key, cache, slot, heads, dim, page);
}
"""


@pytest.mark.parametrize(
    ("which", "index", "confidence"),
    [
        ("token", "((block * heads + head) * dim + d) * page + offset", Confidence.HIGH),
        ("token", "((block * heads + head) * page + offset) * dim + d", None),
        # each thread goes where its own number sends it: a scatter
        ("token * 128 + threadIdx.x", "((block * heads + head) * dim + d) * page + offset", None),
    ],
)
def test_numbers_loaded_for_the_whole_block_are_offsets(which: str, index: str, confidence: Confidence | None) -> None:
    found = check_source(KERNEL.replace("WHICH", which).replace("INDEX", index), rules=[UncoalescedAccess])
    assert max((finding.confidence for finding in found), default=None) is confidence
