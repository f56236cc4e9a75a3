"""What was ever committed: one log, which no node contradicts, and which a majority keeps."""

from collections.abc import Callable

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import NOTHING, Keys, KnownBatch, cut, holds
from node.ids import Epoch, LogPosition, Offset

CountHolders = Callable[[Keys, KnownBatch], int]  # how many of them hold a batch durably


class Commits:
    """The committed log, and the logs with which leaders were elected.

    Q7 (the high watermark never goes down over the sequence of leaders) needs no rule of its own:
    a leader's log holds all that was committed before (Q11) when it appends its LeaderChange, and
    what it publishes first lies above that (Q13).
    """

    def __init__(self, count_holders: CountHolders, voting: Callable[[KnownBatch], Keys]) -> None:
        self.log = NOTHING
        self._ends: dict[Offset, KnownBatch] = {NOTHING.end: NOTHING}
        self._elected: dict[Epoch, KnownBatch] = {}
        self._newest = Epoch(0)
        self._count_holders = count_holders
        self._voting = voting
        self._voted = voting(NOTHING)  # the newest set of the leader that committed last

    def ending_at(self, snapshot: LogPosition) -> KnownBatch:
        """The committed log below a snapshot's end. Raises Broken (Q15) where there is none."""
        batch = self._ends.get(snapshot.offset)
        if batch is None or batch.epoch != snapshot.epoch:
            what = f"a snapshot ends at {snapshot.offset} of epoch {snapshot.epoch}, "
            raise Broken("Q15-snapshots-of-committed", what + f"and {self.log} is committed")
        return batch

    def elect(self, epoch: Epoch, log: KnownBatch) -> None:
        """A leader was elected: its log holds all that is committed (Leader Completeness)."""
        if not holds(log, self.log):
            what = f"the leader of epoch {epoch} lacks {self.log}, which is committed"
            raise Broken("Q11-leader-completeness", what)
        self._elected[epoch] = log
        self._newest = max(self._newest, epoch)

    def reach(self, log: KnownBatch, high_watermark: Offset, leads: Epoch | None) -> None:
        """A node reports the committed part of its log, as the leader of epoch `leads`, or not as
        one."""
        if high_watermark > log.end:
            what = f"a high watermark of {high_watermark}, and a log that ends at {log.end}"
            raise Broken("Q8-node-high-watermark", what)
        batch = cut(log, high_watermark)
        if batch.end <= self.log.end:
            if self._ends.get(batch.end) is not batch:
                what = f"{batch} is reported as committed, and another log is committed there"
                raise Broken("Q12-committed-agree", what)
        elif leads is None:
            what = f"a follower reports {batch} as committed, and no leader did"
            raise Broken("Q12-committed-agree", what)
        else:
            self._advance(batch, leads, self._voting(log))

    def still_kept(self) -> None:
        """After a log was truncated, or a disk came back: a majority holds what is committed.

        A majority of the voters in force there, or of a newer set, even if its record is not
        committed: its leader counts by that one.
        """
        there = self._voting(self.log)
        held = self._count_holders(there, self.log)
        if held > len(there) // 2:
            return
        if self._count_holders(self._voted, self.log) <= len(self._voted) // 2:
            what = f"{self.log} is committed, and only {held} voters hold it durably"
            raise Broken("Q9-committed-by-majority", what)

    def _advance(self, batch: KnownBatch, epoch: Epoch, voting: Keys) -> None:
        if not holds(batch, self.log):
            what = (
                f"{batch} is reported as committed, in a log without {self.log}, which is committed"
            )
            raise Broken("Q12-committed-agree", what)
        if epoch < self._newest:
            self._compare_with_successors(batch, epoch)
        self._voted = voting
        known, self.log = self.log, batch
        while batch is not known:
            self._ends[batch.end] = batch
            assert batch.prefix is not None, "the committed log is below"
            batch = batch.prefix
        self.still_kept()

    def _compare_with_successors(self, batch: KnownBatch, epoch: Epoch) -> None:
        """A leader that was deposed may still learn that it had replicated to a majority."""
        for later, elected in self._elected.items():
            if later > epoch and not holds(elected, batch):
                what = f"{batch} is committed in epoch {epoch}, and the leader of epoch {later} "
                raise Broken("Q11-leader-completeness", f"{what}was elected without it")
