"""Tasks over processes.  Results come back in task order, whatever the number of processes."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext

from kernlint.engine.check import FileResult
from kernlint.engine.worker import Task, Worker, collector_off, run_chunk, start
from kernlint.report_data import Notification

# Below this many source bytes starting processes costs more than it saves.
_WORTH_PROCESSES = 60_000
_MAX_CHUNK_FILES = 32
_CHUNK_BYTES = (32_000, 400_000)

Progress = Callable[[int], None]


def run_tasks(tasks: Sequence[Task], make: Callable[[], Worker], jobs: int, progress: Progress) -> list[FileResult]:
    """The result of every task, in order.  `progress` is told how many more tasks are done."""
    size = sum(task.size for task in tasks)
    if jobs <= 1 or len(tasks) < 3 or size < _WORTH_PROCESSES:
        return list(_in_process(tasks, make(), progress))
    chunks = split(tasks, jobs)
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


def split(tasks: Sequence[Task], jobs: int) -> list[tuple[Task, ...]]:
    """Consecutive tasks in chunks of similar size in bytes, several per process."""
    total = sum(task.size for task in tasks)
    limit = min(max(total // (jobs * 8), _CHUNK_BYTES[0]), _CHUNK_BYTES[1])
    chunks: list[tuple[Task, ...]] = []
    current: list[Task] = []
    size = 0
    for task in tasks:
        if current and (size + task.size > limit or len(current) >= _MAX_CHUNK_FILES):
            chunks.append(tuple(current))
            current, size = [], 0
        current.append(task)
        size += task.size
    if current:
        chunks.append(tuple(current))
    return chunks


def _in_process(tasks: Sequence[Task], worker: Worker, progress: Progress) -> Iterator[FileResult]:
    with collector_off():
        for task in tasks:
            yield worker.run(task)
            progress(1)


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
