"""The voter sets by log offset: the log owns them, and no other copy is kept.

A set is in force from its record on, committed or not, and no more once the record is truncated
(KIP-853, KIP-856 "Internal listener"). So it follows every append and every truncation. At start it
is read from the control batches of the log; the set before them comes from a snapshot, from what
the disk was formatted with, or from the configuration (`node.raft.voter_forms`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from node.ids import Endpoint, Epoch, NodeId, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft.voter_forms import STATIC, ForeignVoters, ListedNodes, VoterForm, WholeSets
from node.raft.voter_set import VoterSet
from node.records.batch import Batch
from node.records.control import (
    AddVoter,
    ControlRecord,
    KRaftVersion,
    RemoveVoter,
    Voters,
    decode_control,
)

_NAMING = Voters | AddVoter | RemoveVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersSince:
    """A voter set, in force from the record at `offset` on; `epoch` is the record's.

    If several records of a batch name the set, it is the last one: no log ends between them.
    """

    offset: Offset
    epoch: Epoch
    voters: VoterSet


@dataclass(frozen=True, slots=True)
class VoterHistory:
    """The voter sets in the order of the offsets from which on they are in force.

    The first one comes from no record of the log: it is the set of the snapshot before it, the one
    that the disk was formatted with, or the one that is configured.
    """

    sets: tuple[VotersSince, ...]  # at least one, offsets rise
    versions: tuple[tuple[Offset, int], ...]  # kraft.version likewise
    form: VoterForm
    is_logged: bool = False  # is the first set from a snapshot, and so from the log before it?
    fault: ForeignVoters | None = None  # why this node cannot use the log

    @classmethod
    def formatted(
        cls, voters: Iterable[tuple[ReplicaKey, tuple[Endpoint, ...]]], kraft_version: int
    ) -> "VoterHistory":
        """Of an empty log (KIP-853). Raises ValueError for a voter listed twice."""
        return _beginning(VoterSet.of(voters), kraft_version, WholeSets())

    @classmethod
    def listed(cls, nodes: Mapping[NodeId, tuple[Endpoint, ...]], me: ReplicaKey) -> "VoterHistory":
        """Of an empty log (KIP-856), from controller.quorum.voters."""
        form = ListedNodes(nodes)
        return _beginning(form.first_set(me), STATIC, form)

    @property
    def newest(self) -> VoterSet:
        """The set that is in force now."""
        return self.sets[-1].voters

    @property
    def newest_since(self) -> Offset:
        return self.sets[-1].offset

    @property
    def kraft_version(self) -> int:
        return self.versions[-1][1]

    @property
    def is_named(self) -> bool:
        """Does a record of the log, or of the snapshot before it, name the voters? Otherwise the
        first leader writes them, for nodes that cannot know them otherwise."""
        return len(self.sets) > 1 or self.is_logged

    def is_removing(self, key: ReplicaKey) -> bool:
        """Does the newest voter record remove this replica? While it is not committed, it may yet
        be truncated, here or in another log."""
        named = self.sets if self.is_logged else self.sets[1:]
        return len(named) > 1 and key in named[-2].voters and key not in named[-1].voters

    def first_records(self, met: Iterable[ReplicaKey]) -> tuple[ControlRecord, ...]:
        """The voter records that a leader has to write before it goes on, if any; `met`: the
        replicas that fetched from it, the latest last."""
        if self.is_named:
            return ()
        return self.form.first_records(self.newest, self.kraft_version, met)

    def lets_write(self, voter_ends: Sequence[Offset]) -> bool:
        """May a leader without metadata in its log write some? By the voters' durable ends."""
        return self.form.lets_write(self.newest_since if self.is_named else None, voter_ends)

    def at(self, offset: Offset) -> VoterSet:
        """The set in force for a record at `offset`."""
        known = (since.voters for since in reversed(self.sets) if since.offset <= offset)
        return next(known, self.sets[0].voters)

    def appended(self, batch: Batch) -> "VoterHistory":
        """With the records of a control batch that is in the log now."""
        records = [(each.offset, decode_control(each.key, each.value)) for each in batch.records()]
        return self._with(records, batch.header.leader_epoch)

    def truncated(self, end: Offset) -> "VoterHistory":
        """Without the records at `end` and above, which are no longer in the log."""
        first, *later = self.sets
        version, *versions = self.versions
        return replace(
            self,
            sets=(first, *(since for since in later if since.offset < end)),
            versions=(version, *(each for each in versions if each[0] < end)),
        )

    def _with(
        self, records: Iterable[tuple[Offset, ControlRecord]], epoch: Epoch
    ) -> "VoterHistory":
        if self.is_logged:  # the snapshot includes later changes
            records = [each for each in records if each[0] > self.sets[0].offset]
        history = self
        for offset, record in records:
            if isinstance(record, KRaftVersion):
                versions = (*history.versions, (offset, record.version))
                history = replace(history, versions=versions)
        before = self.newest if self.is_named else None
        try:
            voters = self.form.named(before, [record for _, record in records])
        except ForeignVoters as why:
            return replace(self, fault=why)
        if voters is None:
            return history
        last = max(offset for offset, record in records if isinstance(record, _NAMING))
        since = VotersSince(offset=last, epoch=epoch, voters=voters)
        return replace(history, sets=(*history.sets, since))

    # --- snapshots (KIP-630) ---

    def records_at(self, end: Offset) -> tuple[ControlRecord, ...]:
        """The voter records of a snapshot of everything below `end`, after its header."""
        version = next(v for since, v in reversed(self.versions) if since < max(end, 1))
        return self.form.records_of(self.at(Offset(max(end - 1, 0))), version)

    def after_snapshot(self, records: Iterable[ControlRecord], end: Offset) -> "VoterHistory":
        """The history of a log that begins at `end`, after a snapshot with these voter records.

        What the snapshot does not name is as formatted or configured.
        """
        first = VoterHistory(self.sets[:1], self.versions[:1], self.form)
        last = Offset(max(end - 1, 0))
        history = first._with([(last, record) for record in records], Epoch(0))
        return replace(
            history,
            sets=history.sets[-1:],
            versions=history.versions[-1:],
            is_logged=history.is_named,
        )


def _beginning(voters: VoterSet, kraft_version: int, form: VoterForm) -> VoterHistory:
    first = VotersSince(offset=Offset(0), epoch=Epoch(0), voters=voters)
    return VoterHistory((first,), ((Offset(0), kraft_version),), form)
