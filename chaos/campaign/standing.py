"""The roles of nodes at a moment of a run, and the quorum's state. Pure, from sealed tables."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from checkers.evidence.faults import faults_of
from checkers.evidence.lives import NodeEvent, TraceColumns
from checkers.evidence.voter_history import planned_voters
from checkers.history.sealed_run import Run

_TOLD = ("n.start", "n.stop", "q.state")


class Role(StrEnum):
    LEADER = "leader"
    FOLLOWER = "follower"
    CANDIDATE = "candidate"  # or unattached, or resigned: up, and neither of the two
    DOWN = "down"  # or paused


class Quorum(StrEnum):
    """How things stood between the voters, as they themselves saw it."""

    LED = "led"  # one leads, and a majority follows it
    SPLIT = "split"  # several lead, or one without a majority
    ELECTING = "electing"  # a majority is up, and no node leads
    SHORT = "short"  # no majority is up


class _Told(NamedTuple):
    at: int
    event: NodeEvent


class Standing:
    """Answers for any moment of one run; ns since its start."""

    def __init__(self, run: Run) -> None:
        self._nodes = planned_voters(run.info)
        self._told: dict[int, list[_Told]] = defaultdict(list)
        for life in TraceColumns(run.tables["node_events"]).lives:
            for event in life.events(*_TOLD):
                self._told[event.node].append(_Told(event.t, event))
        self._downs = _downs(run)

    def role(self, node: int, at: int) -> Role:
        """Just before that moment. A node that was killed is down until it speaks again."""
        last = self._last(node, at)
        if last is None or last.event == "n.stop":
            return Role.DOWN
        if any(last.t <= begin < at <= end for begin, end in self._downs[node]):
            return Role.DOWN
        match last.state:
            case "leader":
                return Role.LEADER
            case "follower":
                return Role.FOLLOWER
            case _:
                return Role.CANDIDATE

    def quorum(self, at: int) -> Quorum:
        """Just before that moment."""
        roles = {node: self.role(node, at) for node in self._nodes}
        majority = len(self._nodes) // 2 + 1
        if sum(role is not Role.DOWN for role in roles.values()) < majority:
            return Quorum.SHORT
        leaders = [node for node, role in roles.items() if role is Role.LEADER]
        if not leaders:
            return Quorum.ELECTING
        if len(leaders) > 1 or 1 + self._followers(leaders[0], roles, at) < majority:
            return Quorum.SPLIT
        return Quorum.LED

    def _followers(self, leader: int, roles: dict[int, Role], at: int) -> int:
        told = [self._last(node, at) for node, role in roles.items() if role is Role.FOLLOWER]
        return sum(event is not None and event.leader == leader for event in told)

    def _last(self, node: int, at: int) -> NodeEvent | None:
        told = self._told[node]
        before = bisect_left(told, at, key=lambda each: each.at)
        return told[before - 1].event if before else None


def _downs(run: Run) -> dict[int, Sequence[tuple[int, int]]]:
    """From when until when which node was off or paused, as the nemesis has it."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fault in faults_of(run):
        if fault.halts and fault.t_bit is not None:
            for node in fault.nodes:
                found[node].append((fault.t_bit, fault.t_healed or run.info.duration_ns))
    return defaultdict(list, found)
