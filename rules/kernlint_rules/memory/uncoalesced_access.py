"""KL401 uncoalesced-access."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.coalescing import Request, worst_request
from kernlint.analysis.coalescing_chunks import fills_its_chunk, is_compile_time_chunk, takes_neighbours
from kernlint.analysis.coalescing_strides import (
    has_stride_of_unknown_size,
    is_gather,
    is_large,
    lane_stride,
    takes_neighbouring_words,
)
from kernlint.analysis.coalescing_tiles import LARGE, fastest_stride, has_companion, walks_contiguously
from kernlint.analysis.lanes_access import element_bytes
from kernlint.analysis.lanes_scenario import Scenario, scenarios
from kernlint.analysis.launch_limits import names_something_small
from kernlint.finding import Confidence, Finding
from kernlint.ir.kernel import Access, AccessKind, Framework, Kernel
from kernlint.ir.types import Space
from kernlint.rule import Context, Example, Rule
from kernlint.target.vendors import is_for_other_hardware

_CELLS = """\
__global__ void flux(const float* coef, float* out, int cells) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    float acc = 0.0f;
    for (int k = 0; k < 12; ++k) acc += coef[INDEX];MARK
    out[cell] = acc;
}
void launch(const float* c, float* o, int n) { flux<<<(n + 255) / 256, 256>>>(c, o, n); }
"""
_VECTOR_BYTES = 16  # one thread can take this much in a single vector access
_CLEAR_RATIO = 4.0


def _cells(index: str, mark: str = "") -> str:
    return _CELLS.replace("INDEX", index).replace("MARK", mark)


class UncoalescedAccess(Rule):
    code = "KL401"
    name = "uncoalesced-access"
    kind = "coalescing"
    frameworks = (Framework.CUDA, Framework.TRITON)
    summary = (
        "Neighbouring threads access global memory far apart, so that a warp moves many more sectors than it uses."
    )
    why = (
        "Memory is moved in sectors of 32 bytes. 32 lanes on neighbouring floats take 4 sectors; the same floats a row "
        "apart take 32, and seven eighths of the traffic is thrown away."
    )
    advice = (
        "Let the fastest thread axis walk the contiguous dimension, transpose through shared memory, or use vectors."
    )
    silent_when = (
        "the index comes from memory (a gather)",
        "few lanes take part",
        "the stride is a parameter that may be 1",
        "each thread takes at most 16 contiguous bytes (shown with `--pedantic`)",
    )
    references = (
        "https://github.com/MeteoSwiss-APN/dawn/pull/1154",
        "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory",
    )
    flagged = (
        Example("structure of twelve per thread", _cells("cell * 12 + k", "  //~ KL401")),
        Example("a row per thread", _cells("cell * cells + k", "  //~ KL401")),
    )
    silent = (
        Example("one array per component", _cells("k * cells + cell")),
        Example("the same word for all", _cells("k")),
        Example("stride handed in", _cells("cell * stride + k").replace("int cells", "int cells, int stride")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        reported: set[tuple[object, ...]] = set()
        for access in kernel.accesses:
            if access.space is not Space.GLOBAL or access.kind is AccessKind.ATOMIC or is_gather(access):
                continue
            made = self._cuda(kernel, access) if kernel.framework is Framework.CUDA else self._triton(kernel, access)
            place = (id(access.buffer), access.kind, made and made.message.split(":")[0])
            if made is not None and place not in reported:
                reported.add(place)
                yield made

    def _cuda(self, kernel: Kernel, access: Access) -> Finding | None:
        stride = lane_stride(access)
        if stride is not None and not is_large(stride, kernel):
            return None
        if has_stride_of_unknown_size(access.index, kernel) or takes_neighbouring_words(access, kernel):
            return None
        found: list[tuple[Request, Scenario]] = []
        for scenario in scenarios(kernel):
            request = worst_request(access, scenario)
            if request is None:
                return None
            found.append((request, scenario))
        request, scenario = min(found, key=lambda pair: pair[0].ratio)
        if request.ratio < 2 or request.sectors - request.minimum < 4:
            return None
        name = access.buffer.name if access.buffer is not None else "?"
        _, size_known = element_bytes(access, scenario)
        apart = "far"
        if request.stride is not None and stride is not None:
            apart = f"`{stride!r}` elements" if stride.constant is None else f"{stride.constant} elements"
        message = (
            f"Neighbouring threads access `{name}` {apart} apart: {request.sectors} sectors, not {request.minimum}. "
            f"That is {request.ratio:.0f} times the traffic of a coalesced request of {request.lanes} lanes."
        )
        sure = size_known and not any(atom.key in scenario.assumed for atom in access.index.deep_atoms)
        chunk = request.stride is not None and abs(request.stride) <= _VECTOR_BYTES
        shaped = scenario.block_known or not any(a.key in ("a:t1", "a:t2") for a in access.index.deep_atoms)
        apart_by = stride.constant if stride is not None else None
        small = chunk or (apart_by is not None and fills_its_chunk(access, kernel, apart_by))
        clear = sure and shaped and not small and request.ratio >= _CLEAR_RATIO and stride is not None
        uneven = request.stride is None or stride is None
        mild = request.ratio < _CLEAR_RATIO and (uneven or takes_neighbours(access, kernel))
        weak = is_compile_time_chunk(stride, kernel) or mild
        clear = clear and stride is not None and not names_something_small(stride)
        evidence = {"sectors": request.sectors, "minimum": request.minimum, "stride_bytes": request.stride}
        confidence = Confidence.LOW if weak else Confidence.HIGH if clear else Confidence.MEDIUM
        return self.finding(access.span, message, confidence=confidence, kernel=kernel.name, evidence=evidence)

    def _triton(self, kernel: Kernel, access: Access) -> Finding | None:
        stride = fastest_stride(access, kernel)
        if stride is None or stride.elements < 2:
            return None
        name = access.buffer.name if access.buffer is not None else "?"
        message = (
            f"Neighbouring lanes access `{name}` {stride.text} elements apart: no axis of the tile is contiguous. "
            f"A warp moves up to {min(stride.elements, 32)} times the sectors it uses."
        )
        if is_for_other_hardware(kernel.span.path):
            return None  # sectors and warps are NVIDIA's and AMD's
        if walks_contiguously(access, kernel):
            long = stride.elements == LARGE and not names_something_small(stride.text)
            confidence = Confidence.HIGH if long else Confidence.MEDIUM
        else:  # a column of something small, such as one number per row and head
            short = stride.elements == LARGE or has_companion(access, kernel, stride.elements)
            confidence = Confidence.LOW if short else Confidence.MEDIUM
        return self.finding(access.span, message, confidence=confidence, kernel=kernel.name)
