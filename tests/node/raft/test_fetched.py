"""What a Fetch answer brings gets into the follower's log only if every node can replay it."""

import random
import struct
from collections.abc import Sequence
from itertools import pairwise

import crc32c
import pytest

from node.controller.image import Image
from node.effects import DisconnectPeer
from node.ids import Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.outbox import RequestTo
from node.raft.fetch_follower import sound_batches
from node.records.batch import KeyValue, encode_batch, split_batches
from node.records.control import LeaderChange, decode_control, encode_control
from node.records.metadata import ConfigRecord, decode_metadata, encode_metadata
from node.storage.disk import METADATA_DIRECTORY
from node.storage.log import Log
from node.wire.fetch import FetchResponse
from tests.support.power import Powered
from tests.support.rig import MS, NO_OP, QUIET, Rig, asked_node, batch, log_of

LEADER_CHANGE = LeaderChange(
    leader=NodeId(2), voters=(ReplicaKey(NodeId(1)), ReplicaKey(NodeId(2))), granting_voters=()
)
CONFIG = encode_metadata(
    ConfigRecord(resource_type=16, resource_name="r", name="metrics", value="x")
)
AT_END = LogPosition(Epoch(2), Offset(4))
FETCH_EPOCH = Epoch(3)


def of(records: Sequence[KeyValue], *, control: bool = False, base: int = 4) -> bytes:
    return encode_batch(
        records, base_offset=Offset(base), leader_epoch=Epoch(2), timestamp_ms=1, control=control
    )


def with_field(data: bytes, position: int, layout: str, value: int) -> bytes:
    """A header field changed by somebody who computes the CRC anew."""
    changed = bytearray(data)
    struct.pack_into(">" + layout, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c.crc32c(bytes(changed[21:])))
    return bytes(changed)


def test_what_goes_on_at_the_end_is_taken() -> None:
    data = batch(4, 2, 3) + of([encode_control(LEADER_CHANGE)], control=True, base=7) + batch(8, 3)
    fetched = sound_batches(data, AT_END, FETCH_EPOCH)
    assert ([each.header.base_offset for each in fetched.batches], fetched.fault) == (
        [4, 7, 8],
        None,
    )


@pytest.mark.parametrize("cut", [1, 30, 70])
def test_the_last_batch_may_be_cut_anywhere_but_the_first_may_not(cut: int) -> None:
    whole = sound_batches(batch(4, 2) + batch(5, 2)[:cut], AT_END, FETCH_EPOCH)
    assert (len(whole.batches), whole.fault) == (1, None)
    first = sound_batches(batch(4, 2)[:cut], AT_END, FETCH_EPOCH)
    assert first.batches == []
    assert first.fault is not None


def test_a_tagged_field_that_only_its_writer_knows_is_kept() -> None:
    """KIP-482: such a field is one that others may do without."""
    rig = Rig(timeouts=QUIET, log=log_of(1, 1, 2, 2))
    rig.follow(leader=2, epoch=FETCH_EPOCH)
    newer = of([(None, CONFIG[:-1] + b"\1\x63\1?")])
    rig.feed(newer, epoch=FETCH_EPOCH, hwm=5)
    assert rig.log.end() == LogPosition(Epoch(2), Offset(5))
    assert rig.log.read(Offset(4), 1 << 20).endswith(newer)


@pytest.mark.parametrize(
    "unsound",
    [
        pytest.param(batch(5, 2), id="a gap"),
        pytest.param(batch(3, 2), id="an overlap"),
        pytest.param(batch(4, 1), id="an epoch that goes down"),
        pytest.param(batch(4, 4), id="an epoch above the Fetch's"),
        pytest.param(batch(4, -1), id="a negative epoch"),
        pytest.param(batch(4, 2)[:-1] + b"\1", id="another CRC"),
        pytest.param(with_field(batch(4, 2), 16, "b", 1), id="magic 1"),
        pytest.param(with_field(batch(4, 2), 21, "h", 1), id="compressed"),
        pytest.param(with_field(batch(4, 2), 21, "h", 7), id="a codec that nobody knows"),
        pytest.param(with_field(batch(4, 2), 21, "h", 0x10), id="transactional"),
        pytest.param(with_field(batch(4, 2), 21, "h", -1), id="every attribute"),
        pytest.param(with_field(batch(4, 2), 21, "h", 0x20), id="a no-op as control record"),
        pytest.param(with_field(batch(4, 2), 23, "i", 2**31 - 1), id="offsets without records"),
        pytest.param(with_field(batch(4, 2), 57, "i", 0), id="no record"),
        pytest.param(with_field(batch(4, 2), 57, "i", -1), id="fewer than none"),
        pytest.param(with_field(batch(4, 2, 2), 57, "i", 1), id="one record too many"),
        pytest.param(of([(None, None)]), id="a record without a value"),
        pytest.param(of([(None, b"")]), id="an empty record"),
        pytest.param(of([(None, b"\2" + CONFIG[1:])]), id="an unknown frame version"),
        pytest.param(of([(None, CONFIG[:-2])]), id="a record cut short"),
        pytest.param(of([(None, CONFIG + b"\0")]), id="a record with more behind it"),
        pytest.param(of([(None, CONFIG)], control=True), id="a control record without a key"),
        pytest.param(of([(b"\0\0\0\x63", b"")], control=True), id="an unknown control record"),
        pytest.param(of([(b"\0\0\0\2", b"\xff")], control=True), id="a damaged LeaderChange"),
        pytest.param(
            of([(b"\0\0\0\6", b"\0\0\xff\xff\xff\xff\x07")], control=True),
            id="voters without end",
        ),
    ],
)
def test_what_is_unsound_is_not_appended_and_ends_the_connection(unsound: bytes) -> None:
    rig = Rig(timeouts=QUIET, log=log_of(1, 1, 2, 2))
    rig.follow(leader=2, epoch=FETCH_EPOCH)
    rig.feed(unsound, epoch=FETCH_EPOCH, hwm=5)
    assert rig.log.end() == AT_END
    assert DisconnectPeer(channel=rig.channel(2)) in rig.outputs
    assert [trace.fields["peer"] for trace in rig.traces if trace.event == "q.garbled"] == [2]
    # The node goes on, and takes the same offset when it comes in order.
    rig.pass_ms(30)
    rig.feed(batch(4, 2), epoch=FETCH_EPOCH, hwm=5)
    assert rig.log.end().offset == 5


@pytest.mark.parametrize(
    "diverging", [(3, 4), (3, 2**62), (2, 3), (2, -5), (0, -1), (0, 2**63 - 1), (2**30, 4)]
)
def test_a_divergence_where_the_log_cannot_be_cut_ends_the_connection(
    diverging: tuple[int, int],
) -> None:
    rig = Rig(timeouts=QUIET)
    rig.follow(leader=2, epoch=FETCH_EPOCH)
    rig.feed(batch(0, 2, 2) + batch(2, 2, 2), epoch=FETCH_EPOCH)
    rig.reply(
        2,
        FetchResponse(
            leader=NodeId(2),
            epoch=FETCH_EPOCH,
            diverging=LogPosition(Epoch(diverging[0]), Offset(diverging[1])),
        ),
    )
    assert rig.log.end() == AT_END
    assert DisconnectPeer(channel=rig.channel(2)) in rig.outputs


def test_a_leader_that_goes_on_sending_rot_is_asked_less_and_less_often() -> None:
    rig = Rig(timeouts=QUIET)
    rig.follow(leader=2, epoch=FETCH_EPOCH)
    rot = batch(0, 2)[:-1] + b"\1"
    asked_at_ms: list[int] = []
    began_ns = rig.now_ns
    while rig.now_ns < began_ns + 1500 * MS:
        if any(isinstance(out, RequestTo) and asked_node(out) == 2 for out in rig.outputs):
            asked_at_ms.append((rig.now_ns - began_ns) // MS)
            rig.feed(rot, epoch=FETCH_EPOCH)
        else:
            rig.pass_ms(1)
    gaps = [after - before for before, after in pairwise(asked_at_ms)]
    assert gaps == [20, 40, 80, 160, 320, 320, 320]
    rig.pass_ms(320)
    rig.feed(batch(0, 2), epoch=FETCH_EPOCH)  # and once it makes sense, the next rot is the first
    rig.feed(rot, epoch=FETCH_EPOCH)
    before = len(rig.asked)
    rig.pass_ms(21)
    assert 2 in [asked_node(ask) for ask in rig.asked[before:]]


# --- many damages, and the log that a node really has ---

SOUND = (
    batch(0, 1)
    + of([encode_control(LEADER_CHANGE)], control=True, base=1)
    + of([(None, CONFIG)] * 3, base=2)
    + batch(5, 3, 2, text=NO_OP)
)


def damaged(rng: random.Random) -> bytes:
    data = bytearray(SOUND)
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    position = 0
    for each in split_batches(SOUND):
        end = position + each.header.size
        # Half of them by somebody who computes the CRC anew.
        if rng.random() < 0.5:
            crc = crc32c.crc32c(bytes(data[position + 21 : end]))
            struct.pack_into(">I", data, position + 17, crc)
        position = end
    return bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data))))])


def test_nothing_that_is_taken_can_hurt_the_log_or_replay() -> None:
    """Decoded as the controller does; the real log asserts on what does not continue it."""
    rng = random.Random("fetched")
    taken = faults = 0
    for _ in range(3000):
        fetched = sound_batches(damaged(rng), LogPosition(Epoch(0), Offset(0)), FETCH_EPOCH)
        log = Log.open(Powered().disk, METADATA_DIRECTORY, 1 << 20)
        log.append(b"".join(each.data for each in fetched.batches))
        image = Image()
        for each in fetched.batches:
            for record in each.records():
                if each.header.is_control:
                    decode_control(record.key, record.value)
                else:
                    image.replay(decode_metadata(record.value))
        taken += len(fetched.batches)
        faults += fetched.fault is not None
    assert taken > 1000
    assert faults > 1000
