"""One file: lift it, run the rules over it, keep going when something raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from kernlint.engine.release import release
from kernlint.finding import Finding
from kernlint.ir.kernel import Kernel, Launch, Module
from kernlint.ir.types import Span
from kernlint.lift import lift_module
from kernlint.records import dataclass
from kernlint.report_data import Notification
from kernlint.rule import Context, Rule
from kernlint.source.file import Resolver, SourceFile
from kernlint.source.project import Lookup
from kernlint.source.suppressions import Suppression, find_suppressions

MAX_FINDINGS_PER_RULE_AND_FILE = 500
# How `Kernel.incomplete` begins when a front end raised inside a kernel and went on with the next one.
_FAILED = "internal error"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a rule may depend on.  `rules` holds classes, one per code, sorted by code."""

    rules: tuple[type[Rule], ...]
    targets: tuple[str, ...] = ("sm_80",)
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnboundLaunch:
    """A launch whose kernel is defined in another file: the kernel's name, the import that brought it in, and the place
    that import was followed to, where it could be ('' and -1 where not)."""

    kernel: str
    import_from: tuple[str, str] | None
    path: str = ""
    offset: int = -1


def unbound(launch: Launch) -> UnboundLaunch:
    """What is known about the kernel a launch means.  Front ends put the place into the launch's attributes."""
    path, offset = launch.attrs.get("kernel_path"), launch.attrs.get("kernel_offset")
    return UnboundLaunch(
        launch.kernel_name,
        launch.import_from,
        path if isinstance(path, str) else "",
        offset if isinstance(offset, int) else -1,
    )


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file gave: findings of all rules at every confidence, and what the later stages need.  Plain data."""

    path: str
    findings: tuple[Finding, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    notifications: tuple[Notification, ...] = ()
    overruns: tuple[tuple[Span, str, str], ...] = ()
    problem: str = ""  # why it could not be read
    kernels: tuple[str, ...] = ()
    unbound: tuple[UnboundLaunch, ...] = ()
    dependencies: tuple[str, ...] = ()
    lookups: tuple[Lookup, ...] = ()  # what was asked about other files


class DeadlineExceededError(BaseException):
    """Raised into the analysis of a file that takes too long.  No `Exception`, so that nothing takes it for opaque."""


def check_file(source: SourceFile, settings: Settings, resolver: Resolver | None = None) -> FileResult:
    """Lift and check one file by itself."""
    suppressions = find_suppressions(source)
    try:
        module = lift_module(source, resolver)
    except DeadlineExceededError:
        return FileResult(source.path, suppressions=suppressions, overruns=(_whole_file(source, "reading it"),))
    except Exception as error:
        note = internal_error("reading this file", error, source.path, None)
        return FileResult(source.path, suppressions=suppressions, notifications=(note,))
    result = check_module(source, module, settings, suppressions)
    release(module)
    return result


def check_module(
    source: SourceFile, module: Module, settings: Settings, suppressions: tuple[Suppression, ...] = ()
) -> FileResult:
    """Run every rule over a lifted module.  A rule that raises costs one notification; the others go on."""
    findings: list[Finding] = []
    notifications: list[Notification] = []
    overruns: list[tuple[Span, str, str]] = []
    for kernel in module.kernels:
        if kernel.incomplete.startswith(_FAILED):
            text = f"{kernel.incomplete} while reading kernel `{kernel.name}`"
            notifications.append(Notification("error", text, source.path))
        elif kernel.incomplete:
            overruns.append((kernel.span, kernel.name, kernel.incomplete))
    context = Context(module=module, targets=settings.targets, versions=settings.versions)
    launches = every_launch(module)
    for rule_class in settings.rules:
        collected: list[Finding] = []
        try:
            for finding in _findings(rule_class, module, launches, context):
                collected.append(replace(finding, evidence=plain(finding.evidence)))
                if len(collected) >= MAX_FINDINGS_PER_RULE_AND_FILE:
                    overruns.append(_whole_file(source, f"`{rule_class.name}` after {len(collected)} findings"))
                    break
        except DeadlineExceededError:
            overruns.append(_whole_file(source, f"`{rule_class.name}` and the rules after it"))
            break
        except (Exception, SystemExit) as error:
            notifications.append(internal_error("checking this file", error, source.path, rule_class.code))
        findings.extend(collected)
    return FileResult(
        path=source.path,
        findings=sorted_findings(findings),
        suppressions=suppressions,
        notifications=tuple(notifications),
        overruns=tuple(overruns),
        kernels=tuple(kernel.name for kernel in module.kernels),
        unbound=tuple(unbound(launch) for launch in launches if launch.kernel is None),
        dependencies=tuple(sorted(set(module.dependencies))),
    )


def every_launch(module: Module) -> list[Launch]:
    """The module's own launches and those other files make of its kernels, each once."""
    found: dict[int, Launch] = {id(launch): launch for launch in module.launches}
    for kernel in module.kernels:
        found.update((id(launch), launch) for launch in kernel.launches)
    return list(found.values())


def _findings(
    rule_class: type[Rule], module: Module, launches: Sequence[Launch], context: Context
) -> Iterator[Finding]:
    """Findings of one rule.  Hooks a rule does not override are not called."""
    rule = rule_class()
    if _overrides(rule_class, "check_kernel"):
        for kernel in module.kernels:
            if not rule.frameworks or kernel.framework in rule.frameworks:
                yield from _named(rule.check_kernel(kernel, context), kernel)
    if _overrides(rule_class, "check_launch"):
        for launch in launches:
            yield from rule.check_launch(launch, context)
    if _overrides(rule_class, "check_module"):
        yield from rule.check_module(module, context)


def _named(findings: Iterable[Finding], kernel: Kernel) -> Iterator[Finding]:
    """Findings with the kernel's name filled in where the rule left it out."""
    for finding in findings:
        yield finding if finding.kernel else replace(finding, kernel=kernel.name)


def _overrides(rule_class: type[Rule], hook: str) -> bool:
    own: Callable[..., object] = getattr(rule_class, hook)
    return own is not getattr(Rule, hook)


def _whole_file(source: SourceFile, given_up: str) -> tuple[Span, str, str]:
    return Span(source.path, 0, 0), "", given_up


def internal_error(doing: str, error: BaseException, path: str | None, code: str | None) -> Notification:
    """One line about an exception: its type, its text, and the module and line that raised it."""
    where = ""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        where = f" at {trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
    subject = f"`{code}`" if code else "kernlint"
    text = f"{type(error).__name__}: {error}"[:300]
    return Notification("error", f"internal error: {subject} failed while {doing} ({text}{where})", path, code)


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By path, position and code, each once.  Byte order is line and column order."""
    ordered: dict[tuple[str, int, int, str, str], Finding] = {}
    for finding in findings:
        ordered.setdefault(_order(finding), finding)
    return tuple(ordered[key] for key in sorted(ordered))


def _order(finding: Finding) -> tuple[str, int, int, str, str]:
    return finding.span.path, finding.span.start, finding.span.end, finding.code, finding.message


def plain(value: Any) -> Any:
    """Evidence as JSON can hold it, so that a kept result equals a fresh one: tuples become lists, keys strings, and
    what is no plain data its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)
