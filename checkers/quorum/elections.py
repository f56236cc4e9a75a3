"""Epochs, their leaders and the votes: Q1, Q2, Q3, Q4 and Q17."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, everywhere, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NONE, Life, NodeEvent, TraceColumns, first_of, witness
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult, EventValue

NO_NODE = -1


@check(
    "Q1-monotonic-epoch",
    applies=traced,
    source="SIM MonotonicEpoch",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def monotonic_epochs(evidence: Evidence) -> CheckResult:
    """Q1: A node's epoch never goes down, also over restarts on the same disk.

    From q.state and n.start, and the quorum-state on the disk at the end: a reported epoch was
    durable before, so neither a new process nor the disk may have a lower one. (SIM MonotonicEpoch)
    """
    stored = {
        (row["node"], row["directory"]): row["epoch"]
        for row in evidence.tables["disks"].to_pylist()
        if row["epoch"] is not None
    }
    looked_at, violations = 0, []
    for life in evidence.lives:
        highest: NodeEvent | None = None
        for event in life.events("n.start", "q.state"):
            looked_at += 1
            if highest is not None and event.epoch < highest.epoch:
                violations.append(_went_down(highest, event))
            else:
                highest = event
        on_disk = stored.get((life.node, life.directory))
        if highest is not None and on_disk is not None and on_disk < highest.epoch:
            text = f"node {life.node} reported epoch {highest.epoch}, but its disk holds {on_disk}"
            violations.append(Violation(text, [witness(highest, "reported")]))
    return conclude(
        looked_at=looked_at,
        unit="states",
        violations=violations,
        needs=NEED,
        holds="no node's epoch went down",
        algorithm="running maximum per disk over its processes",
    )


def _went_down(before: NodeEvent, after: NodeEvent) -> Violation:
    return Violation(
        f"node {after.node} went from epoch {before.epoch} back to {after.epoch}",
        [witness(before, "was in the higher epoch"), witness(after, "went back")],
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    epoch: int
    leader: int
    shown: Mapping[str, EventValue]


@check("Q2-one-leader-per-epoch", applies=everywhere, source="Raft, Election Safety")
def one_leader_per_epoch(evidence: Evidence) -> CheckResult:
    """Q2: At most one leader is ever known for an epoch, over all nodes and all time.

    From q.state, c.active and lines that only a leader writes, LeaderChange records, quorum-state
    files and answers to DescribeQuorum; any one of these suffices. (Raft, Election Safety)
    """
    first: dict[int, _Claim] = {}
    violations = []
    for claim in _claims(evidence):
        rival = first.setdefault(claim.epoch, claim)
        if rival.leader != claim.leader:
            text = f"epoch {claim.epoch} has two leaders: node {rival.leader}, node {claim.leader}"
            violations.append(Violation(text, [rival.shown, claim.shown]))
    return conclude(
        looked_at=len(first),
        unit="epochs",
        violations=violations,
        needs=f"{NEED}, disks read after the evidence, or answers to probes",
        holds="each had one leader",
        algorithm="first claim per epoch, compared with every later one",
    )


def _claims(evidence: Evidence) -> Iterator[_Claim]:
    for at, leader in _traced_leaders(evidence.traces):
        event = evidence.traces.line(at)
        yield _Claim(event.epoch, leader, witness(event, f"node {leader} leads"))
    for row in evidence.once(leader_changes):
        if row["leader"] is not None:
            yield _Claim(row["epoch"], row["leader"], _shown(row, "LeaderChange record", "offset"))
    for row in evidence.tables["disks"].to_pylist():
        if row["epoch"] is not None and row["leader"] not in (None, NO_NODE):
            yield _Claim(row["epoch"], row["leader"], _shown(row, "quorum-state file", "directory"))

    for row in evidence.tables["probes"].to_pylist():
        known = row["epoch"] is not None and row["leader"] not in (None, NO_NODE)
        if row["kind"] == "quorum" and known:
            yield _Claim(row["epoch"], row["leader"], _shown(row, "answer to DescribeQuorum", "t0"))


def leader_changes(evidence: Evidence) -> list[dict[str, int]]:
    """The LeaderChange records on all disks: node, offset, epoch, leader."""
    records = evidence.tables["log_records"].select(["node", "offset", "epoch", "type", "leader"])
    found: list[dict[str, int]] = (
        records.filter(pc.equal(records["type"], "LeaderChange")).drop(["type"]).to_pylist()
    )
    return found


def _shown(row: Mapping[str, EventValue], what: str, extra: str) -> dict[str, EventValue]:
    return {"what": what, **{name: row[name] for name in ("node", "epoch", "leader", extra)}}


def _traced_leaders(traces: TraceColumns) -> Iterator[tuple[int, int]]:
    """The first row that names a leader of an epoch, and the leader, for each of them."""
    told = traces.rows("n.start", "q.state")
    told = told[~np.isin(traces.column("leader")[told], [NO_NODE, NONE])]
    acting = np.setdiff1d(acting_as_leader(traces), told)
    rows = np.concatenate([told, acting])
    leader = np.concatenate([traces.column("leader")[told], traces.column("node")[acting]])
    order = np.argsort(rows, kind="stable")
    rows, leader = rows[order], leader[order]
    first, _ = first_of(traces.column("epoch")[rows], leader)
    first.sort()
    yield from zip(rows[first].tolist(), leader[first].tolist(), strict=True)


def acting_as_leader(traces: TraceColumns) -> Ints:
    """The rows that only the leader of their epoch could have written. The epoch of q.append is the
    batch's, which may be older than the node's."""
    states = traces.rows("q.state", "q.hwm")
    leads = states[traces.has("state", "leader", states)]
    return np.sort(np.concatenate([leads, traces.rows("c.active")]))


def led_from(life: Life) -> dict[int, int]:
    """By epoch, the row of the first batch that a replica appended as its leader."""
    rows = life.rows("q.append")
    rows = rows[life.traces.has("state", "leader", rows)]
    first, _ = first_of(life.traces.column("epoch")[rows])
    return {int(life.traces.column("epoch")[row]): int(row) for row in rows[first]}


@check("Q17-no-leader-again", applies=traced, source="KAFKA-10527")
def no_leader_again_after_restart(evidence: Evidence) -> CheckResult:
    """Q17: A process never leads an epoch in which an earlier process of its node led.

    The earlier one may have shown records that its disk lost; leading on would reuse their offsets.
    (KAFKA-10527)
    """
    traces = evidence.traces
    rows = acting_as_leader(traces)
    first, which = first_of(traces.column("node")[rows], traces.column("epoch")[rows])
    process = traces.column("incarnation")[rows]
    again = np.flatnonzero(process != process[first[which]])
    earlier, later = traces.lines(rows[first[which[again]]]), traces.lines(rows[again])
    return conclude(
        looked_at=len(first),
        unit="leaderships",
        violations=[_again(one, other) for one, other in zip(earlier, later, strict=True)],
        needs=NEED,
        holds="none was led again by a restarted process",
        algorithm="first process per node and epoch",
    )


def _again(earlier: NodeEvent, event: NodeEvent) -> Violation:
    return Violation(
        f"node {event.node} led epoch {event.epoch}, was restarted, and led it again",
        [witness(earlier, "led"), witness(event, "leads again, another process")],
    )


# Votes: Q3.


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
            denies = event.event == "q.state" and event.voted == NO_NODE
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
            elif event.event != "q.state" or candidate in (None, NO_NODE):
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
        if row["epoch"] is not None and row["voted"] not in (None, NO_NODE):
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


# Leaders are elected by majorities: Q4, by their own LeaderChange records.


_SHOWN = ("node", "offset", "epoch", "leader")


@check("Q4-elected-by-a-majority", applies=everywhere, source="Raft thesis 3.4, KIP-856")
def elected_by_a_majority(evidence: Evidence) -> CheckResult:
    """Q4: A LeaderChange names a majority of its voters as those that granted their votes.

    None is named twice, and each is a voter. The voters that it names are those in force at its
    offset in its own log, and all controllers for a static quorum: by their disks, if both record
    (version 1) and log have them. The leader is one of them, or was until the last change, which
    need not have been committed (Raft thesis 4.2.2).
    """
    records = evidence.tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange"))
    rows = changes.filter(changes["detail"].is_valid()).to_pylist()
    histories = {node: evidence.voters_on(node) for node in {row["node"] for row in rows}}
    found = []
    for row in rows:
        voters, at = histories[row["node"]], row["offset"] - 1
        if at >= voters.known - 1:
            leader, detail = ReplicaKey(row["leader"]), json.loads(row["detail"])
            wrong = _wrong(leader, detail, voters.at(at), voters.before(at))
            found.append((row, wrong))
    return conclude(
        looked_at=len(found),
        unit="LeaderChange records",
        violations=[_violation(row, wrong) for row, wrong in found if wrong],
        needs="disks read after the run",
        holds="each names the votes of a majority",
        algorithm="granting voters against voters, record by record",
        nothing=evidence.below_snapshots,
    )


def _wrong(
    leader: ReplicaKey, detail: Mapping[str, Any], in_force: VoterSet, before: VoterSet
) -> str:
    """What is wrong with a ballot, as the end of a sentence; "" if nothing is."""
    voters, granting = _told(detail["voters"]), _told(detail["grantingVoters"])
    told = f"the votes of {_listed(granting)} of the voters {_listed(voters)}"
    if not (_vote(voters, in_force) and _vote(in_force.keys, VoterSet(frozenset(voters)))):
        return f"{told}; those in force there are {_listed(in_force.keys)}"
    is_one_of_them = in_force.includes(leader) or before.includes(leader)
    if _is_one_twice(granting, in_force) or not (_vote(granting, in_force) and is_one_of_them):
        what = "not all of them are voters, or one is named twice"
        return f"{told}, but node {leader.node} leads: {what}"
    if len(granting) < in_force.majority:
        return f"{told}, which are no majority"
    return ""


def _told(voters: Iterable[Mapping[str, Any]]) -> list[ReplicaKey]:
    return [ReplicaKey(one["voterId"], one.get("voterDirectoryId", NO_DIRECTORY)) for one in voters]


def _vote(keys: Iterable[ReplicaKey], voters: VoterSet) -> bool:
    return all(map(voters.includes, keys))


def _is_one_twice(granting: Collection[ReplicaKey], in_force: VoterSet) -> bool:
    """Also a node that has fewer voters, if it is unknown which disks are meant."""
    more = Counter(key.node for key in granting) - Counter(key.node for key in in_force.keys)
    return bool(more) or len({*granting}) < len(granting)


def _listed(keys: Iterable[ReplicaKey]) -> str:
    return f"[{', '.join(map(_name, sorted(keys)))}]"


def _name(key: ReplicaKey) -> str:
    return str(key.node) if key.directory == NO_DIRECTORY else f"{key.node}:{key.directory}"


def _violation(row: Mapping[str, Any], wrong: str) -> Violation:
    shown = {name: row[name] for name in _SHOWN}
    text = f"the LeaderChange of epoch {row['epoch']}, on node {row['node']}, names {wrong}"
    return Violation(text, [{"what": "LeaderChange record", **shown}])
