"""Styled lines, painted with rich's styles or left plain."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.finding import Severity

# A line is a sequence of (text, style) pairs; '' is no style.
Line = list[tuple[str, str]]

SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
LEVEL_STYLE = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
FRAME = "bold blue"
STRONG = "bold"
FAINT = "dim"
HELP = "bold green"


def paint(lines: Iterable[Line], color: bool) -> str:
    """The lines as text, each ended with LF.  rich is imported only when there is colour."""
    if not color:
        return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
    from rich.color import ColorSystem
    from rich.style import Style

    def painted(text: str, style: str) -> str:
        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD) if style and text else text

    return "".join("".join(painted(text, style) for text, style in line) + "\n" for line in lines)
