"""Every batch that any log ever held, once: Log Matching by induction.

A batch is known by its epoch and base offset, and points at the batch before it. Where a log
appends a known batch, it must be the very same one after the very same predecessor; so two logs
that hold one batch hold one prefix, and whether a log holds a batch is whether its end leads back
to it. A log is then no more than a pointer at its last batch.
"""

from dataclasses import dataclass
from typing import NamedTuple

from chaos.cluster.sim.invariants.rules import Broken
from node.ids import Epoch, NodeId, Offset, ReplicaKey
from node.records.batch import BatchHeader

Keys = frozenset[ReplicaKey]


class Sent(NamedTuple):
    """The producer id, epoch and sequence of a batch of an idempotent producer (KIP-98)."""

    producer: int
    epoch: int
    first: int  # sequence numbers
    last: int


@dataclass(eq=False, slots=True, kw_only=True)
class KnownBatch:
    """A batch with all that stands before it; compared by identity."""

    epoch: Epoch
    base: Offset
    end: Offset  # the offset after its last record
    crc: int
    prefix: "KnownBatch | None"
    names: Keys | None = None  # the voters from here on, if it names them
    naming: "KnownBatch | None" = None  # the newest one that names them, itself or before it
    has_metadata: bool = False  # itself or before it; else there are only control records
    sent: Sent | None = None  # None: not by an idempotent producer

    def __str__(self) -> str:
        return f"the batch at {self.base} of epoch {self.epoch}"


SEQUENCES = 2**31  # after the last of them a producer wraps around
NOTHING = KnownBatch(epoch=Epoch(0), base=Offset(0), end=Offset(0), crc=0, prefix=None)


def cut(log: KnownBatch, end: Offset) -> KnownBatch:
    """The last batch of `log` that lies below `end`. As many steps as batches are left out."""
    while log.end > end:
        assert log.prefix is not None, f"no log ends at {end}"
        log = log.prefix
    return log


def holds(log: KnownBatch, batch: KnownBatch) -> bool:
    return log.end >= batch.end and cut(log, batch.end) is batch


def are_by_id(voting: Keys) -> bool:
    """Whether no record names them yet, so that their directories are unknown (KIP-856)."""
    return any(key.known_directory is None for key in voting)


def majority_of(voting: Keys) -> int:
    """All, for voters that are known by id only: a majority of them may have been wiped."""
    return len(voting) if are_by_id(voting) else len(voting) // 2 + 1


def sent_by(header: BatchHeader) -> Sent | None:
    """None: not by an idempotent producer."""
    if header.producer_id < 0:
        return None
    first = header.base_sequence
    last = (first + header.last_offset_delta) % SEQUENCES
    return Sent(header.producer_id, header.producer_epoch, first, last)


class KnownBatches:
    """All batches of all logs of one name in a run; `first` are the voters until a batch names
    them."""

    def __init__(self, first: Keys, rule: str = "Q5-log-matching") -> None:
        self.first = first
        self._rule = rule
        self._known: dict[tuple[Epoch, Offset], KnownBatch] = {}
        self._newest: dict[Epoch, KnownBatch] = {}
        self._starts: dict[Epoch, Offset] = {}

    def find(self, epoch: Epoch, base: Offset) -> KnownBatch | None:
        """The batch, in whichever logs."""
        return self._known.get((epoch, base))

    def start_of(self, epoch: Epoch) -> Offset | None:
        """Where the first batch of an epoch lies: its LeaderChange."""
        return self._starts.get(epoch)

    def voting(self, log: KnownBatch) -> Keys:
        """The voters behind this log's end, whether or not that is committed."""
        naming = log.naming
        return self.first if naming is None or naming.names is None else naming.names

    def append(self, log: KnownBatch, header: BatchHeader, names: Keys | None = None) -> KnownBatch:
        """The log with one more batch. Raises Broken where no log may have it there."""
        epoch, base = header.leader_epoch, header.base_offset
        known = self._known.get((epoch, base))
        if known is None:
            return self._begin(log, header, names)
        if (known.crc, known.end) != (header.crc, header.next_offset):
            raise Broken(self._rule, f"{known} has other bytes in another log")
        if known.prefix is not log:
            raise Broken(
                self._rule,
                f"{known} stands after {known.prefix} in another log, and after {log} in this one",
            )
        return known

    def _begin(self, log: KnownBatch, header: BatchHeader, names: Keys | None) -> KnownBatch:
        """A new batch: its leader adds it to all that it wrote in its epoch so far."""
        epoch, base = header.leader_epoch, header.base_offset
        newest = self._newest.get(epoch)
        if newest is not None and newest is not log:
            raise Broken(
                self._rule,
                f"epoch {epoch} goes on at {base} after {log}, but its last is {newest}",
            )
        batch = KnownBatch(
            epoch=epoch,
            base=base,
            end=header.next_offset,
            crc=header.crc,
            prefix=log,
            names=names,
            naming=log.naming,
            has_metadata=log.has_metadata or not header.is_control,
            sent=sent_by(header),
        )
        if names is not None:
            self._check_change(log, batch, names)
            batch.naming = batch
        self._known[epoch, base] = self._newest[epoch] = batch
        self._starts.setdefault(epoch, base)
        return batch

    def _check_change(self, log: KnownBatch, batch: KnownBatch, names: Keys) -> None:
        """Majorities of two sets surely overlap only where the sets differ by one voter."""
        before = self.voting(log)
        if are_by_id(before):
            self._check_first(batch, names)
            return
        changed = names ^ before
        if len(changed) > 1:
            nodes = ", ".join(f"n{key.id}" for key in sorted(changed))
            what = f"{batch} adds or removes {nodes}, and more than one at once"
            raise Broken("V1-one-voter-at-a-time", what)

    def _check_first(self, batch: KnownBatch, names: Keys) -> None:
        """The first records name a disk of each listed node, and no other node."""
        named = sorted(key.id for key in names)
        if named != sorted(key.id for key in self.first) or are_by_id(names):
            what = f"{batch} is the first that names voters, and names {_list(named)}"
            raise Broken("P5-all-listed-are-named-at-once", what)


def _list(nodes: list[NodeId]) -> str:
    return ", ".join(f"n{node}" for node in nodes)
