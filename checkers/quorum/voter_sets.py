"""Sets of voters on disks, and requests to change them: V1, V5 and V7; leaders' answers about
voters."""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, describes_quorum, everywhere, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterHistory, VoterSet
from checkers.history.tables import DESCRIBE_QUORUM, NO_DIRECTORY, VOTER_CHANGES
from checkers.verdict import CheckResult, EventValue, counted

# Leaders' answers about their voters, and requests to change them: rows of a run.
#
# An answer has all voters at some moment while it was asked for: by an operator or the harness
# (probes), or by a client (operations). For a requested change no answer says in which epoch it was
# written; the leader's answers before and afterwards, and the log, bound it.


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
class DescribedQuorum:
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
        if not describes_quorum(self.evidence.info):
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


_ADD, _REMOVE = VOTER_CHANGES
AUTO_JOIN = "controller.quorum.auto.join.enable"  # a setting of Apache Kafka's controllers


@check(
    "V1-one-voter-at-a-time",
    applies=several_nodes,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS,),
)
def one_voter_at_a_time(evidence: Evidence) -> CheckResult:
    """V1: Along a log, each set of voters differs from the one before by one voter at most.

    From the control records on each disk; a voter is a node with its disk. Except where the disks
    of voters first become known. (KIP-856, "Voter Changes")
    """
    looked_at, violations = 0, []
    for node in sorted(evidence.metadata_logs):
        history = evidence.voters_on(node)
        changes = list(zip(history.offsets[1:], pairwise(history.sets), strict=True))
        looked_at += len(changes)
        violations += [
            _jump(node, offset, before, after)
            for offset, (before, after) in changes
            if _is_known(before) and len(before.keys ^ after.keys) > 1
        ]
    return conclude(
        looked_at=looked_at,
        unit="changes of voters on disks",
        violations=violations,
        needs="disks read after the run",
        holds="each was of one voter",
        algorithm="consecutive sets of each log",
        nothing="no node's voters changed" if evidence.metadata_logs else "",
    )


def _is_known(voters: VoterSet) -> bool:
    return all(key.directory != NO_DIRECTORY for key in voters.keys)


def _jump(node: int, offset: int, before: VoterSet, after: VoterSet) -> Violation:
    gone, come = _list(before.keys - after.keys), _list(after.keys - before.keys)
    text = f"the log of node {node} has at {offset} removed {gone or 'none'} and added "
    shown: dict[str, EventValue] = {"what": "the set changes", "node": node, "offset": offset}
    return Violation(f"{text}{come or 'none'} at once", [shown])


def _list(keys: frozenset[ReplicaKey]) -> str:
    return ", ".join(f"{key.node}:{key.directory}" for key in sorted(keys))


@check(
    "V5-acknowledged-changes-stay",
    applies=everywhere,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def acknowledged_changes_stay(evidence: Evidence) -> CheckResult:
    """V5: An acknowledged change of the voters is in the committed log.

    Each that succeeded, as often as it did, from ops and the control records of the newest log that
    a majority holds. Below a snapshot: the voters in it are those that acknowledged changes leave,
    with or without unanswered ones. (KIP-856, "AddVoter" and "RemoveVoter", Handling)
    """
    asked = _changes_asked(evidence.tables["ops"])
    done = [row for row in asked if row["outcome"] == "ok"]
    log = evidence.committed_log
    violations = []
    if log is not None and evidence.voters.known > 0:
        violations = _contradicted(evidence.voters, log.end, asked)
    elif log is not None:
        violations = [_lost(row) for row in _beyond(_changes(evidence.voters, log.end), done)]
    return conclude(
        looked_at=len(done),
        unit="acknowledged changes of voters",
        violations=violations,
        needs="disks read after the run",
        holds="each is in the committed log",
        algorithm="changes along the newest log, counted",
        gaps=["not all of the committed log can be read"] if log is None and done else [],
        nothing="no client asked for one",
    )


@check(
    "voters-as-asked-for",
    applies=everywhere,
    source="KIP-853, KIP-856: voters change by AddRaftVoter and RemoveRaftVoter",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.FAULTS),
)
def voters_as_asked_for(evidence: Evidence) -> CheckResult:
    """Each addition or removal of a voter was asked for, as often as it happens.

    The changes along the newest log against the operations of operators that may have been done:
    all but those that surely were not. Controllers that join by themselves (KIP-853,
    controller.quorum.auto.join.enable) ask as well: each for its own disks to be added, and for
    lost ones to be removed.
    """
    rows = _changes_asked(evidence.tables["ops"])
    asked = Counter((row["f"], row["key"]) for row in rows if row["outcome"] != "fail")
    by_themselves = _asked_by_themselves(evidence)
    log = evidence.committed_log
    found = _changes(evidence.voters, log.end) if log is not None else Counter[tuple[str, str]]()
    violations = [
        Violation(
            f"the committed log has {counted(times, f)} of {key}, but operators asked for "
            f"{asked[f, key]}",
            [{"what": f, "replica": key}],
        )
        for (f, key), times in sorted(found.items())
        if times > asked[f, key] and (f, key) not in by_themselves
    ]
    return conclude(
        looked_at=found.total(),
        unit="committed changes of voters",
        violations=violations,
        needs="disks read after the run",
        holds="an operator had asked for each" + ", or its own node" * bool(by_themselves),
        algorithm="changes along the newest log, counted, against operations",
        nothing="no node's voters changed" if evidence.metadata_logs else "",
    )


def _asked_by_themselves(evidence: Evidence) -> frozenset[tuple[str, str]]:
    """What controllers may ask for by themselves, as often as it is needed."""
    if evidence.info.settings.get(AUTO_JOIN) != "true":
        return frozenset()
    lost = {_key(disk.replica) for disk in evidence.lost_disks}
    there = {_key(replica) for replica in evidence.disks.values()}
    return frozenset({(_REMOVE, key) for key in lost} | {(_ADD, key) for key in lost | there})


def _changes_asked(ops: pa.Table) -> list[_Row]:
    """In the order in which they were asked for, whatever their fate."""
    asked = ops.filter(pc.is_in(ops["f"], pa.array(VOTER_CHANGES)))
    rows: list[_Row] = asked.to_pylist()
    return rows


def _beyond(found: Counter[tuple[str, str]], rows: Iterable[_Row]) -> Iterator[_Row]:
    """Those that there are more of than was found."""
    left = found.copy()
    for row in rows:
        left[row["f"], row["key"]] -= 1
        if left[row["f"], row["key"]] < 0:
            yield row


def _contradicted(voters: VoterHistory, end: int, asked: Sequence[_Row]) -> list[Violation]:
    """Acknowledged changes below a snapshot that the snapshot contradicts.

    A replica is added and removed in turn. So it is a voter if it was one at first plus the
    additions less the removals: at least those that were acknowledged, and at most with all
    unanswered ones.
    """
    done = [row for row in asked if row["outcome"] == "ok"]
    hidden = list(_beyond(_changes(voters, end), done))
    known = Counter((row["f"], row["key"]) for row in hidden)
    perhaps = Counter((row["f"], row["key"]) for row in asked if row["outcome"] == "info")
    there = {_key(replica) for replica in voters.at(voters.known).keys}
    first = voters.at(0)
    found = []
    for replica in dict.fromkeys(row["key"] for row in hidden):
        more = known[_ADD, replica] - known[_REMOVE, replica]
        least = more - perhaps[_REMOVE, replica]
        most = more + perhaps[_ADD, replica] + first.includes(replica_of(replica))
        if not least <= (replica in there) <= most:
            found.append(_lost(next(row for row in hidden if row["key"] == replica)))
    return found


def replica_of(key: str) -> ReplicaKey:
    node, _, directory = key.partition(":")
    return ReplicaKey(int(node), directory)


def _changes(voters: VoterHistory, end: int) -> Counter[tuple[str, str]]:
    """How often each replica was added and removed below an offset, if that can be read."""
    found: Counter[tuple[str, str]] = Counter()
    for offset, (before, after) in zip(voters.offsets[1:], pairwise(voters.sets), strict=True):
        if max(voters.known, 1) <= offset < end and _is_known(before):
            found.update((_ADD, _key(key)) for key in after.keys - before.keys)
            found.update((_REMOVE, _key(key)) for key in before.keys - after.keys)
    return found


def _key(replica: ReplicaKey) -> str:
    return f"{replica.node}:{replica.directory}"


def _lost(row: _Row) -> Violation:
    text = f"{row['f']} of {row['key']} was acknowledged, but is not in the committed log"
    shown = {name: row[name] for name in ("f", "key", "outcome", "node", "process")}
    return Violation(text, [{"what": "acknowledged", "t_ns": row["t1"], **shown}])


@check("V7-one-node-a-directory", applies=everywhere, source="KIP-856")
def one_node_a_directory(evidence: Evidence) -> CheckResult:
    """V7: No two nodes have the same directory id.

    From traces, also of processes that lost their disk since, and from the disks at the end.
    (KIP-856, "Log Directory Storage UUID")
    """
    owners: dict[str, int] = {}
    violations = []
    for node, directory in _directories(evidence):
        owner = owners.setdefault(directory, node)
        if owner != node:
            text = f"node {owner} and node {node} both have the directory id {directory}"
            violations.append(Violation(text, [{"what": "the second", "node": node}]))
    return conclude(
        looked_at=len(owners),
        unit="directory ids",
        violations=violations,
        needs="disks read after the run",
        holds="each belonged to one node alone",
        algorithm="directory -> node",
        nothing=f"{counted(evidence.info.nodes, 'node')} named none",
    )


def _directories(evidence: Evidence) -> Iterator[tuple[int, str]]:
    yield from ((life.node, life.directory) for life in evidence.lives)
    for key in evidence.disks.values():
        if key.directory != NO_DIRECTORY:
            yield key.node, key.directory
