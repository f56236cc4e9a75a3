"""Bugs in brokers, and in the controller's decisions on them, with the checks that must find them.

P partitions, E eligible leader replicas. `tests/chaos/mutations/test_of_brokers.py` runs the checks
on metadata logs made by random brokers and operators; the catalogue also has the bugs that runs of
a scenario show. `answer_catalogue.py` has false answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from chaos.bugs.answer_catalogue import IN_ANSWERS
from chaos.bugs.planted import Mutation


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMutation:
    """One planted bug; `checks` are those that promise what it breaks first."""

    id: str
    wrong: str  # what goes wrong, in one line
    real: str  # where it was real
    checks: tuple[str, ...]


_CATALOGUE = (
    BrokerMutation(
        id="P-FENCED-ISR",
        wrong="a leader's proposed ISR is accepted, fenced brokers included",
        real="KIP-841, KAFKA-13916",
        checks=("P3-only-active-brokers-lead",),
    ),
    BrokerMutation(
        id="P-EPOCH-BUMP",
        wrong="a process that registers again gets a new broker epoch",
        real="KAFKA-16952",
        checks=("M3-broker-epochs-rise",),
    ),
    BrokerMutation(
        id="P-REASSIGN",
        wrong="a reassignment is done before all targets are in sync",
        real="KAFKA-15665",
        checks=("reassigned-when-in-sync",),
    ),
    BrokerMutation(
        id="E-NO-DETECT",
        wrong="a broker that registers after an unclean shutdown stays eligible",
        real="KAFKA-18635",
        checks=("E5-unclean-registration-drops", "E6-lost-bytes-are-not-clean"),
    ),
    BrokerMutation(
        id="E-NO-ELECT",
        wrong="a broker that registers after an unclean shutdown leaves the ISR and goes on "
        "leading",
        real="KAFKA-18106",
        checks=("P2-leader-in-isr",),
    ),
    BrokerMutation(
        id="E-FENCED-LKL",
        wrong="the last known leader is elected while it is fenced",
        real="KAFKA-19522",
        checks=("P3-only-active-brokers-lead",),
    ),
    BrokerMutation(
        id="E-EAGER",
        wrong="an eligible replica is elected although a member of the ISR could be",
        real="the rule of KIP-966, left out",
        checks=("E7-elr-elected-with-empty-isr",),
    ),
    BrokerMutation(
        id="E-MINISR-DRIFT",
        wrong="a change of min.insync.replicas leaves ELRs as they were",
        real="KAFKA-16540",
        checks=("E2-elr-below-min-isr",),
    ),
    BrokerMutation(
        id="E-UNRELATED-WIPE",
        wrong="a replica that moves to another disk empties its partition's ELR",
        real="Apache Kafka 4.3 as shipped; its pull request 20716",
        checks=("E3-eligible-are-kept",),
    ),
)

_OF_LEADERS = (
    BrokerMutation(
        id="P-TOLD-ISR",
        wrong="a leader combines the ISR in the controller's answer with the old min ISR",
        real="this node, until AlterPartition's answers were taken from the metadata log",
        checks=(),
    ),
)

# Bugs of a leader: found by trying every order of leader and controller
# (`tests/support/isr_orders.py`), and by no run yet, for the answer has to overtake a raised
# min.insync.replicas.
LEADER_MUTATIONS: dict[str, BrokerMutation] = {each.id: each for each in _OF_LEADERS}
BROKER_MUTATIONS: dict[str, BrokerMutation] = {each.id: each for each in _CATALOGUE}


# Bugs in how replicas follow, are counted and are removed, in simulated clusters, and the checks
# that must find them.
#
# Scenarios of their own show most of these: brokers are restarted one after another over slow
# links, a leader is cut off and comes back with another log, a broker and the active controller
# are lost together, and clean shutdowns are followed by a power cut.


_CLEAN_STOP = ("E6-lost-bytes-are-not-clean", "log-durability")
_PARTED = ("P5-joined-with-all", "P7-maximal-isr-holds-all", "P11-replicas-agree")
_KEEPS_UP = ("P18-high-watermark-keeps-up",)


def _planted(
    name: str,
    scenario: str,
    *checks: str,
    wrong: str,
    real: str,
    duration_s: float = 40.0,
    settings: Mapping[str, str] | None = None,
    tries: int = 3,
) -> Mutation:
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario=scenario,
        duration_s=duration_s,
        settings={"elr": "on", **(settings or {})},
        tries=tries,
        simulated=True,
    )


IN_REPLICATION = (
    _planted(
        "P-DIVERGE-ACK",
        "slow-roll",
        *_PARTED,
        wrong="a follower is counted by its log end, though its log has diverged from its leader's",
        real="KAFKA-13141",
    ),
    _planted(
        "P-HWM-STUCK",
        "slow-roll",
        *_KEEPS_UP,
        wrong="a shrunk ISR does not move the high watermark",
        real="KAFKA-13091",
    ),
    _planted(
        "P-SHUT-HWM",
        "slow-roll",
        *_KEEPS_UP,
        wrong="a broker that has shut down is waited for until its lag time is over",
        real="KAFKA-15021",
    ),
    _planted(
        "P-EARLY-HWM",
        "stranded-leader",
        "P16-no-committed-record-cut",
        wrong="a follower takes over its leader's high watermark before it truncates its log",
        real="KAFKA-14704",
    ),
    _planted(
        "P-STALE-DIVERGE",
        "late-answer",
        "P16-no-committed-record-cut",
        wrong="a follower truncates its log where it diverges from that of an earlier leader",
        real="KAFKA-18991",
        tries=8,  # needs a follower with more than the next leader, and its Fetch on the way
    ),
    _planted(
        "P-LASTEPOCH",
        "isr-shrink-storm",
        *_PARTED,
        wrong="a follower forgets the epoch of its last record after an empty Fetch",
        real="KAFKA-15510",
        duration_s=24.0,
        tries=8,  # needs a follower with more than the next leader at its empty Fetch
    ),
    _planted(
        "P-NAME-ALL",
        "many-partitions",
        "P18-isrs-become-whole",
        wrong="a follower names all its partitions in one Fetch, more than its leader takes",
        real="this node, above 2,000 elements in a Fetch",
        duration_s=60.0,
        settings={"num.partitions": "200"},
    ),
    _planted(
        "P-NEVER-FENCED",
        "lost-together",
        "P18-silent-brokers-are-fenced",
        wrong="a new active controller starts no session for a broker before it hears it",
        real="KAFKA-18138",
    ),
    _planted(
        "P-BUSY-FENCE",
        "held-up-controller",
        "P18-heard-brokers-are-kept",
        wrong="heartbeats that a busy controller handles late do not count",
        real="KAFKA-15019",
    ),
    _planted(
        "P-STRAY",
        "lost-together",
        "no-stray-replicas",
        wrong="replicas of topics that were deleted while a broker was off stay on its disk",
        real="KAFKA-14616, and ours",
    ),
    _planted(
        "G-DEPOSED-COMMIT",
        "stranded-coordinator",
        "committed-offsets-are-kept",
        wrong="a deposed coordinator acknowledges what it appended as committed",
        real="KAFKA-20634",
    ),
    _planted(
        "E-CLEAN-UNSYNCED",
        "clean-stop-power-off",
        *_CLEAN_STOP,
        wrong="the clean-shutdown file is synced, and not the logs before it",
        real="the rule of KIP-966, left out",
        duration_s=20.0,
    ),
    _planted(
        "E-CLEAN-SEGMENT",
        "clean-stop-power-off",
        *_CLEAN_STOP,
        wrong="a clean shutdown syncs only the last segment, and vouches for all",
        real="Apache Kafka as shipped, for the end of its time index",
        duration_s=20.0,
        settings={"log.segment.bytes": "4096"},
    ),
    _planted(
        "E-ELECTION-WIPE",
        "isr-shrink-storm",
        "E3-eligible-are-kept",
        wrong="a check of preferred leaders empties the ELR of every partition that another leads",
        real="Apache Kafka before 4.3, for another change; its pull request 20716",
        duration_s=24.0,
        settings={"min_isr": "3", "leader.imbalance.check.interval.seconds": "1"},
        tries=4,
    ),
)


# Bugs for simulated clusters with brokers: P partitions, E eligible leader replicas (KIP-966).
#
# Six scenarios show them. The ISR shrinks to one broker, which loses its power; the ISR shrinks
# to one healthy broker; it shrinks and grows repeatedly; the controllers do not hear a broker;
# the brokers are restarted one after another; all are killed, and the last leader comes back
# last.


def _of_last_replica(
    name: str, *, wrong: str, real: str, checks: tuple[str, ...], simulated: bool = True
) -> Mutation:
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario="last-replica-standing",
        duration_s=30.0,
        settings={"elr": "on"},
        simulated=simulated,
    )


def _of_controller(
    name: str,
    scenario: str,
    *,
    settings: Mapping[str, str] | None = None,
    tries: int = 3,
    simulated: bool = True,
) -> Mutation:
    """A bug that the controller's own log shows as well."""
    planted = BROKER_MUTATIONS[name]
    return Mutation(
        id=name,
        wrong=planted.wrong,
        real=planted.real,
        checks=planted.checks,
        scenario=scenario,
        duration_s=30.0,
        settings={"elr": "on", **(settings or {})},
        tries=tries,
        simulated=simulated,
    )


def _of_storm(
    name: str,
    *,
    wrong: str,
    real: str,
    checks: tuple[str, ...],
    tries: int = 4,
    simulated: bool = True,
) -> Mutation:
    """Shown where brokers are cut off from their peers, or from the controllers, or paused."""
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario="isr-shrink-storm",
        duration_s=24.0,
        settings={"elr": "on"},
        tries=tries,
        simulated=simulated,
    )


IN_BROKERS = (
    Mutation(
        id="P-HWM-MINISR",
        wrong="a high watermark moves however few replicas are in the ISR",
        real="KAFKA-15583",
        checks=("P8-moved-with-min-isr", "P8-shown-with-min-isr"),
        scenario="hwm-under-min-isr",
        duration_s=40.0,
        settings={"elr": "on"},
    ),
    _of_storm(
        "P-HWM-COMMITTED",
        wrong="a lagging replica is not waited for, though it is still in the committed ISR",
        real="HS AsyncIsr",
        checks=("P7-maximal-isr-holds-all",),
    ),
    _of_storm(
        "P-HWM-DOWN",
        wrong="a high watermark falls to the offset of a follower that was not heard",
        real="the rule of KIP-966, left out",
        checks=("P12-high-watermark-rises",),
    ),
    Mutation(
        id="P-STALE-EPOCH",
        wrong="a broker joins an ISR by the log of its earlier life",
        real="KIP-903, KAFKA-14617",
        checks=("P4-joined-by-this-life",),
        scenario="controlled-shutdown-roll",
        duration_s=30.0,
        settings={"elr": "on"},
    ),
    _of_storm(
        "P-ISR-SHORT",
        wrong="a replica that lacks what is committed is proposed for the ISR",
        real="the rule of KIP-966 and KIP-320, left out",
        checks=("P5-joined-with-all",),
    ),
    _of_storm(
        "P-TRUNC-HWM",
        wrong="a follower of a new leader truncates its log to the high watermark that it knew",
        real="KIP-101, Apache Kafka before 0.11",
        checks=("P16-no-committed-record-cut",),
        tries=12,  # few followers change leader while they lag: at most four times a run
        simulated=False,
    ),
    _of_storm(
        "P-STAY-FENCED",
        wrong="a fenced broker with replicas is never unfenced",
        real="the rule of KIP-631, left out",
        checks=("P18-brokers-are-let-in",),
    ),
    _of_last_replica(
        "P-ISR-HASTY",
        wrong="a leader takes the ISR that it proposes for committed",
        real="KIP-497, Motivation",
        checks=("P6-isr-as-committed",),
    ),
    _of_last_replica(
        "E-CLEAN-LIE",
        wrong="the clean-shutdown file is written before the clean shutdown",
        real="the rule of KIP-966, left out",
        checks=("E6-clean-as-vouched", "E6-lost-bytes-are-not-clean"),
    ),
    _of_controller("E-NO-DETECT", "last-replica-standing", simulated=False),
    replace(_of_controller("P-FENCED-ISR", "heartbeat-cut"), duration_s=40.0),
    _of_controller("P-REASSIGN", "roll-while-moving"),
    _of_controller("E-FENCED-LKL", "fenced-last-leader"),
    _of_controller("E-EAGER", "isr-shrink-storm", settings={"min_isr": "3"}, tries=4),
    _of_controller("E-MINISR-DRIFT", "raised-min-isr", settings={"altered_min_isr": "1"}),
    Mutation(
        id="E-CLEAR-ELR",
        wrong="any change of min.insync.replicas empties ELR and last known leader",
        real="Apache Kafka 4.4.0 as shipped: finding 25",
        checks=("can-be-led-again",),
        scenario="stranded-partition",
        duration_s=40.0,
        settings={"elr": "on", "altered_min_isr": "3"},
        simulated=True,
    ),
    Mutation(
        id="E-FILE-MINISR",
        wrong="a cluster formatted with an ELR has no min.insync.replicas for all of its nodes",
        real="KAFKA-16540",
        checks=("log-durability", "P17-acknowledged-with-min-isr"),
        scenario="differing-min-isr",
        duration_s=30.0,
        settings={"elr": "on", "broker_min_isr": "1"},
        simulated=True,
    ),
    Mutation(
        id="E-CLEAR-GHOST",
        wrong="a change of min.insync.replicas makes a topic known again that was deleted",
        real="KAFKA-19383",
        checks=("brokers-know-the-topics", "told-metadata-is-so"),
        scenario="ghost-topic",
        duration_s=20.0,
        settings={"elr": "on"},
        tries=4,
        simulated=True,
    ),
    Mutation(
        id="E-LATE-ANSWER",
        wrong="an answer about a log counts after its broker was restarted",
        real="the rule of KIP-966, left out",
        checks=("E10-best-replica-is-elected", "log-durability"),
        scenario="recovery-interrupted",
        duration_s=40.0,
        settings={"elr": "on", "recovery": "balanced"},
        simulated=True,
    ),
    Mutation(
        id="E-BETTER-COMES",
        wrong="a Balanced recovery elects while a better replica is on its way",
        real="the rule of KIP-966, left out",
        checks=("E8-nobody-else-is-elected", "E10-best-replica-is-elected"),
        scenario="unclean-recovery",
        duration_s=30.0,
        settings={"elr": "on", "recovery": "balanced"},
        simulated=True,
    ),
    Mutation(
        id="E-LONGEST-LEO",
        wrong="the replica with the longest log is elected, whatever leader epoch it ends in",
        real="the rule of KIP-966, left out",
        checks=("E10-best-replica-is-elected", "log-durability"),
        scenario="older-log",
        duration_s=35.0,
        settings={"elr": "on", "recovery": "balanced"},
        simulated=True,
    ),
    Mutation(
        id="E-UNASKED-LKL",
        wrong="the last known leader is elected, fenced or not, and no log is compared",
        real="KAFKA-19522, in KIP-966's second part",
        checks=(
            "P3-only-active-brokers-lead",
            "E8-nobody-else-is-elected",
            "E10-best-replica-is-elected",
        ),
        scenario="unclean-recovery",
        duration_s=30.0,
        settings={"elr": "on", "recovery": "balanced"},
        simulated=True,
    ),
    _of_last_replica(
        "P-LAST-REPLICA",
        wrong="the last member of the ISR leads again, whatever it has lost",
        real="KIP-966, Motivation",
        checks=("E8-nobody-else-is-elected", "log-durability", "P16-no-committed-record-cut"),
    ),
    Mutation(
        id="P-NOT-DEMOTED",
        wrong="a broker that is about to shut down continues to lead",
        real="KAFKA-14296",
        checks=("P3-only-active-brokers-lead",),
        scenario="controlled-shutdown-roll",
        duration_s=30.0,
        settings={"elr": "on"},
        simulated=True,
    ),
    *IN_REPLICATION,
    *IN_ANSWERS,
)
