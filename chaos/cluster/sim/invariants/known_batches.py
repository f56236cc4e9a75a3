"""Every batch that any log ever held, once: Log Matching by induction.

A batch is known by its epoch and base offset, and points at the batch before it. Where a log
appends a known batch, it must be the very same one after the very same predecessor; so two logs
that hold one batch hold one prefix, and whether a log holds a batch is whether its end leads back
to it. A log is then no more than a pointer at its last batch.
"""

from dataclasses import dataclass

from chaos.cluster.sim.invariants.broken import Broken
from node.ids import Epoch, Offset
from node.records.batch import BatchHeader


@dataclass(eq=False, slots=True, kw_only=True)
class KnownBatch:
    """A batch with all that stands before it; compared by identity."""

    epoch: Epoch
    base: Offset
    end: Offset  # the offset after its last record
    crc: int
    prefix: "KnownBatch | None"

    def __str__(self) -> str:
        return f"the batch at {self.base} of epoch {self.epoch}"


NOTHING = KnownBatch(epoch=Epoch(0), base=Offset(0), end=Offset(0), crc=0, prefix=None)


def cut(log: KnownBatch, end: Offset) -> KnownBatch:
    """The last batch of `log` that lies below `end`. As many steps as batches are left out."""
    while log.end > end:
        assert log.prefix is not None, f"no log ends at {end}"
        log = log.prefix
    return log


def holds(log: KnownBatch, batch: KnownBatch) -> bool:
    return log.end >= batch.end and cut(log, batch.end) is batch


class KnownBatches:
    """All batches of all logs of a run."""

    def __init__(self) -> None:
        self._known: dict[tuple[Epoch, Offset], KnownBatch] = {}
        self._newest: dict[Epoch, KnownBatch] = {}
        self._starts: dict[Epoch, Offset] = {}

    def start_of(self, epoch: Epoch) -> Offset | None:
        """Where the first batch of an epoch lies: its LeaderChange."""
        return self._starts.get(epoch)

    def append(self, log: KnownBatch, header: BatchHeader) -> KnownBatch:
        """The log with one batch more. Raises Broken (Q5) where no log may hold that there."""
        epoch, base = header.leader_epoch, header.base_offset
        known = self._known.get((epoch, base))
        if known is None:
            return self._begin(log, header)
        if (known.crc, known.end) != (header.crc, header.next_offset):
            raise Broken("Q5-log-matching", f"{known} has other bytes in another log")
        if known.prefix is not log:
            raise Broken(
                "Q5-log-matching",
                f"{known} stands after {known.prefix} in another log, and after {log} in this one",
            )
        return known

    def _begin(self, log: KnownBatch, header: BatchHeader) -> KnownBatch:
        """A batch nobody had: its leader adds it to all that it wrote in its epoch so far."""
        epoch, base = header.leader_epoch, header.base_offset
        newest = self._newest.get(epoch)
        if newest is not None and newest is not log:
            raise Broken(
                "Q5-log-matching",
                f"epoch {epoch} goes on at {base} after {log}, but its last is {newest}",
            )
        batch = KnownBatch(
            epoch=epoch, base=base, end=header.next_offset, crc=header.crc, prefix=log
        )
        self._known[epoch, base] = self._newest[epoch] = batch
        self._starts.setdefault(epoch, base)
        return batch
