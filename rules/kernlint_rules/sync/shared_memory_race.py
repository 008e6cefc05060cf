"""KL201 shared-memory-race."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.sharing import Race, races_by_write
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_ROWS = """\
__global__ void normalise(const float* x, float* y, int rows, int n) {
    __shared__ float part[128];
    int t = threadIdx.x;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float s = 0.0f;
        for (int c = t; c < n; c += 128) s += x[r * n + c];
        part[t] = s;MARK
        __syncthreads();
        for (int half = 64; half > 0; half >>= 1) {
            if (t < half) part[t] += part[t + half];INNER
            BODY
        }
        for (int c = t; c < n; c += 128) y[r * n + c] = x[r * n + c] / part[0];
        END
    }
}
void launch(const float* x, float* y, int rows, int n) { normalise<<<64, 128>>>(x, y, rows, n); }
"""
_SHIFT = """\
__global__ void shift(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];MARK
    SYNC
    y[t] = s[READ];
}
void launch(const float* x, float* y) { shift<<<1, 64>>>(x, y); }
"""


def _rows(mark: str = "", inner: str = "", body: str = "__syncthreads();", end: str = "__syncthreads();") -> str:
    return _ROWS.replace("MARK", mark).replace("INNER", inner).replace("BODY", body).replace("END", end)


def _shift(read: str, sync: str, mark: str = "") -> str:
    return _SHIFT.replace("READ", read).replace("SYNC", sync).replace("MARK", mark)


class SharedMemoryRace(Rule):
    code = "KL201"
    name = "shared-memory-race"
    kind = "race"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "Two threads of a block touch one shared element, one of them writes, and no barrier stands between."
    why = (
        "Warps of a block run in any order. Without `__syncthreads()` the reader sees the old or the new value, "
        "depending on scheduling; at the end of a loop body, a fast warp already writes the next round's values."
    )
    advice = "Put `__syncthreads()` between the two accesses; in a loop, also before the next iteration's write."
    silent_when = (
        "only one and the same thread touches the element",
        "both are atomics",
        "lanes of one warp are ordered by `__syncwarp`",
        "two buffers take turns, so that neighbouring iterations never meet",
        "the index depends on data or was not understood",
    )
    references = ("https://github.com/NVIDIA/cuml/pull/6578",)
    flagged = (
        Example("next row's write overtakes this row's reads", _rows(mark="  //~ KL201", end="")),
        Example("no barrier between the steps of a reduction", _rows(inner="  //~ KL201", body="")),
        Example("neighbour read right after the write", _shift("63 - t", "", "  //~ KL201")),
    )
    silent = (
        Example("barriers everywhere they are needed", _rows()),
        Example("each thread reads its own element", _shift("t", "")),
        Example("a barrier between", _shift("63 - t", "__syncthreads();")),
        Example("lanes of one warp, ordered", _shift("t ^ 1", "__syncwarp();")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is Framework.CUDA:
            # Code that relies on warps running in step is wrong as a whole: say so once per array, at the write that
            # meets most others.
            in_warps: dict[int, list[Race]] = {}
            for races in races_by_write(kernel):
                race = max(races, key=_confidence)
                if not race.within_warp:
                    yield self._report(kernel, race, _confidence(race))
                elif len(races) > len(in_warps.get(id(race.write.buffer), ())):
                    in_warps[id(race.write.buffer)] = races
            for races in in_warps.values():
                race = max(races, key=_confidence)
                yield self._report(kernel, race, _confidence(race))

    def _report(self, kernel: Kernel, race: Race, confidence: Confidence) -> Finding:
        write, other, show = race.write, race.other, race.scenario.block.show
        name = write.buffer.name if write.buffer is not None else "?"
        threads = [show(race.later_thread), show(race.earlier_thread)]
        if write is not race.pair.later:
            threads.reverse()
        loop = race.pair.carried
        over = f" over `{loop.variable}`" if loop is not None and loop.variable else ""
        turn = f" in the next turn of the loop{over}" if loop is not None else ""
        message = (
            f"Threads race on `{name}`: no barrier between two accesses. Thread {threads[0]} writes element "
            f"{race.element}{turn}, while thread {threads[1]} {'writes it too' if other.writes else 'reads it'}."
        )
        message += " Only lanes of one warp meet, so `__syncwarp()` is enough." if race.within_warp else ""
        message += " Both store the same value." if race.same_value else ""
        related = () if other is write else [(other.span, f"the other access to `{name}`")]
        block = race.scenario.block
        evidence = {"threads": threads, "element": race.element, "block": [block.x, block.y, block.z]}
        return self.finding(
            write.span, message, related=related, confidence=confidence, kernel=kernel.name, evidence=evidence
        )


def _confidence(race: Race) -> Confidence:
    if race.same_value or race.assumes_data or race.across_arrays:
        return Confidence.LOW
    if race.certain or (race.for_any_block and not race.within_warp):
        return Confidence.HIGH
    return Confidence.LOW if race.within_warp or race.scenario.launch is None else Confidence.MEDIUM
