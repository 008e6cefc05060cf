"""A rule's documentation, made from the rule class: for the terminal, as Markdown, as data.

`python -m kernlint.report.documentation FOLDER` writes the rule pages of the built-in rules.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kernlint.finding import Confidence
from kernlint.ledger import measured_precision, precision_text
from kernlint.report.paint import FAINT, HELP, SEVERITY_STYLE, STRONG, Line, paint
from kernlint.rule import Example, Rule

_MARKER = re.compile(r"\s*(?P<comment>//|#)~\s*(?P<codes>[A-Za-z][\w, -]*?)\s*$")
_FENCES = {"cuda": "cpp", "python": "python"}
_SHOWN_UNDER = {
    Confidence.HIGH: "by default",
    Confidence.MEDIUM: "with `--pedantic`",
    Confidence.LOW: "with `--audit`",
}


def paragraphs(text: str) -> list[str]:
    """A docstring-like text as paragraphs without its indentation and line breaks."""
    blocks = re.split(r"\n[ \t]*\n", textwrap.dedent(text).strip())
    return [" ".join(block.split()) for block in blocks if block.strip()]


def frameworks_text(rule: type[Rule]) -> str:
    """`cuda, triton`; `any` for a rule about no framework."""
    return ", ".join(framework.value for framework in rule.frameworks) or "any"


def example_source(example: Example) -> str:
    """The example with its expectations as plain comments: `// <- KL101`."""
    lines = textwrap.dedent(example.source).strip("\n").split("\n")
    return "\n".join(_MARKER.sub(r"  \g<comment> <- \g<codes>", line).rstrip() for line in lines)


# -- Markdown ----------------------------------------------------------------------------------------------------


def rule_markdown(rule: type[Rule]) -> str:
    """The rule's page.  Also the `help.markdown` of SARIF."""
    parts = [
        f"# {rule.code} {rule.name}",
        _table(rule),
        "## What it finds",
        *paragraphs(rule.summary),
        "## Why it matters",
        *paragraphs(rule.why),
        "## What to do",
        *paragraphs(rule.advice),
    ]
    if rule.silent_when:
        parts += ["## When it stays silent", _bullets(rule.silent_when)]
    parts += _examples("Flagged", rule.flagged) + _examples("Not flagged", rule.silent)
    parts += ["## Suppressing it", _suppression(rule)]
    if rule.references:
        parts += ["## References", _bullets(rule.references)]
    return "\n\n".join(parts) + "\n"


def _table(rule: type[Rule]) -> str:
    rows = [
        ("kind", f"`{rule.kind}`"),
        ("severity", rule.severity.label),
        ("frameworks", frameworks_text(rule)),
        ("shown", _SHOWN_UNDER[rule.default_confidence]),
        ("precision", precision_text(rule.code)),
        ("since", rule.since),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows)])


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def _examples(heading: str, examples: Sequence[Example]) -> list[str]:
    parts = [f"## {heading}"] if examples else []
    for example in examples:
        persona = "" if example.confidence is Confidence.HIGH else f" (shown {_SHOWN_UNDER[example.confidence]})"
        fence = _FENCES.get(example.language, "")
        parts += [f"{_sentence(example.title)}{persona}", f"```{fence}\n{example_source(example)}\n```"]
    return parts


def _sentence(text: str) -> str:
    """A title as a line of its own above the code."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _suppression(rule: type[Rule]) -> str:
    return (
        f"A comment `kernlint: ignore[{rule.name}]: reason` at the end of the line, or `ignore-next` instead of "
        "`ignore` on the line above. The reason is required."
    )


def index_markdown(rules: Sequence[type[Rule]]) -> str:
    """The list of all rules, linking to their pages."""
    lines = [
        "# Rules",
        "",
        "Made from the rule classes by `make rule-docs`. Precision is the share of triaged findings on public packages",
        "that were true (see `benchmarks/ledger.jsonl`).",
        "",
        "| code | name | kind | severity | frameworks | shown | precision |",
        "|---|---|---|---|---|---|---|",
    ]
    for rule in rules:
        lines.append(
            f"| [{rule.code}]({page_name(rule)}) | {rule.name} | {rule.kind} | {rule.severity.label} "
            f"| {frameworks_text(rule)} | {_SHOWN_UNDER[rule.default_confidence]} | {precision_text(rule.code)} |"
        )
    return "\n".join(lines) + "\n"


def page_name(rule: type[Rule]) -> str:
    return f"{rule.code}-{rule.name}.md"


# -- terminal and data -------------------------------------------------------------------------------------------


def rule_text(rule: type[Rule], *, color: bool = False, width: int = 80) -> str:
    """The rule for a terminal, wrapped to `width` cells."""
    facts = [
        rule.severity.label,
        f"kind {rule.kind}",
        frameworks_text(rule),
        f"precision {precision_text(rule.code)}",
        f"shown {_SHOWN_UNDER[rule.default_confidence].replace('`', '')}",
    ]
    lines: list[Line] = [
        [(rule.code, SEVERITY_STYLE[rule.severity]), (f" {rule.name}", STRONG)],
        [(", ".join(facts), FAINT)],
    ]
    lines += _section("What it finds", paragraphs(rule.summary), width)
    lines += _section("Why it matters", paragraphs(rule.why), width)
    lines += _section("What to do", paragraphs(rule.advice), width)
    if rule.silent_when:
        lines += _section("When it stays silent", ["- " + " ".join(item.split()) for item in rule.silent_when], width)
    for heading, examples in (("Flagged", rule.flagged), ("Not flagged", rule.silent)):
        for example in examples:
            lines += [[], [(f"{heading}: ", HELP), (_sentence(example.title), STRONG)]]
            lines += [[("    " + line, "")] for line in example_source(example).split("\n")]
    if rule.references:
        lines += _section("References", ["- " + " ".join(item.split()) for item in rule.references], width)
    return paint(lines, color)


def _section(heading: str, texts: Sequence[str], width: int) -> list[Line]:
    lines: list[Line] = [[], [(heading, STRONG)]]
    for number, text in enumerate(texts):
        if number and not text.startswith("- "):
            lines.append([])
        hanging = "    " if text.startswith("- ") else "  "
        wrapped = textwrap.wrap(
            text, max(30, width), initial_indent="  ", subsequent_indent=hanging, break_on_hyphens=False
        )
        lines += [[(line, "")] for line in wrapped]
    return lines


def rule_data(rule: type[Rule]) -> dict[str, Any]:
    """The rule as plain data, for `explain --format json` and `rules --json`."""
    measured = measured_precision().get(rule.code)
    return {
        "code": rule.code,
        "name": rule.name,
        "kind": rule.kind,
        "severity": rule.severity.label,
        "confidence": rule.default_confidence.label,
        "frameworks": [framework.value for framework in rule.frameworks],
        "precision": round(measured.value, 4) if measured else None,
        "sampled": measured.sampled if measured else 0,
        "since": rule.since,
        "summary": paragraphs(rule.summary),
        "why": paragraphs(rule.why),
        "advice": paragraphs(rule.advice),
        "silent_when": [" ".join(item.split()) for item in rule.silent_when],
        "references": [" ".join(item.split()) for item in rule.references],
        "flagged": [_example_data(example) for example in rule.flagged],
        "silent": [_example_data(example) for example in rule.silent],
    }


def _example_data(example: Example) -> dict[str, Any]:
    return {
        "title": " ".join(example.title.split()),
        "language": example.language,
        "confidence": example.confidence.label,
        "source": example_source(example),
    }


# -- pages -------------------------------------------------------------------------------------------------------


def rule_pages(rules: Sequence[type[Rule]]) -> dict[str, str]:
    """File name -> text of every page, the index included."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    return {"README.md": index_markdown(ordered)} | {page_name(rule): rule_markdown(rule) for rule in ordered}


def write_pages(rules: Sequence[type[Rule]], folder: Path) -> list[str]:
    """Write the pages, remove pages of rules that are gone, and say which files changed."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = rule_pages(rules)
    changed = []
    for path in sorted(folder.glob("*.md")):
        if path.name not in pages:
            path.unlink()
            changed.append(path.name)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(name)
    return sorted(changed)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write the rule pages of the built-in rules.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/rules"))
    folder: Path = parser.parse_args(arguments).folder
    from kernlint_rules import RULES

    changed = write_pages(RULES, folder)
    print(f"{len(changed)} pages changed in {folder}")


if __name__ == "__main__":
    main()
