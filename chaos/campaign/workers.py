"""Seeds spread over processes. One that dies, or never ends, costs its seed and nothing else."""

import multiprocessing
import multiprocessing.connection
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Generic, TypeVar

LIMIT_S = 900.0  # of the machine's time; a run that takes longer hangs
# What a run leaves in the heap of its process is 0.9 MB, so some gigabytes in a night.
SEEDS_A_PROCESS = 250

_POLL_S = 1.0
_SPAWNED = multiprocessing.get_context("spawn")  # a fork would copy whatever threads hold

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A process ended without an answer."""

    why: str


@dataclass(slots=True)
class _Worker(Generic[T]):
    process: SpawnProcess
    connection: Connection
    seed: int
    since: float
    begun: int = 0  # seeds


def each_of(
    function: Callable[[int], T],
    seeds: Iterator[int],
    jobs: int,
    limit_s: float = LIMIT_S,
    seeds_a_process: int = SEEDS_A_PROCESS,
) -> Iterator[tuple[int, T | Died]]:
    """What `function` says of each seed, as it comes; seeds are taken when a worker is free.

    `function` is sent to the processes, so it has to be picklable. Leaving the iteration ends them.
    """
    workers: list[_Worker[T]] = []
    try:
        for seed in seeds:
            workers.append(_begin(function, seed))
            if len(workers) == jobs:
                break
        while workers:
            for worker in _heard_of(workers, limit_s):
                answer = _answer(worker, limit_s)
                yield worker.seed, answer
                following = next(seeds, None)
                is_worn = worker.begun >= seeds_a_process
                if following is None or is_worn or isinstance(answer, Died):
                    workers.remove(worker)
                    _end(worker)
                    if following is not None:
                        workers.append(_begin(function, following))
                else:
                    _hand(worker, following)
    finally:
        for worker in workers:
            _end(worker)


def _begin(function: Callable[[int], T], seed: int) -> "_Worker[T]":
    ours, theirs = _SPAWNED.Pipe()
    process = _SPAWNED.Process(target=_work, args=(function, theirs), daemon=True)
    process.start()
    theirs.close()
    worker: _Worker[T] = _Worker(process, ours, seed, time.monotonic())
    _hand(worker, seed)
    return worker


def _work(function: Callable[[int], T], connection: Connection) -> None:
    """In a process of its own, until it is told to end."""
    try:
        while True:
            connection.send(function(connection.recv()))
    except (EOFError, KeyboardInterrupt):
        pass  # the campaign is over


def _hand(worker: "_Worker[T]", seed: int) -> None:
    worker.seed, worker.since = seed, time.monotonic()
    worker.begun += 1
    worker.connection.send(seed)


def _heard_of(workers: "list[_Worker[T]]", limit_s: float) -> "list[_Worker[T]]":
    """Those that answered, died or took too long; waits for a while."""
    ready = multiprocessing.connection.wait([each.connection for each in workers], _POLL_S)
    late = time.monotonic() - limit_s
    return [each for each in workers if each.connection in ready or each.since < late]


def _answer(worker: "_Worker[T]", limit_s: float) -> T | Died:
    if not worker.connection.poll():
        return Died(why=f"no end within {limit_s:g} s")
    try:
        answer: T = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return Died(why=f"its process died with exit code {worker.process.exitcode}")
    return answer


def _end(worker: "_Worker[T]") -> None:
    worker.connection.close()
    worker.process.kill()  # amid whatever it does: nothing of it outlives it but scratch
    worker.process.join()
    worker.process.close()
