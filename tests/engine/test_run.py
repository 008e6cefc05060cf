"""The engine over files of a toy language: what is found, in which order, and what happens when something raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_toys import KernelFound

from kernlint.engine.run import Outcome

Lint = Callable[..., Outcome]
MARK = "triton\n"  # gets a file past the prefilter


def _places(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(f.span.path, f.code, f.message) for f in outcome.findings]


def test_every_kernel_of_every_file_is_checked_in_path_order(lint: Lint) -> None:
    Path("b.py").write_text(MARK + "kernel_b2 kernel_b1")
    Path("sub").mkdir()
    Path("sub/a.py").write_text(MARK + "kernel_a")
    outcome = lint()
    assert [m.split("`")[1] for _, _, m in _places(outcome)] == ["kernel_b2", "kernel_b1", "kernel_a"]
    assert (outcome.files, outcome.kernels) == (2, 3)


def test_a_rule_that_raises_is_one_notification_and_the_other_rules_go_on(lint: Lint) -> None:
    Path("a.py").write_text(MARK + "kernel_crash kernel_fine")
    outcome = lint()
    assert [(code, m.split(" ")[0]) for _, code, m in _places(outcome)] == [
        ("TOY1", "`kernel_crash`"),
        ("TOY2", "about"),
        ("TOY1", "`kernel_fine`"),
    ]
    (note,) = outcome.notifications
    assert (note.level, note.path, note.rule) == ("error", "a.py", "TOY2")
    assert "KeyError" in note.message
    assert "engine_toys" in note.message


def test_a_file_whose_lifting_raises_is_one_notification_and_the_other_files_go_on(lint: Lint) -> None:
    Path("a.py").write_text(MARK + "raise kernel_a")
    Path("b.py").write_text(MARK + "kernel_b")
    outcome = lint()
    assert [path for path, _, _ in _places(outcome)] == ["b.py"]
    (note,) = outcome.notifications
    assert (note.path, note.rule) == ("a.py", None)
    assert "odd input" in note.message


def test_launches_from_other_files_are_bound_and_the_kernel_is_checked_with_them(lint: Lint) -> None:
    Path("kernels.py").write_text(MARK + "kernel_k kernel_lonely")
    Path("one.py").write_text(MARK + "launch_k")
    Path("two.py").write_text(MARK + "launch_k launch_missing")
    assert [m for _, _, m in _places(lint())] == [
        "`kernel_k` is launched 2 times.",
        "`kernel_lonely` is launched 0 times.",
    ]


def test_an_ambiguous_launch_is_left_alone_unless_an_import_tells_which(lint: Lint) -> None:
    Path("first.py").write_text(MARK + "kernel_k")
    Path("second.py").write_text(MARK + "kernel_k")
    Path("launcher.py").write_text(MARK + "launch_k")
    assert [m for _, _, m in _places(lint())] == ["`kernel_k` is launched 0 times."] * 2
    Path("launcher.py").write_text(MARK + "import_second launch_k")
    assert _places(lint()) == [
        ("first.py", "TOY1", "`kernel_k` is launched 0 times."),
        ("second.py", "TOY1", "`kernel_k` is launched 1 times."),
    ]


def test_files_that_hold_nothing_relevant_are_not_even_lifted(lint: Lint) -> None:
    Path("plain.py").write_text("raise kernel_a\n")
    Path("host.cpp").write_text("raise kernel_a\n")
    outcome = lint()
    assert outcome.findings == ()
    assert outcome.notifications == ()
    assert outcome.files == 2


def test_suppressed_findings_are_kept_apart(lint: Lint) -> None:
    Path("a.py").write_text(MARK + "kernel_a  # kernlint: ignore[kernel-found]: a toy\nkernel_b\n")
    outcome = lint()
    assert [m.split("`")[1] for _, _, m in _places(outcome)] == ["kernel_b"]
    assert [f.message.split("`")[1] for f in outcome.suppressed] == ["kernel_a"]


def test_a_finding_made_elsewhere_is_suppressed_where_it_points(lint: Lint) -> None:
    """The second look, with foreign launches, obeys the comments of the kernel's file."""
    Path("kernels.py").write_text(MARK + "# kernlint: ignore-file[TOY1]: a toy\nkernel_k\n")
    Path("launcher.py").write_text(MARK + "launch_k")
    outcome = lint()
    assert outcome.findings == ()
    assert len(outcome.suppressed) == 1


@pytest.mark.parametrize("jobs", [2, 5])
def test_results_do_not_depend_on_the_number_of_processes(lint: Lint, jobs: int) -> None:
    for number in range(40):
        text = f"kernel_{number} kernel_maybe{number} launch_{(number + 1) % 40} {'kernel_crash' * (number % 7 == 0)}\n"
        Path(f"f{number}.py").write_text(MARK + text + "# filler\n" * 400)
    alone, together = lint(jobs=1), lint(jobs=jobs)
    assert alone == together
    assert len(alone.findings) == 92
    assert len(alone.notifications) == 6


def test_a_process_that_dies_costs_only_its_own_file(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from engine_toys import toy_lift

    def deadly(source, resolver=None):  # type: ignore[no-untyped-def]
        if b"die" in source.data:
            os._exit(1)
        return toy_lift(source, resolver)

    monkeypatch.setattr("kernlint.engine.check.lift_module", deadly)
    for number in range(12):
        Path(f"f{number:02}.py").write_text(
            MARK + ("die\n" if number == 5 else "") + f"kernel_{number}\n" + "#\n" * 4000
        )
    outcome = lint(jobs=2)
    assert [path for path, _, _ in _places(outcome)] == [f"f{number:02}.py" for number in range(12) if number != 5]
    (note,) = outcome.notifications
    assert (note.level, note.path) == ("error", "f05.py")
    assert "ended abruptly" in note.message


def test_a_file_that_takes_too_long_is_given_up(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    from engine_toys import toy_lift

    def slow(source, resolver=None):  # type: ignore[no-untyped-def]
        if b"slow" in source.data:
            with contextlib.suppress(Exception):  # a front end that turns every exception into something opaque
                time.sleep(60)
        return toy_lift(source, resolver)

    monkeypatch.setattr("kernlint.engine.check.lift_module", slow)
    monkeypatch.setattr("kernlint.engine.worker.DEADLINE", 0.05)
    Path("a.py").write_text(MARK + "slow kernel_a")
    Path("b.py").write_text(MARK + "kernel_b")

    class Overruns(KernelFound):
        code, name = "TOY3", "overruns"

        def check_file(self, facts):  # type: ignore[no-untyped-def]
            return (self.finding(span, what) for span, _, what in facts.overruns)

    outcome = lint(rules=(Overruns,))
    assert _places(outcome) == [("a.py", "TOY3", "reading it"), ("b.py", "TOY3", "`kernel_b` is launched 0 times.")]


def test_evidence_is_plain_data(lint: Lint) -> None:
    Path("a.py").write_text(MARK + "kernel_a")
    (finding,) = lint().findings
    assert finding.evidence == {"launches": [1, 2], "3": "Framework.TRITON"}
