"""Sets of voters as they lie on the disks, and what an operator was told of them: V1, V5 and V7."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterHistory, VoterSet
from checkers.history.tables import NO_DIRECTORY, VOTER_CHANGES
from checkers.verdict import CheckResult, EventValue

_ADD, _REMOVE = VOTER_CHANGES


@check(
    "V1-one-voter-at-a-time",
    applies=several_nodes,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS,),
)
def one_voter_at_a_time(evidence: Evidence) -> CheckResult:
    """V1: along a log, each set of voters differs from the one before by one voter at most.

    From the control records on each disk; a voter is a node with its disk. Not where the disks of
    voters are first learnt. (KIP-856, "Voter Changes")
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
        nothing="nobody's voters changed" if evidence.metadata_logs else "",
    )


def _is_known(voters: VoterSet) -> bool:
    return all(key.directory != NO_DIRECTORY for key in voters.keys)


def _jump(node: int, offset: int, before: VoterSet, after: VoterSet) -> Violation:
    gone, come = _list(before.keys - after.keys), _list(after.keys - before.keys)
    text = f"the log of node {node} has at {offset} removed {gone or 'nobody'} and added "
    shown: dict[str, EventValue] = {"what": "the set changes", "node": node, "offset": offset}
    return Violation(f"{text}{come or 'nobody'} at once", [shown])


def _list(keys: frozenset[ReplicaKey]) -> str:
    return ", ".join(f"{key.node}:{key.directory}" for key in sorted(keys))


@check(
    "V5-acknowledged-changes-stay",
    applies=everywhere,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def acknowledged_changes_stay(evidence: Evidence) -> CheckResult:
    """V5: a change of the voters that was acknowledged is in the committed log.

    Each that succeeded, as often as it did, from ops and the control records of the newest log
    below what a majority holds. (KIP-856, "AddVoter" and "RemoveVoter", Handling)
    """
    ops = evidence.tables["ops"]
    done = pc.and_(pc.is_in(ops["f"], pa.array(VOTER_CHANGES)), pc.equal(ops["outcome"], "ok"))
    asked = ops.filter(done).to_pylist()
    log = evidence.committed_log
    found = _changes(evidence.voters, log.end) if log is not None else Counter[tuple[str, str]]()
    violations = []
    for row in asked:
        found[row["f"], row["key"]] -= 1
        if found[row["f"], row["key"]] < 0:
            violations.append(_lost(row))
    unread = log is None or evidence.voters.known > 0
    return conclude(
        looked_at=len(asked),
        unit="acknowledged changes of voters",
        violations=[] if unread else violations,
        needs="disks read after the run",
        holds="each is in the committed log",
        algorithm="changes along the newest log, counted",
        gaps=["not all of the committed log can be read"] if unread and asked else [],
        nothing="nobody asked for one",
    )


def _changes(voters: VoterHistory, end: int) -> Counter[tuple[str, str]]:
    """How often each replica was added and removed below an offset."""
    found: Counter[tuple[str, str]] = Counter()
    for offset, (before, after) in zip(voters.offsets[1:], pairwise(voters.sets), strict=True):
        if offset < end and _is_known(before):
            found.update((_ADD, _key(key)) for key in after.keys - before.keys)
            found.update((_REMOVE, _key(key)) for key in before.keys - after.keys)
    return found


def _key(replica: ReplicaKey) -> str:
    return f"{replica.node}:{replica.directory}"


def _lost(row: Mapping[str, EventValue]) -> Violation:
    text = f"{row['f']} of {row['key']} was acknowledged, and is not in the committed log"
    shown = {name: row[name] for name in ("f", "key", "outcome", "node", "process")}
    return Violation(text, [{"what": "acknowledged", "t_ns": row["t1"], **shown}])


@check("V7-one-node-a-directory", applies=everywhere, source="KIP-856")
def one_node_a_directory(evidence: Evidence) -> CheckResult:
    """V7: no two nodes have the same directory id.

    From traces, also of processes whose disk was lost since, and from the disks at the end.
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
        holds="each was one node's alone",
        algorithm="directory -> node",
        nothing=f"{counted(evidence.info.nodes, 'node')} told none",
    )


def _directories(evidence: Evidence) -> Iterator[tuple[int, str]]:
    yield from ((life.node, life.directory) for life in evidence.lives)
    for key in evidence.disks.values():
        if key.directory != NO_DIRECTORY:
            yield key.node, key.directory
