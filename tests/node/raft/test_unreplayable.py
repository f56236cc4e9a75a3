"""Records that this node does not know: it keeps them, follows and votes, and never leads."""

import itertools
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.codec import write_whole
from node.codec.varint import write_unsigned
from node.effects import ElectionState
from node.ids import Epoch, LogPosition, NodeId, Offset
from node.raft.roles import Candidate, Follower, Leader, Prospective, Unattached
from node.records.batch import KeyValue, encode_batch
from node.records.metadata import UnknownRecord, decode_metadata
from node.records.snapshot import SnapshotEncoder
from node.wire.fetch import FetchResponse
from node.wire.vote import EndQuorumEpochRequest, VoteRequest, VoteResponse
from tests.support.codec_shapes import values_of
from tests.support.kafka_schemas import KafkaRecord, kafka_records, with_schemas
from tests.support.memory_log import MemoryLog
from tests.support.rig import CLUSTER, ME, NO_OP, OTHER, QUIET, Rig, batch, log_of

QUOTA = b"\x01\x0e\x00" + b"any body"
TOLD = {"offset": 1, "record": "ClientQuotaRecord (type 14, version 0)"}


def of(records: list[bytes], base: int = 0) -> bytes:
    pairs: list[KeyValue] = [(None, value) for value in records]
    return encode_batch(
        pairs, base_offset=Offset(base), leader_epoch=Epoch(1), timestamp_ms=0, control=False
    )


def stored(rig: Rig) -> bytes:
    return b"".join(batch.data for batch in rig.log.batches)


def unfit(rig: Rig) -> list[dict[str, Any]]:
    return [dict(trace.fields) for trace in rig.traces if trace.event == "q.unfit"]


def may_lead(rig: Rig) -> bool:
    """Left without a leader for many time-outs, does it ask for votes?"""
    before = len(rig.asked)
    rig.pass_ms(5_000)  # twice and more of every time-out
    asks = any(isinstance(ask.request, VoteRequest) for ask in rig.asked[before:])
    assert asks == isinstance(rig.role, Prospective | Candidate | Follower)
    assert asks != isinstance(rig.role, Unattached)
    return asks


def following(*records: list[bytes]) -> Rig:
    rig = Rig(timeouts=QUIET)
    rig.follow()
    base = 0
    for values in records:
        rig.feed(of(values, base))
        base += len(values)
    return rig


def test_it_follows_votes_and_does_not_stand() -> None:
    rig = following([NO_OP, QUOTA, NO_OP], [QUOTA])
    assert stored(rig) == of([NO_OP, QUOTA, NO_OP]) + of([QUOTA], 3)
    assert unfit(rig) == [TOLD]
    assert not may_lead(rig)
    asked = VoteRequest(
        cluster_id=CLUSTER,
        voter=ME.id,
        voter_directory=ME.directory,
        candidate=OTHER,
        epoch=Epoch(2),
        last_epoch=Epoch(1),
        last_offset=Offset(4),
        pre_vote=False,
    )
    answer = rig.request(asked)
    assert isinstance(answer, VoteResponse)
    assert answer.granted
    assert not may_lead(rig)


def test_a_leader_that_resigns_in_its_favour_waits_for_another() -> None:
    rig = following([QUOTA])
    told = EndQuorumEpochRequest(
        cluster_id=CLUSTER, leader=NodeId(2), epoch=Epoch(1), preferred=(ME,), leader_endpoints=()
    )
    rig.request(told)
    assert isinstance(rig.role, Unattached)
    assert not may_lead(rig)
    rig.follow(leader=3, epoch=2)
    assert isinstance(rig.role, Follower)


def test_it_looks_at_its_whole_log_when_it_starts() -> None:
    again = Rig(timeouts=QUIET, log=following([NO_OP], [QUOTA]).log)
    assert unfit(again) == [TOLD]
    assert not may_lead(again)
    assert may_lead(Rig(timeouts=QUIET, log=log_of(1, 1)))


@pytest.mark.parametrize("leader", [-1, 1])
def test_what_it_stood_for_before_it_ended_it_does_not_stand_for_again(leader: int) -> None:
    """quorum-state of a candidate, and of a leader, which gives up its epoch and waits."""
    election = ElectionState(
        epoch=Epoch(4), leader=NodeId(leader), voted=ME if leader < 0 else None
    )
    rig = Rig(timeouts=QUIET, log=following([QUOTA]).log, election=election)
    assert not isinstance(rig.role, Candidate)
    assert not may_lead(rig)


def behind_a_snapshot(*values: bytes) -> MemoryLog:
    """An empty log that starts at the end of a snapshot of these records."""
    log, end = MemoryLog(), LogPosition(Epoch(1), Offset(7))
    encoder = SnapshotEncoder(end.epoch, 0)
    log.write_snapshot(end, 0, encoder.opening(()) + encoder.data(values) + encoder.closing())
    log.finish_snapshot(end)
    log.replace(end)
    return log


@pytest.mark.parametrize("size", [1, 3])
def test_it_looks_at_the_snapshot_that_its_log_starts_at(size: int) -> None:
    """Before it takes a role: alone, it would lead at once."""
    rig = Rig(size=size, timeouts=QUIET, log=behind_a_snapshot(NO_OP, QUOTA))
    assert unfit(rig) == [{**TOLD, "offset": 6}]
    assert not may_lead(rig)
    assert isinstance(rig.role, Unattached)
    assert rig.core.role.controller.applied == 7
    assert may_lead(Rig(timeouts=QUIET, log=behind_a_snapshot(NO_OP, NO_OP)))


def test_what_means_nothing_any_more_is_replayed_as_nothing() -> None:
    """A log that was begun on Kafka 3.4 to 3.9 has it among its first records."""
    migrated = b"\x01\x15\x00" + b"\x00\x00"
    rig = following([NO_OP, migrated], [NO_OP])
    before = rig.core.role.controller.image.digest
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(1), high_watermark=3))
    assert rig.core.role.controller.applied == 3
    assert rig.core.role.controller.image.digest == before
    assert unfit(rig) == []
    assert may_lead(rig)
    assert may_lead(Rig(timeouts=QUIET, log=rig.log))


def test_a_log_begun_on_kafka_3_is_led() -> None:
    """By its only controller, which goes on writing into it."""
    migrated = b"\x01\x15\x00" + b"\x00\x00"
    rig = Rig(size=1, timeouts=QUIET, log=following([NO_OP, migrated]).log)
    rig.pass_ms(20_000)
    assert isinstance(rig.role, Leader)
    assert rig.core.role.controller.applied > 2
    assert unfit(rig) == []


def test_where_there_is_no_other_voter_nobody_leads() -> None:
    rig = Rig(size=1, timeouts=QUIET, log=following([QUOTA]).log)
    rig.pass_ms(20_000)
    assert isinstance(rig.role, Unattached)


def test_once_it_is_cut_off_the_node_stands_again() -> None:
    rig = following([NO_OP], [QUOTA])
    rig.follow(leader=3, epoch=2)
    diverging = LogPosition(Epoch(1), Offset(1))
    rig.reply(3, FetchResponse(leader=NodeId(3), epoch=Epoch(2), diverging=diverging))
    assert rig.log.end().offset == 1
    assert unfit(rig) == [TOLD, {"offset": -1, "record": ""}]
    assert may_lead(rig)


def test_what_is_cut_off_behind_it_changes_nothing() -> None:
    rig = following([NO_OP], [QUOTA], [NO_OP])
    rig.follow(leader=3, epoch=2)
    diverging = LogPosition(Epoch(1), Offset(2))
    rig.reply(3, FetchResponse(leader=NodeId(3), epoch=Epoch(2), diverging=diverging))
    assert rig.log.end().offset == 2
    assert unfit(rig) == [TOLD]
    assert not may_lead(rig)


def framed(number: int, version: int, body: bytes) -> bytes:
    frame = bytearray(b"\x01")
    write_unsigned(frame, number)
    write_unsigned(frame, version)
    return bytes(frame) + body


# What no release has written yet: newer types, and newer versions of those there are.
NEWER = st.builds(
    framed,
    number=st.sampled_from([30, 127, 128, 2**16]),
    version=st.sampled_from([0, 1, 200]),
    body=st.binary(max_size=20),
) | st.builds(
    framed,
    number=st.sampled_from([4, 12, 20, 27]),
    version=st.sampled_from([1, 2, 128]),
    body=st.binary(max_size=20),
)


# Of a broker, topic or partition that another record has to have made: without it they are no log
# that any controller wrote.
OF_ANOTHER = (1, 2, 3, 5, 7, 8, 9, 17, 28)


@cache  # made once, and not for each example
def of_kafka() -> st.SearchStrategy[bytes]:
    """Any metadata record of Kafka's release that stands by itself, in any version."""
    found = [each for each in kafka_records() if each.number >= 0 and each.number not in OF_ANOTHER]
    return st.one_of([values_of(each.record).map(partial(_framed, each)) for each in found])


def _framed(kind: KafkaRecord, value: object) -> bytes:
    return framed(kind.number, kind.version, write_whole(value))


@with_schemas
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_log_of_kafkas_records_is_kept_and_led_only_where_all_are_known(
    data: st.DataObject,
) -> None:
    one = of_kafka() | NEWER | st.just(NO_OP)
    batches = data.draw(st.lists(st.lists(one, min_size=1, max_size=4), max_size=4))
    rig = following(*batches)
    bases = itertools.accumulate(map(len, batches), initial=0)
    assert stored(rig) == b"".join(map(of, batches, bases))
    values = list(itertools.chain.from_iterable(batches))
    unknown = [i for i, v in enumerate(values) if isinstance(decode_metadata(v), UnknownRecord)]
    assert [told["offset"] for told in unfit(rig)] == unknown[:1]
    again = Rig(timeouts=QUIET, log=rig.log)
    assert [told["offset"] for told in unfit(again)] == unknown[:1]
    for each in (rig, again):
        assert may_lead(each) == (not unknown)
    # It follows on, whoever leads, and replays what it knows.
    rig.follow(leader=3, epoch=int(rig.role.epoch) + 1)
    rig.pass_ms(400)  # longer than any back-off from it
    rig.feed(batch(len(values), 1), hwm=len(values) + 1, epoch=int(rig.role.epoch), leader=3)
    assert rig.core.role.controller.applied == len(values) + 1
