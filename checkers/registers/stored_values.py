"""The values of registers on the disks of a majority of the voters.

A voter that lost its disk counts with that disk's contents: it had them when the value was
committed, and no longer has them.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.registers.asked_for import attempts, first_begun
from checkers.registers.cut_logs import cut_logs
from checkers.registers.stored_records import lost_records, stored_records

Written = tuple[str, str]  # key and value, as the record has them
_Place = tuple[int, frozenset[ReplicaKey]]  # an offset, and the disks that have a value there
_BEHIND_ALL = (1 << 63) - 1  # an offset


@dataclass(frozen=True, slots=True)
class StoredOn:
    """The disks that have one value. `possible`: disks that were not read may have the rest.
    `overwritten`: it is nowhere, and may have been overwritten below the snapshots of a majority.
    `kept` and `lacking`: voters with a remaining disk that have it where a majority had it, and
    those that were read completely and lack it there."""

    times: int  # the offsets at which a majority of the voters has it
    most: int  # the most voters that have it at one offset
    possible: bool
    overwritten: bool = False
    kept: int = 0
    lacking: int = 0
    lost: frozenset[ReplicaKey] = frozenset()  # disks that had it and were lost


def stored_on(evidence: Evidence, written: Written, begun: int) -> StoredOn:
    """For a value that was asked for when the event `begun` happened."""
    found = evidence.once(_stored_in_logs).get(written)
    asked = evidence.once(attempts).get(written, ())
    if found is not None and (found.times or len(asked) <= 1):
        return found  # a value that was asked for once is at one offset
    if evidence.once(cut_logs):
        return _stored_below(evidence, written, begun)
    return found or evidence.once(_stored_nowhere)


def whole_disks(evidence: Evidence) -> frozenset[ReplicaKey]:
    """The disks that were read completely: from offset 0 on, or from a snapshot on; lost ones, from
    offset 0 on."""
    batches, cut = evidence.tables["log_batches"], evidence.first_snapshots
    starts = batches.group_by("node").aggregate([("base_offset", "min")]).to_pylist()
    begin = {row["node"]: row["base_offset_min"] for row in starts}
    found = frozenset(
        evidence.disks[row["node"]]
        for row in evidence.tables["disks"].to_pylist()
        if row["problem"] is None and (row["node"] in cut or begin.get(row["node"], 0) == 0)
    )
    return found | evidence.lost_logs.keys()


def told_whole(evidence: Evidence) -> str:
    """How many disks of the voters could be read completely, in words."""
    voters = evidence.voters.newest
    return f"{_count(evidence, voters, evidence.once(whole_disks))} of {len(voters.keys)} disks"


def _stored_in_logs(evidence: Evidence) -> Mapping[Written, StoredOn]:
    """For each value in a log."""
    highest, disks = highest_high_watermark(evidence), evidence.disks
    places: dict[Written, dict[tuple[int, int], set[ReplicaKey]]] = defaultdict(dict)
    for record in evidence.once(stored_records):
        if record.in_snapshot or record.value is None:
            continue
        of_value = places[record.key, record.value]
        if highest is None or record.offset < highest:
            having = of_value.setdefault((record.offset, record.epoch), set())
            having.add(disks.get(record.node, ReplicaKey(record.node)))
    for replica, record in evidence.once(lost_records):
        if record.value is not None and (highest is None or record.offset < highest):
            of_value = places[record.key, record.value]
            of_value.setdefault((record.offset, record.epoch), set()).add(replica)
    known: dict[Hashable, StoredOn] = {}  # most values are on the same disks as others
    found = {}
    for written, of_value in places.items():
        stands = _stands(evidence, written, of_value)
        where = tuple((_decided_from(evidence, offset), having) for offset, having in stands)
        if where not in known:
            known[where] = _stored(evidence, stands)
        found[written] = known[where]
    return found


def _stands(
    evidence: Evidence, written: Written, of_value: Mapping[tuple[int, int], set[ReplicaKey]]
) -> list[_Place]:
    """The disks that have a value, or had it before a log was cut."""
    if not evidence.once(cut_logs):
        return [(offset, frozenset(having)) for (offset, _), having in of_value.items()]
    return [
        (offset, frozenset(having | _stood_at(evidence, written, offset)))
        for (offset, _), having in of_value.items()
    ]


def _stood_at(evidence: Evidence, written: Written, offset: int) -> set[ReplicaKey]:
    """The disks with logs that begin above this offset and had the value there."""
    cut = evidence.once(cut_logs).items()
    behind = [(disk, log) for disk, log in cut if offset < log.own_start]
    if not behind:
        return set()
    begun = first_begun(evidence, written)
    return {disk for disk, log in behind if log.stood_at(*written, offset, begun)}


def _stored_below(evidence: Evidence, written: Written, begun: int) -> StoredOn:
    """For a value that is in no log: in snapshots, or overwritten below them."""
    key, value = written
    logs = evidence.once(cut_logs).items()
    in_images = _stored(
        evidence, [(0, frozenset(disk for disk, log in logs if log.image.get(key) == value))]
    )
    if in_images.times:
        return in_images
    may_have = frozenset(disk for disk, log in logs if log.may_have_held(key, value, begun))
    below = _stored(evidence, [(0, may_have)])
    return replace(below, times=0, overwritten=below.times > 0)


def _stored_nowhere(evidence: Evidence) -> StoredOn:
    """For a value that no disk has."""
    return _stored(evidence, [])


def _stored(evidence: Evidence, places: Sequence[_Place]) -> StoredOn:
    whole, gone = evidence.once(whole_disks), evidence.lost_logs.keys()
    times = most = kept = lacking = 0
    possible, lost = False, frozenset[ReplicaKey]()
    for offset, having in places or [(_BEHIND_ALL, frozenset[ReplicaKey]())]:
        has_majority = False
        for voters in _deciding(evidence, offset):
            count = _count(evidence, voters, having)
            most = max(most, count)
            if count < voters.majority:
                unread = len(voters.keys) - _count(evidence, voters, whole)
                possible |= count + unread >= voters.majority
            else:
                possible = has_majority = True
        times += has_majority
        lost |= having & gone
        if has_majority:
            newest, left = evidence.voters.newest, having - gone
            kept, lacking = newest.count(left), newest.count(whole - gone - having)
    return StoredOn(times, most, possible, kept=kept, lacking=lacking, lost=lost)


def _count(evidence: Evidence, voters: VoterSet, replicas: Set[ReplicaKey]) -> int:
    """How many of these are voters; one that lost its disk counts only if it is known to have been
    a voter by that disk."""
    gone = evidence.lost_logs.keys()
    return voters.count(replicas - gone) + len(voters.keys & replicas & gone)


def _deciding(evidence: Evidence, offset: int) -> Sequence[VoterSet]:
    """The sets of voters of which a majority must have the records committed there: the last
    committed one, and any later one. One of them is enough, for it was in force when the record was
    committed."""
    return evidence.voters.since(_decided_from(evidence, offset))


def _decided_from(evidence: Evidence, offset: int) -> int:
    """For everything below the end of the committed log there."""
    log = evidence.committed_log
    return max(offset, log.end - 1 if log else 0)


def highest_high_watermark(evidence: Evidence) -> int | None:
    """All records that nodes reported as committed are below it. None if a node did not report one:
    the others may have committed more."""
    if not evidence.gives(Kind.TRACES):
        return None
    events = evidence.tables["node_events"]
    highest = pc.max(events.filter(pc.equal(events["event"], "q.hwm"))["hwm"]).as_py()
    assert highest is None or isinstance(highest, int)
    return highest
