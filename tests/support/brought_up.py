"""Brokers that register and are unfenced, by what they say to a controller."""

from collections.abc import Callable
from uuid import UUID

from node.ids import NodeId
from node.wire.api_versions import SUPPORTED_FEATURES
from node.wire.apis import Request, Response
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
)


def bring_up(ask: Callable[[Request], Response], broker: NodeId, cluster_id: str) -> int:
    """It has listeners nowhere, and is not heard of again. Its broker epoch."""
    registered = ask(
        BrokerRegistrationRequest(
            broker=broker,
            cluster_id=cluster_id,
            incarnation=UUID(int=1000 + broker),
            listeners=(),
            features=tuple(
                FeatureRange(name=name, lowest=lowest, highest=highest)
                for name, lowest, highest in SUPPORTED_FEATURES
            ),
            directories=(UUID(int=2000 + broker),),
        )
    )
    assert isinstance(registered, BrokerRegistrationResponse)
    ask(
        BrokerHeartbeatRequest(
            broker=broker,
            epoch=registered.epoch,
            metadata_offset=registered.epoch,
            want_fence=False,
            want_shutdown=False,
        )
    )
    return registered.epoch
