"""Who votes, and from which offset of the log on: the log owns it, and nobody keeps a copy.

A set is in force from its record on, committed or not, and no more once the record is truncated
(KIP-853, KIP-856 "Internal listener"). So it follows every append and every truncation; at start
it is read from the control batches of the log, and what lies before those from a snapshot or from
what the disk was formatted with.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from node.endpoint import Endpoint
from node.ids import Epoch, Offset, ReplicaKey
from node.raft.voter_set import VoterSet
from node.records.batch import Batch
from node.records.control import ControlRecord, KRaftVersion, Voters, decode_control

STATIC, DYNAMIC = 0, 1  # kraft.version: voters by configuration, or by records with directory ids


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersSince:
    """A set, and the offset of the record from which on it is in force; `epoch` is the record's."""

    offset: Offset
    epoch: Epoch
    voters: VoterSet


@dataclass(frozen=True, slots=True)
class VoterHistory:
    """The voter sets in the order of the offsets from which on they are in force.

    The first one comes from no record of the log: it is the set of the snapshot before it, or the
    one that the disk was formatted with.
    """

    sets: tuple[VotersSince, ...]  # at least one, offsets rise
    versions: tuple[tuple[Offset, int], ...]  # kraft.version likewise
    is_logged: bool = False  # does a snapshot, and so the log before it, hold the first set?

    @classmethod
    def formatted(
        cls, voters: Iterable[tuple[ReplicaKey, tuple[Endpoint, ...]]], kraft_version: int
    ) -> "VoterHistory":
        """Of an empty log. Raises ValueError when a voter stands there twice."""
        first = VotersSince(offset=Offset(0), epoch=Epoch(0), voters=VoterSet.of(voters))
        return cls((first,), ((Offset(0), kraft_version),))

    @property
    def newest(self) -> VoterSet:
        """What a node does now goes by this one."""
        return self.sets[-1].voters

    @property
    def newest_since(self) -> Offset:
        return self.sets[-1].offset

    @property
    def kraft_version(self) -> int:
        return self.versions[-1][1]

    @property
    def must_be_written(self) -> bool:
        """Is the set known from the formatting alone, so that a replica that was not formatted
        with it could not learn it from the log? The first leader writes it."""
        return self.kraft_version != STATIC and len(self.sets) == 1 and not self.is_logged

    def at(self, offset: Offset) -> VoterSet:
        """The one in force for a record at `offset`."""
        known = (since.voters for since in reversed(self.sets) if since.offset <= offset)
        return next(known, self.sets[0].voters)

    def appended(self, batch: Batch) -> "VoterHistory":
        """With the records of a control batch that is in the log now."""
        history = self
        for record in batch.records():
            control = decode_control(record.key, record.value)
            history = history._with(control, record.offset, batch.header.leader_epoch)
        return history

    def truncated(self, end: Offset) -> "VoterHistory":
        """Without the records at `end` and above, which are no more in the log."""
        first, *later = self.sets
        version, *versions = self.versions
        return replace(
            self,
            sets=(first, *(since for since in later if since.offset < end)),
            versions=(version, *(each for each in versions if each[0] < end)),
        )

    def _with(self, record: ControlRecord, offset: Offset, epoch: Epoch) -> "VoterHistory":
        if self.is_logged and offset <= self.sets[0].offset:
            return self  # the snapshot knows what came later
        match record:
            case Voters(voters=rows):
                since = VotersSince(offset=offset, epoch=epoch, voters=VoterSet.of_rows(rows))
                return replace(self, sets=(*self.sets, since))
            case KRaftVersion(version=version):
                return replace(self, versions=(*self.versions, (offset, version)))
            case _:
                return self

    # --- snapshots (KIP-630) ---

    def records_at(self, end: Offset) -> tuple[ControlRecord, ...]:
        """What a snapshot of everything below `end` says of the voters, after its header."""
        version = next(v for since, v in reversed(self.versions) if since < max(end, 1))
        if version == STATIC:
            return ()
        rows = tuple(self.at(Offset(max(end - 1, 0))).rows.values())
        return KRaftVersion(version=version), Voters(voters=rows)

    def after_snapshot(self, records: Iterable[ControlRecord], end: Offset) -> "VoterHistory":
        """Of a log that begins at `end`, behind a snapshot that says `records` of the voters.

        What it does not say is as the disk was formatted.
        """
        history = VoterHistory(self.sets[:1], self.versions[:1])
        for record in records:
            history = history._with(record, Offset(max(end - 1, 0)), Epoch(0))
        is_logged = len(history.sets) > 1
        return VoterHistory(history.sets[-1:], history.versions[-1:], is_logged)
