"""Votes: Q3."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, witness
from checkers.evidence.planned import Kind
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult, EventValue

NOBODY = -1
_VOTERS = ("unattached", "prospective", "follower")  # roles that keep the vote of their epoch


@dataclass(frozen=True, slots=True)
class _Vote:
    """A vote and its voter; an unknown directory (quorum-state version 0) is None."""

    node: int
    directory: str
    epoch: int
    candidate: int
    candidate_directory: str | None
    shown: Mapping[str, EventValue]

    def differs(self, other: "_Vote") -> bool:
        directories = {self.candidate_directory, other.candidate_directory} - {None}
        return self.candidate != other.candidate or len(directories) > 1


@check(
    "Q3-one-vote-per-epoch",
    applies=everywhere,
    source="Raft thesis 3.4 and 3.8, KIP-853",
    rests_on=(Kind.TRACES,),
)
def one_vote_per_epoch(evidence: Evidence) -> CheckResult:
    """Q3: A replica grants its vote to at most one replica per epoch, also over restarts.

    From granted q.vote, q.state (a candidate votes for itself), the quorum-state on the disks, and
    the voters that a leader names in its LeaderChange as having granted it their vote. A replica is
    a node with its disk. A forgotten vote is accused before another one is cast: in the same epoch
    each of its roles repeats the vote, also after a restart. (Raft thesis 3.4 and 3.8, KIP-853)
    """
    first: dict[tuple[int, str, int], _Vote] = {}
    violations = list(_forgotten(evidence))
    for vote in chain(_votes(evidence), _granted(evidence)):
        earlier = first.setdefault((vote.node, vote.directory, vote.epoch), vote)
        if earlier.differs(vote):
            text = f"node {vote.node} voted twice in epoch {vote.epoch}: for node "
            text += f"{earlier.candidate} and for node {vote.candidate}"
            if earlier.candidate == vote.candidate:
                text += " with another disk"
            violations.append(Violation(text, [earlier.shown, vote.shown]))
    return conclude(
        looked_at=len(first),
        unit="votes",
        violations=violations,
        needs=f"{NEED}, or disks read after the run",
        holds="no replica voted for two in one epoch",
        algorithm="first vote per replica and epoch; votes that a later process does not know",
    )


def _forgotten(evidence: Evidence) -> Iterator[Violation]:
    """Votes that the node's own q.state denies later (a leader's does not have it): those for
    others, and a candidate's for itself."""
    for life in evidence.lives:
        cast: dict[int, NodeEvent] = {}
        for event in life.events("q.state", "q.vote"):
            own = event.event == "q.state" and event.voted == life.node
            if own or (event.event == "q.vote" and event.outcome == "granted"):
                cast.setdefault(event.epoch, event)
            denies = event.event == "q.state" and event.voted == NOBODY
            vote = cast.get(event.epoch) if denies and event.state in _VOTERS else None
            if vote is not None:
                candidate = life.node if vote.event == "q.state" else vote.replica
                text = f"node {life.node} voted for node {candidate} in epoch {vote.epoch}, but "
                text += "its later state lacks the vote: it may vote for another"
                shown = [
                    witness(vote, f"vote for node {candidate}"),
                    witness(event, f"epoch {event.epoch}, but has not voted"),
                ]
                yield Violation(text, shown)
                cast.clear()


def _votes(evidence: Evidence) -> Iterator[_Vote]:
    for life in evidence.lives:
        for event in life.events("q.state", "q.vote"):
            candidate, directory = event.voted, event.voted_directory
            if event.event == "q.vote" and event.outcome == "granted":
                candidate, directory = event.replica, event.replica_directory
            elif event.event != "q.state" or candidate in (None, NOBODY):
                continue
            yield _Vote(
                life.node,
                life.directory,
                event.epoch,
                candidate,
                _known(directory),
                witness(event, f"vote for node {candidate}"),
            )
    for row in evidence.tables["disks"].to_pylist():
        if row["epoch"] is not None and row["voted"] not in (None, NOBODY):
            shown = {name: row[name] for name in ("node", "epoch", "voted", "voted_directory")}
            yield _Vote(
                row["node"],
                row["directory"],
                row["epoch"],
                row["voted"],
                _known(row["voted_directory"]),
                {"what": "quorum-state file", **shown},
            )


def _granted(evidence: Evidence) -> Iterator[_Vote]:
    """The votes that leaders say they got: by the named disk, else by the collected one."""
    records = evidence.tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange"))
    collected = {row["node"]: row["directory"] for row in evidence.tables["disks"].to_pylist()}
    for row in changes.filter(changes["detail"].is_valid()).to_pylist():
        for voter in json.loads(row["detail"])["grantingVoters"]:
            node = voter["voterId"]
            shown = {name: row[name] for name in ("node", "offset", "epoch", "leader")}
            what = {"what": f"LeaderChange that names the vote of node {node}", **shown}
            told = _known(voter.get("voterDirectoryId"))
            place = told or collected.get(node, NO_DIRECTORY)
            yield _Vote(node, place, row["epoch"], row["leader"], None, what)


def _known(directory: str | None) -> str | None:
    return None if directory in (None, "", NO_DIRECTORY) else directory
