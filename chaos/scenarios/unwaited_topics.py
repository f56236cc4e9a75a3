"""A client library that is told not to wait: what is its success worth?"""

from dataclasses import replace

from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, MAKES_UP_TOPICS, PROMISED, THREE_BROKERS, TWO_IN_SYNC
from workloads.library_clients import UNWAITED

_WAITS = "librdkafka"

UNWAITED_TOPICS = Scenario(
    name="unwaited-topics",
    summary="topics are created by librdkafka, which is told to wait until they are, or not to",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "With an operation time-out of 0 librdkafka takes the brokers' REQUEST_TIMED_OUT for a "
        "success: what a broker of the days of ZooKeeper went on with, in its own time. A "
        "controller of KRaft refuses a request whose time is over, and creates nothing. Nobody is "
        "hurt in this scenario; what is accused is an acknowledgement by the client library."
    ),
    takes=THREE_BROKERS,
    faults=(),
    default_duration_s=8.0,
    load=replace(PROMISED, rate=50.0, admin_rate=4.0),
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="operation timeout 0",
            settings={},
            topic_client=UNWAITED,
            expected=MAKES_UP_TOPICS,
            promise="topics are acknowledged that were never created",
        ),
        Side(
            name="operation timeout 5 s",
            settings={},
            topic_client=_WAITS,
            expected=AS_PROMISED,
            promise="every topic that is acknowledged is there",
        ),
    ),
)
