"""Chunks of tasks over worker processes.  Apart from `pool`, since the modules for processes are slow to import."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext

from kernlint.engine.check import FileResult
from kernlint.engine.worker import Task, Worker, run_chunk, start
from kernlint.report_data import Notification

Progress = Callable[[int], None]


def run_chunks(
    chunks: Sequence[tuple[Task, ...]], make: Callable[[], Worker], jobs: int, progress: Progress
) -> list[FileResult]:
    """The result of every task of every chunk, in order.  A file that takes its process down costs only itself."""
    done: dict[int, list[FileResult]] = {}
    with _pool(make, min(jobs, len(chunks))) as pool:
        futures = {pool.submit(run_chunk, chunk): number for number, chunk in enumerate(chunks)}
        _gather(futures, done, lambda number: progress(len(chunks[number])))
    for number, chunk in enumerate(chunks):
        if number not in done:
            # Some file in it, or in a chunk that ran at the same time, took its process down: find out which.
            done[number] = [_alone(task, make) for task in chunk]
            progress(len(chunk))
    return [result for number in range(len(chunks)) for result in done[number]]


def _pool(make: Callable[[], Worker], jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=jobs, mp_context=_context(), initializer=start, initargs=(make,))


def _context() -> BaseContext:
    """Forking shares what is loaded already; elsewhere (macOS, Windows) it is unsafe or missing."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _gather(
    futures: dict[Future[list[FileResult]], int], done: dict[int, list[FileResult]], report: Callable[[int], None]
) -> None:
    """Collect what completes; chunks lost with a broken pool are simply left out."""
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in finished:
            try:
                done[futures[future]] = future.result()
            except BrokenProcessPool:
                continue
            report(futures[future])


def _alone(task: Task, make: Callable[[], Worker]) -> FileResult:
    """One task in a process of its own, so that only its own file can take that down."""
    try:
        with _pool(make, 1) as pool:
            return pool.submit(run_chunk, (task,)).result()[0]
    except BrokenProcessPool:
        text = "internal error: the process that read this file ended abruptly (out of memory, or a fault in a parser)"
        return FileResult(task.path, notifications=(Notification("error", text, task.path),))
