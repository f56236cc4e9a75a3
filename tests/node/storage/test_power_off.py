"""Log and election state under a power that may go at any step, as a state machine.

What must hold whenever the power is back: the log is opened, whatever pages were torn off; all that
was flushed is there; what else is there is a prefix of what was written; what was flushed before
the last flush is vouched for by the mark, and so is what a start found; the election state is the
last one that `save` returned about, or the one it was about to write.
"""

from copy import deepcopy
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chaos.cluster.interface import PowerCutMode
from node.effects import ElectionState
from node.ids import NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.records.batch import split_batches
from node.storage.election_store import ElectionStore
from node.storage.flush_mark import find_mark
from node.storage.layout import METADATA_DIRECTORY
from node.storage.log import Log
from tests.sim.every_choice import outcomes
from tests.support.batches import batch
from tests.support.power import PowerCut, Powered

SEGMENT_BYTES = 1500


class Storage(RuleBasedStateMachine):
    """`written` is the log as this machine knows it; the first `durable` batches must survive, and
    the mark must vouch for all below offset `vouched`, and for no more than `flushed` batches:
    those that are durable, and those that are about to be cut off."""

    @initialize()
    def start(self) -> None:
        self.power = Powered()
        self.disk = self.power.disk
        self.disk.make_directory(METADATA_DIRECTORY)
        self.log = Log.open(self.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        self.store = ElectionStore(self.disk)
        self.written: list[bytes] = []
        self.durable = self.flushed = 0
        self.vouched = Offset(0)
        # A node knows an epoch, durably, before it writes a record of it.
        self.saved = ElectionState(epoch=Epoch(1))
        self.store.save(self.saved)
        self.saving: ElectionState | None = None
        self.cut = False

    @precondition(lambda self: not self.cut)
    @rule(steps=st.integers(0, 30))
    def power_fails_soon(self, steps: int) -> None:
        self.power.steps_left = steps

    @precondition(lambda self: not self.cut)
    @rule(
        records=st.lists(st.integers(1, 4), min_size=1, max_size=4),
        newer=st.integers(0, 2),
        size=st.sampled_from([0, 300, 5000]),
    )
    def append(self, records: list[int], newer: int, size: int) -> None:
        end = self.log.end()
        offset = int(end.offset)
        batches = []
        for count in records:
            batches.append(batch(offset, end.epoch + newer, count, size=size))
            offset += count
        self.written += batches
        try:
            self.log.append(b"".join(batches))
        except PowerCut:
            self.cut = True

    @precondition(lambda self: not self.cut)
    @rule()
    def flush(self) -> None:
        before = self.log.mark.flushed if not self.log.flushed else self.vouched
        try:
            end = self.log.flush()
        except PowerCut:
            self.cut = True
            return
        assert end == self.log.end().offset
        self.vouched = before
        self.durable = self.flushed = len(self.written)

    @precondition(lambda self: not self.cut and self.written)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        keep = data.draw(st.integers(0, len(self.written) - 1))
        end = next(split_batches(self.written[keep])).header.base_offset
        # Cut off or not yet, according to when the power goes: only what is kept is promised.
        self.durable = min(self.durable, keep)
        self.vouched = min(self.vouched, end)
        try:
            self.log.truncate(end)
        except PowerCut:
            self.flushed = max(self.flushed, keep)  # a cut flushes what it leaves
            self.cut = True
            return
        self.written = self.written[:keep]
        self.durable = self.flushed = keep

    @precondition(lambda self: not self.cut)
    @rule(newer=st.integers(0, 2), voted=st.integers(-1, 3))
    def save(self, newer: int, voted: int) -> None:
        key = None if voted == NO_NODE else ReplicaKey(NodeId(voted))
        self.saving = ElectionState(epoch=Epoch(self.saved.epoch + newer), voted=key)
        try:
            self.store.save(self.saving)
        except PowerCut:
            self.cut = True
            return
        self.saved, self.saving = self.saving, None

    @rule(
        seed=st.integers(0, 2**32),
        mode=st.sampled_from(list(PowerCutMode)),
        again=st.none() | st.integers(0, 15),
    )
    def power_off(self, seed: int, mode: PowerCutMode, again: int | None) -> None:
        """The power goes, and `again` so many steps into what is done when it is back."""
        rng = Random(seed)
        self.power.power_off(mode, rng)
        self.power.steps_left = again
        try:
            self._start_again()
        except PowerCut:
            self.power.power_off(mode, rng)
            self.flushed = len(self.written)  # what the start found, before it said so
            self._start_again()
        self.power.steps_left = None
        self.cut = False

    @precondition(lambda self: self.cut)
    @rule()
    def disk_refuses(self) -> None:
        """It was no power cut but a disk that takes no more: the process ends, the page cache
        lives."""
        self.power.steps_left = None
        self._start_again()
        self.cut = False

    @precondition(lambda self: not self.cut)
    @rule()
    def kill(self) -> None:
        """The process dies, the page cache lives; what is read again is durable by then."""
        self.power.steps_left = None
        self.log = Log.open(self.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        assert self._batches() == self.written
        self._all_is_durable()

    @invariant()
    def reads_what_was_written(self) -> None:
        if not self.cut:
            assert self._batches() == self.written
            last = list(split_batches(b"".join(self.written)))[-1:]
            ends = [LogPosition(it.header.leader_epoch, it.header.next_offset) for it in last]
            assert [self.log.end()] == (ends or [LogPosition(Epoch(0), Offset(0))])

    def _start_again(self) -> None:
        self._load_election_state()
        marked = find_mark(self.disk, METADATA_DIRECTORY)
        assert marked is not None
        assert self.vouched <= marked <= sum(map(_records, self.written[: self.flushed]))
        self.log = Log.open(self.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        found = self._batches()
        assert found == self.written[: len(found)]
        assert len(found) >= self.durable
        self.written = found
        self._all_is_durable()

    def _all_is_durable(self) -> None:
        self.durable = self.flushed = len(self.written)
        self.vouched = self.log.end().offset

    def _load_election_state(self) -> None:
        loaded = self.store.load()
        assert loaded in (self.saved, self.saving)
        self.saved, self.saving = loaded, None

    def _batches(self) -> list[bytes]:
        found = []
        offset = self.log.start()
        while data := self.log.read(offset, 1 << 20):
            for each in split_batches(data):
                found.append(each.data)
                offset = each.header.next_offset
        return found


def _records(data: bytes) -> int:
    (only,) = split_batches(data)
    return only.header.record_count


Storage.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStorage = Storage.TestCase


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_what_was_truncated_stays_away(mode: PowerCutMode) -> None:
    """Told apart, because any other sync would commit the journal and hide that one is missing."""
    for seed in range(10):
        power = Powered()
        log = Log.open(power.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        log.append(batch(0, 1) + batch(1, 1))
        log.flush()
        log.truncate(Offset(1))
        power.power_off(mode, Random(seed))
        assert Log.open(power.disk, METADATA_DIRECTORY, SEGMENT_BYTES).end().offset == 1


@pytest.mark.parametrize("sizes", [[300], [300] * 20, [300] * 40, [5000] * 3])
def test_a_node_comes_back_from_whatever_a_torn_cut_leaves(sizes: list[int]) -> None:
    """Of many unflushed batches any pages may be gone: zeros between sound ones."""
    for seed in range(100):
        power = Powered()
        log = Log.open(power.disk, METADATA_DIRECTORY, 1 << 20)
        written = b"".join(batch(offset, 1, size=300) for offset in range(3))
        log.append(written)
        log.flush()
        more = b"".join(batch(3 + index, 1, size=size) for index, size in enumerate(sizes))
        log.append(more)
        power.power_off(PowerCutMode.TORN, Random(seed))
        again = Log.open(power.disk, METADATA_DIRECTORY, 1 << 20)
        found = again.read(Offset(0), 1 << 20)
        assert found.startswith(written)
        assert (written + more).startswith(found)
        assert again.cut is None or again.cut.end == again.end().offset
        assert Log.open(power.disk, METADATA_DIRECTORY, 1 << 20).cut is None


def _life(power: Powered) -> tuple[list[bytes], int]:
    """Appends over pages, flushes, a roll and a truncation, until the power goes at some step: what
    was written, and how many batches of it were durable by then."""
    written: list[bytes] = []
    durable = 0
    try:
        log = Log.open(power.disk, METADATA_DIRECTORY, 9_000)
        for sizes in ((300,), (3_900, 300, 300), (5_000, 300), (3_000,)):
            more = [batch(len(written) + index, 1, size=size) for index, size in enumerate(sizes)]
            written += more
            log.append(b"".join(more))
            log.flush()
            durable = len(written)
        durable = 4
        log.truncate(Offset(4))
        written = [*written[:4], batch(4, 2, size=6_000), batch(5, 2)]
        log.append(b"".join(written[4:]))
    except PowerCut:
        pass
    return written, durable


def _steps_of_a_life() -> int:
    power = Powered()
    _life(power)
    return power.steps


@pytest.mark.parametrize("steps", range(_steps_of_a_life() + 1))
def test_all_that_a_torn_cut_may_leave_is_opened_and_holds_what_was_flushed(steps: int) -> None:
    power = Powered(steps_left=steps)
    written, durable = _life(power)
    power.steps_left = None

    def cut(rng: Random) -> None:
        left = deepcopy(power)
        left.filesystem.before = lambda _: None
        left.power_off(PowerCutMode.TORN, rng)
        log = Log.open(left.disk, METADATA_DIRECTORY, 9_000)
        found = b"".join(log.read(it.base, 1 << 20) for it in log.segments if it.size)
        assert found.startswith(b"".join(written[:durable]))
        assert b"".join(written).startswith(found)

    for _ in outcomes(cut):
        pass
