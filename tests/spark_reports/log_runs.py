"""Runs of logs in which every fate of a record occurs, told by hand."""

from collections.abc import Callable, Mapping

from checkers.history.sealed_run import Run
from tests.support.logs import LogStory


def lost() -> Run:
    """One of three acknowledged records is gone, and one that was only polled is gone as well."""
    story = LogStory()
    story.fault("partition", 1)
    for number in range(3):
        story.send(number, number, process=1)
    story.heal()
    story.send(3, None, process=1, outcome="info")
    story.poll((3, 3))
    story.send(4, 5, process=1)
    story.final((0, 0), (1, 1), (5, 4))
    return story.run()


def allowed() -> Run:
    """A power cut beyond min ISR - 1 takes an acknowledged record."""
    story = LogStory()
    story.send(0, 0)
    story.send(1, 1)
    story.fault("power-off", 1)
    story.fault("power-off", 2)
    story.heal()
    story.send(2, 2)
    story.final((0, 0), (2, 2))
    return story.run()


def lost_undecided() -> Run:
    """Two power cuts take a record, and nobody knows whether all were in sync in between."""
    story = LogStory()
    story.send(0, 0)
    story.send(1, 1)
    story.fault("power-off", 1)
    story.heal()
    story.fault("power-off", 2)
    story.heal()
    story.send(2, 2)
    story.final((0, 0), (2, 2))
    return story.run()


def undecided() -> Run:
    """Nobody read to the end, and no disk was collected."""
    story = LogStory()
    story.send(0, 0)
    story.send(1, 1)
    story.final((0, 0))
    return story.run()


def late() -> Run:
    """Not read at the end, but on the disks; one that timed out is there, another is not."""
    story = LogStory()
    story.send(0, 0)
    story.send(1, 1)
    story.send(2, None, outcome="info")
    story.send(3, None, outcome="info")
    story.final((0, 0))
    for node in (1, 2, 3):
        story.disk(node, (0, 0), (1, 1), (2, 2))
    return story.run()


def duplicated() -> Run:
    """One record at two offsets."""
    story = LogStory()
    story.send(0, 0)
    story.send(1, 1)
    story.final((0, 0), (1, 1), (2, 1))
    return story.run()


LOG_RUNS: Mapping[str, Callable[[], Run]] = {
    "lost": lost,
    "allowed": allowed,
    "lost-undecided": lost_undecided,
    "undecided": undecided,
    "late": late,
    "duplicated": duplicated,
}
