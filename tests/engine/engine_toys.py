"""A toy language for tests of the engine alone: every word that starts with `kernel_` is a kernel, `launch_NAME` a
launch of an imported `kernel_NAME`; `raise` makes lifting raise, and `import_MODULE` asks the resolver for MODULE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlint.finding import Confidence, Finding
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework, Kernel, Module
from kernlint.ir.types import Span
from kernlint.rule import Context, Example, Rule
from kernlint.source.file import Resolver, SourceFile

_WORD = re.compile(rb"\b(kernel|launch|import)_(\w+)|\braise\b")


def toy_lift(source: SourceFile, resolver: Resolver | None = None) -> Module:
    module = Module(source.path, source.language)
    for match in _WORD.finditer(source.data):
        span = Span(source.path, *match.span())
        if match.group() == b"raise":
            raise RuntimeError("odd input")
        name = match.group().decode()
        if match[1] == b"kernel":
            module.kernels.append(Kernel(name, Framework.TRITON, span, span, ()))
        elif match[1] == b"launch":
            kernel = f"kernel_{match[2].decode()}"
            module.launches.append(Launch(kernel, span, None, import_from=("other", kernel)))
        elif resolver is not None:
            resolver.python_module(match[2].decode(), 0, source.path)
    return module


def toy_bind(launch: Launch, kernel: Kernel) -> None:
    launch.kernel = kernel
    kernel.launches.append(launch)


class KernelFound(Rule):
    """Flags every kernel; those called `kernel_maybe...` with low confidence; says how often it is launched."""

    code, name, kind = "TOY1", "kernel-found", "toy"
    summary = why = advice = "toy"
    flagged = silent = (Example("toy", ""),)

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        maybe = kernel.name.startswith("kernel_maybe")
        yield self.finding(
            kernel.span,
            f"`{kernel.name}` is launched {len(kernel.launches)} times.",
            confidence=Confidence.LOW if maybe else Confidence.HIGH,
            evidence={"launches": (1, 2), 3: kernel.framework},  # type: ignore[dict-item]
        )


class RaisesOnCrash(Rule):
    """Raises for a kernel called `kernel_crash`, after one finding."""

    code, name, kind = "TOY2", "raises-on-crash", "toy"
    summary = why = advice = "toy"
    flagged = silent = (Example("toy", ""),)

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.name == "kernel_crash":
            yield self.finding(kernel.span, "about to raise.")
            raise KeyError(kernel.name)


TOY_RULES: tuple[type[Rule], ...] = (KernelFound, RaisesOnCrash)
