"""Without any fault, a client asks controllers for an operation that does not exist."""

from dataclasses import replace

from chaos.scenario import ExpectedOutcome, Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_ALTERING = replace(
    PROMISED, producers=2, consumers=1, rate=20.0, chores=("unknown-operations",), timeout_s=8.0
)

UNKNOWN_OPERATION = Scenario(
    name="unknown-operation",
    summary="a client asks for an operation that does not exist, without any fault",
    exists_for=("no-request-unseats",),
    description=(
        "A client alters a configuration through the brokers (IncrementalAlterConfigs), once a "
        "second, and asks between any two requests in which epoch the quorum is led. The operation "
        "is one that there is not. Apache Kafka's active controller takes that for an error of its "
        "own: it answers UNKNOWN_SERVER_ERROR, gives up its leadership, and another election is "
        "held. The other side asks for an operation that there is."
    ),
    takes=THREE_BROKERS,
    faults=(),
    default_duration_s=20.0,
    load=_ALTERING,
    settings={"min_isr": "2", "quorum": "static", "controllers": "3"},
    sides=(
        Side(
            name="an operation that there is not",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID, check="no-request-unseats", anomaly="unseated controller"
            ),
            promise="the active controller gives up its leadership",
            own=ExpectedOutcome(expected=AS_PROMISED, promise="it goes on leading"),
        ),
        Side(
            name="a known operation",
            settings={},
            chores=("known-operations",),
            expected=AS_PROMISED,
            promise="it goes on leading",
        ),
    ),
)
