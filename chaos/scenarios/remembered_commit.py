"""The power of all brokers fails when transactions are committed, and only their coordinators have
synced that."""

from dataclasses import replace

from chaos.nemesis.awaited import TransactionsCommitted, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllBrokers
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, TWO_IN_SYNC
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_TRANSACTIONS, _OTHERS = 4, 4

# Four each send in one transaction for some five seconds, and commit it; four others go on, in
# another partition. A segment is full after one second.
_COMMITTED = replace(
    PROMISED,
    partitions=2,
    producers=_TRANSACTIONS + _OTHERS,
    idempotent_share=_TRANSACTIONS / (_TRANSACTIONS + _OTHERS),
    transactional=True,
    commit_after=25,
    rate=40.0,
    configs={**PROMISED.configs, "segment.ms": "1000"},
    chores=("syncing-coordinators",),
)

_SCRIPT = Script(
    steps=(
        # By then their coordinators have noted that the partition was told.
        Until(condition=TransactionsCommitted(_TRANSACTIONS)),
        Begin(name="power", fault=PowerOff(victim=AllBrokers())),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
        Rest(seconds=3.0),
    )
)

REMEMBERED_COMMIT = Scenario(
    name="remembered-commit",
    summary="the power of all brokers fails when transactions are committed; the coordinators' "
    "logs are synced, the partition's is not",
    description=(
        "An operator has the logs of the transactions' coordinators synced with each message "
        "(flush.messages=1 of __transaction_state), as hanging-transaction suggests. A commit is "
        "noted there, and the partition gets a marker, which nobody syncs. After a power cut of "
        "all brokers the coordinator knows that the transaction is committed, and that all were "
        "told; the partition holds it open. A new producer with the same transactional id has "
        "nothing to end. Readers of committed transactions stand still before it, until that id "
        "commits in that partition again. Where each message is synced everywhere "
        "(log.flush.interval.messages=1) the marker is there."
    ),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=_COMMITTED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="coordinators-synced",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="ended-transactions-are-over",
                anomaly="called committed before",
            ),
            promise="readers of committed transactions stand still",
        ),
        Side(
            name="log.flush.interval.messages=1",
            settings={"log.flush.interval.messages": "1"},
            expected=AS_PROMISED,
            promise="they come to the end",
        ),
    ),
)
