"""Requests that wait take places, of which there are so many, and give them back."""

import random
from dataclasses import replace

import pytest

from node.config import ConnectionLimits
from node.effects import CloseConnection
from node.ids import ConnectionId
from node.outbox import Outbox, Parking, ResponseTo, Waiting
from node.wire.fetch import FetchResponse
from tests.node.controller.test_controller import active
from tests.support.registers import read_request, write_request
from tests.support.rig import fetch, key

PLACES = 5
PLACES_OF_A_NODE = ConnectionLimits().connections


def test_whoever_finds_no_place_is_hung_up_on_and_places_come_back() -> None:
    """Compared with a dictionary, over random requests, answers and hang-ups of two kinds."""
    rng, outbox = random.Random(3), Outbox()
    parking = Parking(outbox, PLACES)
    kinds = [Waiting[int](parking), Waiting[int](parking)]
    expected: dict[ConnectionId, tuple[int, int]] = {}
    refused = 0
    for number in range(2000):
        connection = ConnectionId(rng.randrange(3 * PLACES))
        if connection not in expected:
            kind = rng.randrange(2)
            has_place = len(expected) < PLACES
            assert kinds[kind].park(connection, number) is has_place
            told = outbox.drain()
            if has_place:
                expected[connection] = (kind, number)
                assert told == []
            else:
                refused += 1
                reason = f"{PLACES} requests wait already"
                assert told == [CloseConnection(connection=connection, reason=reason)]
        elif rng.random() < 0.5:
            kind, _ = expected.pop(connection)
            kinds[kind].respond(connection, FetchResponse())
            assert outbox.drain() == [ResponseTo(connection=connection, response=FetchResponse())]
        else:
            parking.forget(connection)
            del expected[connection]
            parking.forget(connection)
            assert outbox.drain() == []
        for kind, waiting in enumerate(kinds):
            assert waiting.all() == [(c, n) for c, (k, n) in expected.items() if k == kind]
            assert list(waiting.requests.items()) == waiting.all()
    assert refused > 100


def test_a_connection_has_one_request_at_a_time() -> None:
    parking = Parking(Outbox(), PLACES)
    Waiting[int](parking).park(ConnectionId(1), 0)
    with pytest.raises(AssertionError, match="waits"):
        Waiting[int](parking).park(ConnectionId(1), 0)


def test_a_node_without_places_hangs_up_and_decides_nothing() -> None:
    """Fetches, writes and reads share the places: as many as there may be connections."""
    rig = active()
    end = rig.log.end()
    known = rig.core.raft.quorum.committed or 0
    observer = fetch(epoch=1, offset=end.offset, last_epoch=1, replica=key(9))
    waits = replace(observer, high_watermark=known)
    for connection in range(100, 100 + PLACES_OF_A_NODE):
        rig.request(waits if connection % 2 else read_request("a"), connection)
    assert not any(rig.answered(connection) for connection in range(100, 100 + PLACES_OF_A_NODE))
    for late, request in (
        (5000, write_request("a", 1000)),
        (5001, read_request("a")),
        (5002, waits),
    ):
        rig.request(request, late)
        closed = [output for output in rig.outputs if isinstance(output, CloseConnection)]
        assert [close.connection for close in closed] == [late]
    rig.pass_ms(0)
    assert rig.log.end() == end
    rig.hung_up_on(ConnectionId(105))
    rig.request(read_request("a"), 6000)
    assert not any(isinstance(output, CloseConnection) for output in rig.outputs)
