"""Bugs for simulated clusters with brokers, and the checks that must find them: P partitions, E
eligible leader replicas (KIP-966).

Six scenarios show them: the last replica standing, where the ISR shrinks to one broker, which loses
its power; one in which the ISR shrinks to one healthy broker; one in which it shrinks and grows
repeatedly; one in which the controllers do not hear a broker; one in which the brokers are
restarted, one after another; and one in which all are killed, and the last leader comes back last.
`in_answers.py` has false answers.
"""

from collections.abc import Mapping
from dataclasses import replace

from chaos.mutations.in_answers import IN_ANSWERS
from chaos.mutations.in_replication import IN_REPLICATION
from chaos.mutations.mutation import Mutation
from chaos.mutations.of_brokers import BROKER_MUTATIONS


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
    _of_controller("E-FENCED-LKL", "fenced-last-leader"),
    _of_controller("E-EAGER", "isr-shrink-storm", settings={"min_isr": "3"}, tries=4),
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
