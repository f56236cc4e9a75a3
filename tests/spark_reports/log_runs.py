"""Runs of logs in which every fate of a record occurs, told by hand."""

from collections.abc import Callable, Mapping

from checkers.history.sealed_run import Run
from tests.support.logs import LogRun


def lost() -> Run:
    """One of three acknowledged records is gone, and one that was only polled is gone as well."""
    log = LogRun()
    log.fault("partition", 1)
    for number in range(3):
        log.send(number, number, process=1)
    log.heal()
    log.send(3, None, process=1, outcome="info")
    log.poll((3, 3))
    log.send(4, 5, process=1)
    log.final((0, 0), (1, 1), (5, 4))
    return log.run()


def allowed() -> Run:
    """A power cut beyond min ISR - 1 takes an acknowledged record."""
    log = LogRun()
    log.send(0, 0)
    log.send(1, 1)
    log.fault("power-off", 1)
    log.fault("power-off", 2)
    log.heal()
    log.send(2, 2)
    log.final((0, 0), (2, 2))
    return log.run()


def lost_undecided() -> Run:
    """Two power cuts take a record, and nobody knows whether all were in sync in between."""
    log = LogRun()
    log.send(0, 0)
    log.send(1, 1)
    log.fault("power-off", 1)
    log.heal()
    log.fault("power-off", 2)
    log.heal()
    log.send(2, 2)
    log.final((0, 0), (2, 2))
    return log.run()


def undecided() -> Run:
    """Nobody read to the end, and no disk was collected."""
    log = LogRun()
    log.send(0, 0)
    log.send(1, 1)
    log.final((0, 0))
    return log.run()


def late() -> Run:
    """Not read at the end, but on the disks; one that timed out is there, another is not."""
    log = LogRun()
    log.send(0, 0)
    log.send(1, 1)
    log.send(2, None, outcome="info")
    log.send(3, None, outcome="info")
    log.final((0, 0))
    for node in (1, 2, 3):
        log.disk(node, (0, 0), (1, 1), (2, 2))
    return log.run()


def duplicated() -> Run:
    """One record at two offsets."""
    log = LogRun()
    log.send(0, 0)
    log.send(1, 1)
    log.final((0, 0), (1, 1), (2, 1))
    return log.run()


LOG_RUNS: Mapping[str, Callable[[], Run]] = {
    "lost": lost,
    "allowed": allowed,
    "lost-undecided": lost_undecided,
    "undecided": undecided,
    "late": late,
    "duplicated": duplicated,
}
