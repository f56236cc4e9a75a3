"""Leaders' answers about their voters, and requests to change them: rows of a run.

An answer has all voters at some moment while it was asked for: by an operator or the harness
(probes), or by a client (operations). For a requested change no answer says in which epoch it was
written; the leader's answers before and afterwards, and the log, bound it.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import asks_who_votes
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import VoterHistory
from checkers.history.tables import DESCRIBE_QUORUM, NO_DIRECTORY, VOTER_CHANGES
from checkers.quorum.voter_sets import AUTO_JOIN, replica_of
from checkers.verdict import EventValue

ADD, REMOVE = VOTER_CHANGES
_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterAnswer:
    """The voters, in an answer of a node that says that it leads in `epoch`; each as
    "3:<directory>"."""

    node: int
    epoch: int
    voters: frozenset[str]
    asked: int
    answered: int

    @property
    def shown(self) -> Mapping[str, EventValue]:
        return {"t_ns": self.asked, "node": self.node, "epoch": self.epoch}


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChange:
    """A request to `node` to add a replica to the voters, or to remove it. If it is done, it was
    written in an epoch from `least` to `most`. `ended` is when no one waited any more."""

    adds: bool
    replica: str
    node: int
    outcome: str
    error: str | None
    asked: int
    ended: float  # never, if its fate is unknown
    least: float
    most: float

    @property
    def is_done(self) -> bool:
        return self.outcome == "ok"

    @property
    def may_be_done(self) -> bool:
        return self.outcome != "fail"

    @property
    def epoch(self) -> float | None:
        """The epoch in which it was written, if that is known."""
        return self.least if self.is_done and self.least == self.most else None

    @property
    def shown(self) -> Mapping[str, EventValue]:
        return {
            "what": "it answers a change",
            "t_ns": self.asked,
            "f": ADD if self.adds else REMOVE,
            "key": self.replica,
            "outcome": self.outcome,
            "error": self.error,
            "node": self.node,
        }


@dataclass(frozen=True)
class ToldQuorum:
    """All of a run, in order of time."""

    evidence: Evidence

    @cached_property
    def answers(self) -> Sequence[VoterAnswer]:
        """Of leaders with voters that are known with their disks."""
        return [
            each
            for each in self.all_answers
            if not any(NO_DIRECTORY in voter for voter in each.voters)
        ]

    @cached_property
    def all_answers(self) -> Sequence[VoterAnswer]:
        """Of leaders, whatever is known of their voters."""
        found = [*_to_harness(self.evidence.tables["probes"]), *_to_clients(self._ops)]
        return sorted(found, key=lambda each: (each.asked, each.node))

    @cached_property
    def changes(self) -> Sequence[VoterChange]:
        asked = self._ops.filter(pc.is_in(self._ops["f"], pa.array(VOTER_CHANGES))).to_pylist()
        return [_change(row, self.answers, self.evidence.voters) for row in asked]

    @cached_property
    def replicas(self) -> Sequence[str]:
        """All replicas that were ever named."""
        told = {voter for each in self.answers for voter in each.voters}
        return sorted(told.union(each.replica for each in self.changes))

    @property
    def by_themselves(self) -> bool:
        """Whether controllers join without a request."""
        return self.evidence.info.settings.get(AUTO_JOIN) == "true"

    @property
    def gaps(self) -> Sequence[str]:
        """Questions that clients were to ask, and did not: for a run with such a load."""
        if not asks_who_votes(self.evidence.info):
            return ()
        told = self._ops.filter(pc.equal(self._ops["f"], DESCRIBE_QUORUM))
        succeeded = told.filter(pc.equal(told["outcome"], "ok"))
        unread = succeeded.filter(pc.is_null(succeeded["voters"])).num_rows
        if unread:
            return (f"{counted(unread, 'answer')} about voters named no voters",)
        if not pc.any(pc.equal(succeeded["phase"], "final")).as_py():
            return ("no client was answered about voters once all was healed",)
        return ()

    @property
    def _ops(self) -> pa.Table:
        return self.evidence.tables["ops"]


def _to_harness(probes: pa.Table) -> Iterator[VoterAnswer]:
    rows = probes.filter(pc.and_(pc.equal(probes["kind"], "quorum"), pc.is_valid(probes["detail"])))
    for row in rows.to_pylist():
        yield VoterAnswer(
            node=row["node"],
            epoch=row["epoch"],
            voters=frozenset(json.loads(row["detail"])["voters"]),
            asked=row["t0"],
            answered=row["t1"],
        )


def _to_clients(ops: pa.Table) -> Iterator[VoterAnswer]:
    told = pc.and_(pc.equal(ops["f"], DESCRIBE_QUORUM), pc.is_valid(ops["voters"]))
    for row in ops.filter(told).to_pylist():
        yield VoterAnswer(
            node=row["node"],
            epoch=row["value"],
            voters=frozenset(row["voters"]),
            asked=row["t0"],
            answered=row["t1"],
        )


def _change(row: _Row, answers: Sequence[VoterAnswer], log: VoterHistory) -> VoterChange:
    """Not written in a later epoch than that of its leader's next answer, nor than the last in
    which the log has such a change."""
    is_done, adds = row["outcome"] == "ok", row["f"] == ADD
    changed = _epochs_of(log, row["key"], votes=adds) if is_done else iter(())
    ended = inf if row["t1"] is None or row["outcome"] == "info" else row["t1"]
    own = [each for each in answers if each.node == row["node"]]
    later = [each.epoch for each in own if row["t1"] is not None and each.asked > row["t1"]]
    return VoterChange(
        adds=adds,
        replica=row["key"],
        node=row["node"],
        outcome=row["outcome"],
        error=row["error"],
        asked=row["t0"],
        ended=ended,
        least=max((each.epoch for each in own if each.answered < row["t0"]), default=-inf),
        most=min([*later, max(changed, default=inf)]),
    )


def _epochs_of(log: VoterHistory, replica: str, *, votes: bool) -> Iterator[int]:
    """The epochs in which this replica was made a voter, or removed; for a log with its head."""
    if log.known > 0:
        return
    for offset, (before, after) in zip(log.offsets[1:], pairwise(log.sets), strict=True):
        changed = {f"{key.node}:{key.directory}" for key in before.keys ^ after.keys}
        if replica in changed and after.includes(replica_of(replica)) is votes:
            yield log.epochs[bisect_right(log.starts, offset) - 1]
