"""Scenarios of transactions: power failures with open and with committed transactions, and members
of a group that transform records."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Condition, TransactionsCommitted, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import AllBrokers, InSyncFollower, PartitionLeader
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS, TWO_IN_SYNC, TWO_OF_THREE
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# The power of all brokers fails, and a partition holds transactions open that no client can end: no
# coordinator knows them any more, or theirs reports them as committed.


_TRANSACTIONS, _OTHERS = 4, 4

# All send in transactions, none of which ends by itself. A segment is full after a second.
_OPEN = replace(
    PROMISED,
    producers=_TRANSACTIONS,
    idempotent_share=1.0,
    transactional=True,
    rate=20.0,
    configs={**PROMISED.configs, "segment.ms": "1000"},
)

# Each sends in one transaction for about five seconds, and commits it; four others go on, in
# another partition.
_COMMITTED = replace(
    _OPEN,
    partitions=2,
    producers=_TRANSACTIONS + _OTHERS,
    idempotent_share=_TRANSACTIONS / (_TRANSACTIONS + _OTHERS),
    commit_after=25,
    rate=40.0,
    chores=("syncing-coordinators",),
)


def _script(condition: Condition, *then: ScriptStep) -> Script:
    return Script(
        steps=(
            Until(condition=condition),
            *then,
            Begin(name="power", fault=PowerOff(victim=AllBrokers())),
            Rest(seconds=1.0),
            End(name="power"),
            Until(condition=Whole(3), within_s=60.0),
            Rest(seconds=3.0),
        )
    )


def _sides(name: str, anomaly: str) -> tuple[Side, ...]:
    return (
        Side(
            name=name,
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID, check="ended-transactions-are-over", anomaly=anomaly
            ),
            promise="readers of committed transactions stand still",
        ),
        Side(
            name="log.flush.interval.messages=1",
            settings={"log.flush.interval.messages": "1"},
            expected=AS_PROMISED,
            promise="they come to the end",
        ),
    )


# The segment with the first records is full by then, and synced.
_WHILE_OPEN = _script(Acknowledged(40), Rest(seconds=4.0))

HANGING_TRANSACTION = Scenario(
    name="hanging-transaction",
    summary="the power of all brokers fails while transactions are open",
    exists_for=("ended-transactions-are-over",),
    description=(
        "Kafka syncs a segment when it is full, and so the first records of a transaction may be "
        "on every disk while those of its coordinator, in a log that hardly grows, are on none. "
        "After a power cut of all brokers the log holds an open transaction of which no "
        "coordinator knows. Nothing ends it: not its time-out, and not a new producer with the "
        "same transactional id. Readers of committed transactions stand still before it. Where "
        "each message is synced (log.flush.interval.messages=1) the coordinator remembers, and "
        "the new producer ends it."
    ),
    takes=THREE_BROKERS,
    faults=_WHILE_OPEN.faults,
    script=_WHILE_OPEN,
    default_duration_s=30.0,
    load=_OPEN,
    settings=TWO_IN_SYNC,
    sides=_sides("unsynced", "hanging transaction"),
)

# By then the coordinators have recorded that the partition has its markers.
_ONCE_COMMITTED = _script(TransactionsCommitted(_TRANSACTIONS))

REMEMBERED_COMMIT = Scenario(
    name="remembered-commit",
    summary="the power of all brokers fails when transactions are committed; the coordinators' "
    "logs are synced, the partition's is not",
    exists_for=("ended-transactions-are-over",),
    description=(
        "An operator has the logs of the transactions' coordinators synced with each message "
        "(flush.messages=1 of __transaction_state), as hanging-transaction suggests. A commit is "
        "noted there, and the partition gets a marker, which is not synced. After a power cut of "
        "all brokers the coordinator knows that the transaction is committed, and that all were "
        "told; the partition holds it open. A new producer with the same transactional id has "
        "nothing to end. Readers of committed transactions stand still before it, until that id "
        "commits in that partition again. Where each message is synced everywhere "
        "(log.flush.interval.messages=1) the marker is there."
    ),
    takes=THREE_BROKERS,
    faults=_ONCE_COMMITTED.faults,
    script=_ONCE_COMMITTED,
    default_duration_s=30.0,
    load=_COMMITTED,
    settings=TWO_IN_SYNC,
    sides=_sides("coordinators-synced", "called committed before"),
)


# Members of a group transform records in transactions while brokers are killed and members come, go
# and fall silent.


def _turn(number: int, fault: Fault) -> tuple[ScriptStep, ...]:
    name = f"broker {number}"
    return (
        Begin(name=name, fault=fault),
        Rest(seconds=4.0),
        End(name=name),
        Until(condition=Whole(3), within_s=90.0),
        Rest(seconds=6.0),
    )


# Members have joined by then; meanwhile each of them falls silent, comes and goes.
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=12.0),
        *_turn(1, Kill(victim=PartitionLeader())),
        *_turn(2, Kill(victim=InSyncFollower())),
    )
)

TRANSFORM_EXACTLY_ONCE = Scenario(
    name="transform-exactly-once",
    summary="brokers are killed while members of a group transform records in transactions",
    exists_for=("each-record-is-processed-once",),
    description=(
        "Members of a group consume what clients send, transform it, and put out what comes of it "
        "in transactions that commit the group's offsets with it (KIP-98, KIP-447). One of them "
        "comes and goes, and one falls silent for longer than its session in the midst of a "
        "transaction: others process the same records by then, and it must not commit any more. "
        "Some transactions are aborted. Brokers that lead, or coordinate, are killed meanwhile. "
        "At the end each record that the group has come past is in the committed output once. "
        "Our own brokers know no transactions: this is for Apache Kafka."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=60.0,
    load=replace(
        PROMISED, partitions=3, producers=6, rate=30.0, timeout_s=2.0, chores=("transforming",)
    ),
    settings=TWO_IN_SYNC,
)
