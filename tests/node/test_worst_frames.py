"""The frames that are most work: each is served, and none holds the node's only thread for long."""

import pytest

from node import limits
from node.config import BrokerSettings, ConnectionLimits, QuorumTimeouts
from node.effects import CloseConnection, SendResponse
from tests.bench.steps import SteppedLeader
from tests.support.stepped_broker import SteppedBroker
from tests.support.worst_broker_frames import worst_broker_frames
from tests.support.worst_cluster_requests import BROKERS, requests_of_all
from tests.support.worst_frames import worst_frames

pytestmark = pytest.mark.slow

FETCH_TIMEOUT_S = QuorumTimeouts().fetch_ms / 1000


def test_no_legal_frame_is_the_work_of_a_fetch_timeout() -> None:
    """The bar is a tenth of it (`python -m tests.bench steps`); here a machine may be slow."""
    leader = SteppedLeader()
    leader.bring_up(BROKERS)
    names = []
    for name, frame in worst_frames(ConnectionLimits().request_max_bytes):
        answer = leader.serve(frame)
        assert answer is not None, f"{name}: hung up on"
        assert len(answer) <= limits.MAX_FRAME_BYTES
        assert leader.longest_s < FETCH_TIMEOUT_S, name
        names.append(name)
    assert len(names) == len(set(names)) > 100


def test_what_is_asked_of_all_partitions_at_once_is_answered_within_a_brokers_session() -> None:
    """The bar is a tenth of it (`python -m tests.bench steps`)."""
    leader = SteppedLeader()
    leader.bring_up(BROKERS)
    for name, request in requests_of_all():
        leader.ask(request)  # who is hung up on has no answer
        assert leader.longest_s < BrokerSettings().session_ms / 1000, name


def test_no_legal_frame_is_the_work_of_a_fetch_timeout_for_a_broker() -> None:
    broker = SteppedBroker()
    names = []
    for name, frame in worst_broker_frames():
        assert len(frame) <= ConnectionLimits().request_max_bytes, name
        done = broker.serve(frame)
        if isinstance(done, CloseConnection):  # as only who wants no answer hears of a refusal
            assert done.reason.startswith("records without acknowledgement (acks=0) failed"), (
                f"{name}: {done}"
            )
        if isinstance(done, SendResponse):
            assert len(done.frame) <= limits.MAX_FRAME_BYTES
        assert broker.longest_s < FETCH_TIMEOUT_S, name
        names.append(name)
    assert len(names) == len(set(names)) > 100
