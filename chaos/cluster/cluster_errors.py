"""What can go wrong with a cluster, for its operator."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPart:
    """Something of the harness' own beside the nodes does not work, and none of them is to blame.

    `since_ns`: of the machine's monotonic clock, or of a simulated run's; from then on nothing
    that was seen of the nodes accuses any of them.
    """

    part: str  # the proxy, the disk agent, the Docker engine, ...
    what: str  # what became of it
    since_ns: int
    mend: str  # the next command

    def __str__(self) -> str:
        return f"{self.part} {self.what}; {self.mend}"


class MachineryError(Exception):
    """A part of the harness' own died, was stopped or was starved while a run went on."""

    def __init__(self, failed: FailedPart) -> None:
        super().__init__(str(failed))
        self.failed = failed


class ClusterError(Exception):
    """The cluster could not do what was asked: what, where, and the next command."""


class DiedAtStartError(ClusterError):
    """A node that was started ended by itself before it answered: no slow machine excuses that."""


class NeverReadyError(ClusterError):
    """Nodes run, and do not come to serve within a bounded time: a slow machine may excuse it."""


class StepError(ClusterError):
    """A simulated node does not end a step, or eats the machine's memory in it: that is its own
    doing, and no machine is slow in virtual time."""
