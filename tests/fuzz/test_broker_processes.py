"""A small share of `python -m tests.fuzz.broker_processes`, and proof that it can tell a lie."""

from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from node.ids import NodeId
from node.wire.apis import BROKER_APIS
from node.wire.broker_frames import decode_request, encode_request
from node.wire.group_membership import JoinGroupRequest
from node.wire.partition_fetch import PartitionsFetchRequest
from node.wire.registration import UnregisterBrokerRequest
from node.wire.topic_changes import DeletedTopic, DeleteTopicsRequest
from tests.fuzz.broker_processes import check_replicas, fuzz, three_brokers
from tests.fuzz.broker_storm import IDS, draw, leaves_others_alone
from tests.fuzz.sessions import Surprise
from tests.support.batches import batch

COUNT = 2000  # a storm that lasts for some operations of others, on a busy machine too


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_three_brokers_outlive_clients_of_every_kind(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as cluster:
        report = fuzz(cluster, seed=1, count=COUNT)
    assert report.answered.total() > COUNT / 2
    served = {api.name for api in BROKER_APIS} - {"RemoveRaftVoter"}
    assert {name.split()[0] for name in report.answered} == served
    assert report.counts["replicas read"] > 20
    assert len(report.loaded.operations) > 10 or report.loaded.refusal


def test_all_that_brokers_serve_is_drawn() -> None:
    found = draw(Random(1), {"t0": UUID(int=1)}, 1500)
    assert {each.api.name for each in found} >= {api.name for api in BROKER_APIS} - {
        "RemoveRaftVoter"
    }


@pytest.mark.parametrize(
    "request_",
    [
        PartitionsFetchRequest(
            replica=NodeId(IDS[0]), max_wait_ms=0, min_bytes=1, max_bytes=1, partitions=()
        ),
        PartitionsFetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1, partitions=()),
        UnregisterBrokerRequest(broker=NodeId(IDS[1])),
        DeleteTopicsRequest(topics=(DeletedTopic(name="t0"),)),
        JoinGroupRequest(
            group="g",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=0,
            protocol_type="",
            protocols=(),
        ),
    ],
)
def test_what_would_take_from_others_is_not_sent(
    request_: PartitionsFetchRequest
    | UnregisterBrokerRequest
    | DeleteTopicsRequest
    | JoinGroupRequest,
) -> None:
    _, frame = encode_request(request_, correlation_id=1, client_id="c")
    _, read = decode_request(frame)
    assert not leaves_others_alone(read, set())


def test_replicas_that_differ_or_cannot_be_read_are_seen(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    segments = [path / f"{0:020}.log" for path in paths]
    first, second = batch(0, 0), batch(1, 0)
    for path, segment in zip(paths, segments, strict=True):
        path.mkdir()
        segment.write_bytes(first + second)
    segments[1].write_bytes(first)
    check_replicas("t-0", paths)
    segments[1].write_bytes(first + batch(1, 0, size=9))
    with pytest.raises(Surprise, match="different logs"):
        check_replicas("t-0", paths)
    segments[1].write_bytes(first + second[:-1] + b"?")
    with pytest.raises(Surprise, match="cannot read"):
        check_replicas("t-0", paths)
