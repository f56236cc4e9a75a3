"""Requests of all that brokers serve, but for what takes from others what they need."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from uuid import UUID

from node.wire import MalformedFrame
from node.wire.api import Api
from node.wire.apis import BROKER_APIS, BY_REQUEST, HandedOn, Request
from node.wire.broker_frames import decode_request
from node.wire.partition_fetch import PartitionsFetchRequest
from node.wire.produce import ProduceRequest
from node.wire.raft_voters import RemoveVoterRequest
from node.wire.registration import UnregisterBrokerRequest
from node.wire.topic_changes import DeleteTopicsRequest
from tests.fuzz.broker_values import OFFSETS, TOPICS, Members, values
from tests.fuzz.callers import is_readable
from tests.fuzz.drawing import LIKELY, Drawn, draw_request, one_of

IDS = (4, 5, 6)
STEADY = "steady"  # the topic of the client that behaves; its first broker leads it
LONGEST_WAIT_MS = 2_000
LONGEST_SESSION_MS = 10_000


def draw(rng: random.Random, ids: dict[str, UUID], count: int) -> list[Drawn]:
    return list(islice(_draws(rng, ids, BROKER_APIS), count))


def draw_each(rng: random.Random, ids: dict[str, UUID]) -> list[Drawn]:
    """One that is read of every API in every version."""
    versions = [
        replace(api, min_version=version, max_version=version)
        for api in BROKER_APIS
        if api is not BY_REQUEST[RemoveVoterRequest]
        for version in range(api.min_version, api.max_version + 1)
    ]
    return [next(filter(is_readable, _draws(rng, ids, [api]))) for api in versions]


def _draws(rng: random.Random, ids: dict[str, UUID], apis: Sequence[Api]) -> Iterator[Drawn]:
    """Without end."""
    topic_ids = one_of(*ids.values(), *ids.values(), UUID(int=1))
    likely = {**LIKELY, **values(Members()), "topic_id": topic_ids}
    at = 0
    while True:
        drawn = draw_request(rng, at, likely, apis)
        try:
            _, request = decode_request(drawn.frame)
        except MalformedFrame:
            pass
        else:
            if not leaves_others_alone(request, set(ids.values())):
                continue
        yield drawn
        at += 1


def leaves_others_alone(request: Request, ids: set[UUID]) -> bool:
    if isinstance(request, HandedOn):
        request = request.request
    match request:
        case ProduceRequest(acks=0):  # whose answers then belong to what was sent before?
            return False
        case PartitionsFetchRequest(replica=replica) if replica in IDS:
            return False
        case UnregisterBrokerRequest(broker=broker) if broker in IDS:
            return False
        case RemoveVoterRequest():
            return False
        case DeleteTopicsRequest(topics=topics):
            used = (*TOPICS, OFFSETS, STEADY)
            if any(each.name in used or each.id in ids for each in topics):
                return False
        case _:
            pass
    waits = ("timeout_ms", "max_wait_ms", "rebalance_timeout_ms")
    longest_ms = max((getattr(request, each, 0) for each in waits), default=0)
    session_ms = getattr(request, "session_timeout_ms", 0)
    return longest_ms <= LONGEST_WAIT_MS and session_ms <= LONGEST_SESSION_MS
