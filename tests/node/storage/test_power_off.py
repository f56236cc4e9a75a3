"""Log and election state under a power that may go at any step, as a state machine.

What must hold whenever the power is back: the log is opened, whatever pages were torn off; all that
was flushed is there, or a snapshot is that stands for it; what else is there is a prefix of what
was written; what was flushed before the last eight is vouched for by the mark, and so is what a
start found; the election state is the last one that `save` returned about, or the one it was about
to write. Where a log does not start at 0, a snapshot ends there.
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
from node.storage.disk import METADATA_DIRECTORY
from node.storage.election_store import ElectionStore
from node.storage.log import Log
from node.storage.recovery import FLUSHES_A_RISE, find_mark
from tests.sim.every_choice import outcomes
from tests.support.batches import batch, snapshot
from tests.support.power import PowerCut, Powered

SEGMENT_BYTES = 1500


class Storage(RuleBasedStateMachine):
    """`written` is the log from `floor` on, as this machine knows it: whatever lies below was
    never here, but in a snapshot that was fetched. The first `durable` batches must survive, and
    the mark must vouch for all below offset `vouched`, and for no more than `flushed` batches:
    those that are durable, and those that are about to be cut off. `snapshots` are those that must
    be there, `fetched` is one that may be, and then replaces the log."""

    @initialize()
    def start(self) -> None:
        self.power = Powered()
        self.disk = self.power.disk
        self.disk.make_directory(METADATA_DIRECTORY)
        self.log = Log.open(self.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        self.store = ElectionStore(self.disk)
        self.floor = LogPosition(Epoch(0), Offset(0))
        self.written: list[bytes] = []
        self.snapshots: set[LogPosition] = set()
        self.fetched: LogPosition | None = None
        self.durable = self.flushed = 0
        self.vouched = Offset(0)
        self.ends: list[Offset] = []  # of flushes, since all was vouched for or something was cut
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
        is_one = not self.log.flushed
        before = self.log.mark.flushed if is_one else self.vouched
        try:
            end = self.log.flush()
        except PowerCut:
            self.cut = True
            return
        assert end == self.log.end().offset
        self.vouched = before
        if is_one:
            self.ends.append(end)
        if len(self.ends) > FLUSHES_A_RISE:
            assert self.vouched >= self.ends[-FLUSHES_A_RISE - 1]
        self.durable = self.flushed = len(self.written)

    @precondition(lambda self: not self.cut and self.written)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        # Nothing is cut off that a snapshot stands for: it is committed.
        newest = max((it.offset for it in self.snapshots), default=Offset(0))
        least = sum(_end(it).offset <= newest for it in self.written)
        if least == len(self.written):
            return
        keep = data.draw(st.integers(least, len(self.written) - 1))
        end = next(split_batches(self.written[keep])).header.base_offset
        # Cut off or not yet, according to when the power goes: only what is kept is promised.
        self.durable = min(self.durable, keep)
        self.vouched = min(self.vouched, end)
        self.ends.clear()
        try:
            self.log.truncate(end)
        except PowerCut:
            self.flushed = max(self.flushed, keep)  # a cut flushes what it leaves
            self.cut = True
            return
        self.written = self.written[:keep]
        self.durable = self.flushed = keep

    @precondition(lambda self: not self.cut and self.written)
    @rule(data=st.data(), values=st.integers(0, 3))
    def take_snapshot(self, data: st.DataObject, values: int) -> None:
        """Of what is committed; a leader's may be ahead of its own flush."""
        id_ = _end(self.written[data.draw(st.integers(0, len(self.written) - 1))])
        if id_ <= max(self.snapshots, default=self.floor):
            return
        try:
            self._write(id_, values)
        except PowerCut:
            self.cut = True
            return
        self.snapshots.add(id_)

    @precondition(lambda self: not self.cut and self.snapshots)
    @rule(data=st.data())
    def delete_before_snapshot(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(self.snapshots)))
        # Older ones may go now or later, according to when the power goes.
        self.snapshots = {it for it in self.snapshots if it >= id_}
        try:
            self.log.delete_before_snapshot(id_)
        except PowerCut:
            self.cut = True
            return
        assert self.log.start() in (0, id_.offset)

    @precondition(lambda self: not self.cut)
    @rule(ahead=st.integers(1, 9), newer=st.integers(0, 2), data=st.data())
    def fetch_snapshot(self, ahead: int, newer: int, data: st.DataObject) -> None:
        """Of a log that goes on from ours; or parts from it, above all that is committed."""
        end = self.log.end()
        offset = int(end.offset) + ahead
        if newer:
            least = max((it.offset for it in self.snapshots), default=self.floor.offset)
            offset = data.draw(st.integers(int(least) + 1, offset))
        id_ = LogPosition(Epoch(end.epoch + newer), Offset(offset))
        self.fetched = id_
        self.vouched = min(self.vouched, id_.offset)
        try:
            self._write(id_, 2)
            self.log.replace(id_)
        except PowerCut:
            self.cut = True
            return
        self._is_replaced()

    def _write(self, id_: LogPosition, values: int) -> None:
        whole = snapshot(id_, values, size=3000)
        for position in range(0, len(whole), 2000):
            self.log.write_snapshot(id_, position, whole[position : position + 2000])
        self.log.finish_snapshot(id_)

    def _is_replaced(self) -> None:
        assert self.fetched is not None
        self.floor, self.fetched = self.fetched, None
        self.written = []
        self.snapshots = {self.floor}
        self.durable = self.flushed = 0

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
        assert self._batches() == self._kept()
        self._all_is_durable()

    @invariant()
    def reads_what_was_written(self) -> None:
        if not self.cut:
            assert self._batches() == self._kept()
            assert self.log.end() == (_end(self.written[-1]) if self.written else self.floor)
            found = {it.id for it in self.log.snapshots()}
            assert self.snapshots <= found
            assert self.log.start() in {0} | {it.offset for it in found}
            assert self.log.start() <= min([it.offset for it in found], default=Offset(0))
            assert not self.log.kept.damaged

    def _kept(self) -> list[bytes]:
        """What was written and not cut behind a snapshot."""
        start = self.log.start()
        return [it for it in self.written if _end(it).offset > start]

    def _start_again(self) -> None:
        self._load_election_state()
        marked = find_mark(self.disk, METADATA_DIRECTORY)
        assert marked is not None
        flushed = self.written[: self.flushed]
        assert self.vouched <= marked
        assert marked <= (_end(flushed[-1]) if flushed else self.floor).offset
        self.log = Log.open(self.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
        found = {it.id for it in self.log.snapshots()}
        # One that is newer than what is left of the log replaces it, and older snapshots.
        start = self.log.start()
        assert {it for it in self.snapshots if it.offset >= start} <= found
        if self.fetched in found:
            self._is_replaced()
            assert self.log.end() == self.floor
            self._all_is_durable()
            return
        self.fetched = None
        self.snapshots = found
        end = self.log.end().offset
        assert self._batches() == [it for it in self._kept() if _end(it).offset <= end]
        self.written = [it for it in self.written if _end(it).offset <= end]
        assert len(self.written) >= self.durable
        self._all_is_durable()

    def _all_is_durable(self) -> None:
        self.durable = self.flushed = len(self.written)
        self.vouched = self.log.end().offset
        self.ends.clear()

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


def _end(data: bytes) -> LogPosition:
    """Of a log whose last batch this is."""
    (only,) = split_batches(data)
    return LogPosition(only.header.leader_epoch, only.header.next_offset)


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
