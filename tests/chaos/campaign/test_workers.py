"""Seeds over processes that answer, fail, die and hang."""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator

from chaos.campaign import conduct
from chaos.campaign.conduct import Died, each_of

LIMIT_S = 10.0  # in which the others answer, on a starved machine too, once they have started


def answer(seed: int) -> str:
    if seed == 3:
        os._exit(42)
    if seed == 5:
        threading.Event().wait()  # hangs
    return f"{seed} by {os.getpid()}"


def test_one_that_dies_and_one_that_hangs_cost_their_seeds_and_nothing_else() -> None:
    found = dict(each_of(answer, iter(range(1, 8)), 2, limit_s=LIMIT_S))
    assert sorted(found) == list(range(1, 8))
    assert found[3] == Died(why="its process died with exit code 42")
    assert found[5] == Died(why=f"no end within {LIMIT_S:g} s")
    rest = [found[seed] for seed in (1, 2, 4, 6, 7)]
    assert all(isinstance(said, str) for said in rest)
    assert str(os.getpid()) not in {str(said).split(" by ")[1] for said in rest}


def test_the_time_of_a_seed_is_counted_from_when_its_process_has_started() -> None:
    """However long the start took; a process that ended before is heard of at once."""
    ours, theirs = multiprocessing.Pipe()
    long_ago = time.monotonic() - 30
    process = multiprocessing.get_context("spawn").Process(target=answer)  # is not started
    worker: conduct._Worker[int, str] = conduct._Worker(process, ours, 1, long_ago)
    assert conduct._heard_of([worker], limit_s=5.0) == []
    theirs.send(conduct._STARTED)
    assert conduct._heard_of([worker], limit_s=5.0) == []
    assert worker.since > long_ago
    worker.since = long_ago
    assert conduct._heard_of([worker], limit_s=5.0) == [worker]
    other: conduct._Worker[int, str] = conduct._Worker(
        process, multiprocessing.Pipe()[0], 2, time.monotonic()
    )
    assert conduct._heard_of([other], limit_s=5.0) == [other]


def test_who_leaves_early_leaves_nobody_behind() -> None:
    taken = []
    seeds = iter(range(100, 200))
    for seed, _ in each_of(answer, seeds, 1):
        taken.append(seed)
        break
    assert taken == [100]
    assert next(seeds) == 101, "seeds are taken when somebody is free"


def test_no_process_is_given_more_than_so_many_seeds() -> None:
    found = dict(each_of(answer, iter(range(10, 15)), 1, seeds_a_process=2))
    by = [str(found[seed]).split(" by ")[1] for seed in range(10, 15)]
    assert by[0] == by[1] != by[2] == by[3] != by[4]
    assert len({*by}) == 3


def test_a_seed_that_is_under_way_is_not_waited_for_when_all_is_stopped() -> None:
    stopped = threading.Event()

    def seeds() -> Iterator[int]:
        yield 1
        stopped.set()
        yield 5  # hangs

    found = dict(each_of(answer, seeds(), 1, is_stopped=stopped.is_set))
    assert list(found) == [1]
