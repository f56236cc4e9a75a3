"""Who asks for transactions is told that this version has none; and what features there are."""

from node.errors import ErrorCode
from node.ids import ZERO_UUID
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import (
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from node.wire.produce import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
)
from tests.support.broker_world import CONTROLLER, BrokerWorld

_BROKER = 4
_REFUSED = ErrorCode.UNSUPPORTED_VERSION


def _registered() -> BrokerWorld:
    world = BrokerWorld((_BROKER,))
    world.until(lambda: world.ask(_BROKER, ApiVersionsRequest()) is not None, "it serves clients")
    return world


def test_transactions_are_refused_as_a_version_that_there_is_not() -> None:
    world = _registered()
    found = world.ask(_BROKER, FindCoordinatorRequest(keys=("t",), key_type=TRANSACTION))
    assert isinstance(found, FindCoordinatorResponse)
    assert [each.error for each in found.coordinators] == [_REFUSED]
    begun = world.ask(_BROKER, InitProducerIdRequest(transactional_id="t"))
    assert isinstance(begun, InitProducerIdResponse)
    assert begun.error is _REFUSED
    for contradictory in (
        InitProducerIdRequest(transactional_id=""),
        InitProducerIdRequest(transactional_id="t", producer_id=7),
    ):
        refused = world.ask(_BROKER, contradictory)
        assert isinstance(refused, InitProducerIdResponse)
        assert refused.error is ErrorCode.INVALID_REQUEST
    at = TopicPartition(name="orders", index=0, id=ZERO_UUID)
    sent = world.ask(
        _BROKER,
        ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            transactional_id="t",
            partitions=(ProducedPartition(partition=at, records=b""),),
        ),
    )
    assert isinstance(sent, ProduceResponse)
    assert [each.error for each in sent.results] == [_REFUSED]


def test_brokers_tell_the_version_of_the_quorum_as_controllers_do() -> None:
    world = _registered()
    told = [world.ask(each, ApiVersionsRequest()) for each in (_BROKER, CONTROLLER)]
    for each in told:
        assert isinstance(each, ApiVersionsResponse)
        assert ("kraft.version", 1) in each.finalized
