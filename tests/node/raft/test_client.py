"""What the quorum promises to whoever builds on it: whole, once, in order, and before it leads."""

from collections.abc import Iterable

import pytest

from node.controller.controller import Controller
from node.ids import Epoch, Now, Offset
from node.limits import MAX_RECORDS_PER_STEP
from node.raft.client import RaftClient
from node.raft.quorum import Quorum
from node.raft.roles import Leader
from node.records.batch import split_batches
from node.records.metadata import (
    ConfigRecord,
    MetadataRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
)
from node.wire.fetch import FetchResponse
from tests.node.raft.test_random_runs import run_seed
from tests.support.memory_log import MemoryLog
from tests.support.rig import NO_OP, QUIET, Rig, asked_node, batch

# Half a piece: of small records, and of long ones.
MANY = (MAX_RECORDS_PER_STEP // 2 - 5, NO_OP)
LONG = (
    16,
    encode_metadata(
        ConfigRecord(resource_type=16, resource_name="r", name="metrics", value="x" * 32_700)
    ),
)


class Told:
    """A controller that holds the seam to its word."""

    def __init__(self) -> None:
        self.own = self.of_the_log = self.claims = self.losses = 0
        self._committed = Controller.on_committed
        self._leadership = Controller.on_leadership
        self._ends: dict[Controller, Offset] = {}
        self._leads: dict[Controller, Epoch | None] = {}

    def on_committed(
        self, controller: Controller, last: Offset, values: Iterable[bytes | None] | None
    ) -> None:
        logged = self._logged(controller, last)
        if values is None:
            assert self._leads.get(controller) is not None, "own batches, and it does not lead"
            assert controller._appended[0].records == logged
            self.own += 1
        else:
            values = list(values)
            assert [decode_metadata(value) for value in values] == logged
            self.of_the_log += 1
        self._committed(controller, last, values)

    def on_leadership(self, controller: Controller, epoch: Epoch | None, now: Now) -> None:
        quorum = quorum_of(controller)
        before = self._leads.get(controller)
        if epoch is None:
            assert before is not None, "it is told twice, or never led"
            assert not (isinstance(quorum.role, Leader) and quorum.epoch == before)
            self.losses += 1
        else:
            assert before is None, "two epochs at once"
            assert isinstance(quorum.role, Leader)
            assert quorum.epoch == epoch
            assert self._ends[controller] > quorum.role.epoch_start
            assert self._ends[controller] == quorum.committed
            self.claims += 1
        self._leads[controller] = epoch
        self._leadership(controller, epoch, now)

    def _logged(self, controller: Controller, last: Offset) -> list[MetadataRecord | UnknownRecord]:
        """What the log says of the next batch, which must be the one that ends with `last`."""
        end = self._ends.get(controller, Offset(0))
        view = client_of(controller)._raft.log.view
        first = next(split_batches(view.read(end, 1)))
        assert (first.header.base_offset, first.header.last_offset) == (end, last)
        assert last < (quorum_of(controller).committed or 0)
        self._ends[controller] = Offset(last + 1)
        if first.header.is_control:
            return []
        return [decode_metadata(record.value) for record in first.records()]


def client_of(controller: Controller) -> RaftClient:
    return controller._raft


def quorum_of(controller: Controller) -> Quorum:
    return client_of(controller)._raft.quorum


@pytest.mark.parametrize("seed", [0, 1])
def test_all_that_is_committed_is_handed_over_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Under random faults; what a leader remembers of its own batches is what its log holds."""
    told = Told()
    monkeypatch.setattr(
        Controller, "on_committed", lambda *arguments: told.on_committed(*arguments)
    )
    monkeypatch.setattr(
        Controller, "on_leadership", lambda *arguments: told.on_leadership(*arguments)
    )
    run_seed(seed)
    assert min(told.own, told.of_the_log) > 100
    assert told.claims > told.losses > 0


@pytest.mark.parametrize(("count", "text"), [MANY, LONG], ids=["many records", "long records"])
def test_a_long_log_is_handed_over_a_bounded_piece_a_step(count: int, text: bytes) -> None:
    """Between the pieces the node serves what is ready: its deadline is now, not later."""
    log = MemoryLog()
    for n in range(5):
        log.append(batch(n * count, 1, count=count, text=text))
    rig = Rig(log=log, timeouts=QUIET)
    rig.follow()
    ask = rig.asked[-1]
    end = log.end().offset
    known = FetchResponse(leader=asked_node(ask), epoch=Epoch(1), high_watermark=end)
    rig.core.on_response(ask.channel, ask.correlation_id, known, rig.now())
    steps = [rig.core.role.controller.applied]
    while rig.core.next_deadline_ns() <= rig.now_ns:
        rig.core.on_timeout(rig.now())
        steps.append(rig.core.role.controller.applied)
    assert steps == [2 * count, 4 * count, 5 * count]
