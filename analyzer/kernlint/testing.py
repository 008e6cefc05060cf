"""Running a rule on small sources: for tests of rules, in this package and in third-party packs.

    from kernlint.testing import check_example, examples_of

    @pytest.mark.parametrize(("rule", "example"), examples_of(RULES))
    def test_example(rule, example):
        assert check_example(rule, example) == []

`kernlint test PACK` does the same from the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernlint.engine.check import FileResult, Settings, check_file
from kernlint.engine.finish import finish
from kernlint.engine.packs import load_rules
from kernlint.finding import Confidence, Finding
from kernlint.rule import Example, Rule
from kernlint.source.decode import why_unreadable
from kernlint.source.file import CUDA, NoResolver, Resolver, SourceFile

_MARKER = re.compile(
    r"[ \t]*(?://|#)~[ \t]*(?P<codes>[A-Za-z][\w-]*(?:[ \t]*,[ \t]*[A-Za-z][\w-]*)*)[ \t]*$", re.MULTILINE
)


class LintError(Exception):
    """Something inside kernlint or a rule raised while a test source was checked."""


def check_source(
    source: str,
    language: str = CUDA,
    path: str = "",
    rules: Sequence[type[Rule]] | None = None,
    confidence: Confidence = Confidence.LOW,
    targets: tuple[str, ...] = ("sm_80",),
    versions: dict[str, str] | None = None,
    resolver: Resolver | None = None,
) -> list[Finding]:
    """Findings of `rules` (all installed ones by default) in a source text, sorted by position, suppressions applied.

    Findings less certain than `confidence` are left out.  Raises LintError when a rule or the reading of the source
    raises, which in a run over files would be an internal-error notification.
    """
    name = path or ("example.cu" if language == CUDA else "example.py")
    file = SourceFile(name, source.encode("utf-8", "surrogatepass"), language)
    active = tuple(load_rules() if rules is None else rules)
    settings = Settings(active, targets, versions or {})
    problem = why_unreadable(file.data)
    result = FileResult(name, problem=problem) if problem else check_file(file, settings, resolver or NoResolver())
    if result.notifications:
        raise LintError("; ".join(note.message for note in result.notifications))
    # Other rules matter only where a comment may name them.
    known = load_rules() if result.suppressions else active
    visible = finish(file, result, settings, known).visible
    return [finding for finding in visible if finding.confidence >= confidence]


def strip_markers(source: str) -> tuple[str, dict[int, tuple[str, ...]]]:
    """The source without its `//~ CODE, ...` and `#~ CODE, ...` markers, and the marks by 1-based line."""
    marks: dict[int, tuple[str, ...]] = {}
    lines = source.split("\n")
    for number, text in enumerate(lines, 1):
        match = _MARKER.search(text)
        if match is not None:
            marks[number] = tuple(code.strip() for code in match["codes"].split(","))
            lines[number - 1] = text[: match.start()]
    return "\n".join(lines), marks


def check_example(rule: type[Rule], example: Example) -> list[str]:
    """What is wrong with an example of a rule, as readable lines; none when it behaves as marked.

    The lines the rule flags must be exactly those marked with its code or name.  Marks for other rules are ignored.
    Rules about the linting itself (`check_file`) run together with all installed rules, others alone.
    `options` of the example may hold `targets`, `versions` and `path`.
    """
    source, marks = strip_markers(example.source)
    expected = sorted(line for line, codes in marks.items() if rule.code in codes or rule.name in codes)
    together = rule.check_file is not Rule.check_file
    others = [other for other in load_rules() if other.code != rule.code] if together else []
    try:
        findings = check_source(
            source,
            language=example.language,
            path=example.options.get("path", ""),
            rules=sorted([rule, *others], key=lambda r: r.code),
            confidence=example.confidence,
            targets=tuple(example.options.get("targets", ("sm_80",))),
            versions=dict(example.options.get("versions", {})),
        )
    except LintError as error:
        return [str(error)]
    file = SourceFile("", source.encode("utf-8", "surrogatepass"), example.language)
    found = {file.line_of(f.span.start): f.message for f in findings if f.code == rule.code}
    problems = [f"line {line}: expected {rule.code} `{rule.name}`" for line in expected if line not in found]
    problems += [f"line {line}: unexpected: {found[line]}" for line in sorted(found) if line not in expected]
    return problems


def example_problems(rule: type[Rule]) -> list[str]:
    """What is wrong with the examples of a rule as a whole: a flagged one must carry a mark, a silent one none."""
    problems: list[str] = []
    for kind, examples in (("flagged", rule.flagged), ("silent", rule.silent)):
        for example in examples:
            marks = strip_markers(example.source)[1].values()
            marked = any(rule.code in codes or rule.name in codes for codes in marks)
            if marked != (kind == "flagged"):
                problems.append(f"{kind} example {example.title!r} has {'a' if marked else 'no'} mark for {rule.code}")
    return problems


def examples_of(rules: Iterable[type[Rule]]) -> list[tuple[type[Rule], Example]]:
    """Every example of every rule, flagged ones first, for parametrised tests."""
    return [(rule, example) for rule in rules for example in (*rule.flagged, *rule.silent)]
