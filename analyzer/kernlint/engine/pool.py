"""Tasks over processes.  Results come back in task order, whatever the number of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernlint.engine.check import FileResult
from kernlint.engine.worker import Task, Worker, collector_off

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
    from kernlint.engine.processes import run_chunks

    return run_chunks(split(tasks, jobs), make, jobs, progress)


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
