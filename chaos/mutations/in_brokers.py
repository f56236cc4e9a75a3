"""What is planted in simulated clusters that have brokers, and who must find it: P partitions, E
eligible leader replicas (KIP-966).

Six stories show them: of the last replica standing, where the ISR shrinks to one broker, and that
one loses its power; one in which it shrinks to one broker that is well; one in which it shrinks and
grows again and again; one in which the controllers do not hear a broker; one in which the brokers
are restarted, one after another; and one in which all are killed, and the last leader comes back
last. `in_answers.py` has what is told and is not so.
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
    """One that the controller's own log shows as well."""
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
        wrong="a high watermark moves however few are in the ISR",
        real="KAFKA-15583",
        checks=("P8-moved-with-min-isr", "P8-shown-with-min-isr"),
        scenario="hwm-under-min-isr",
        duration_s=40.0,
        settings={"elr": "on"},
    ),
    _of_storm(
        "P-HWM-COMMITTED",
        wrong="who lags is not waited for any more, though the controller has not let it go",
        real="HS AsyncIsr",
        checks=("P7-maximal-isr-holds-all",),
    ),
    _of_storm(
        "P-HWM-DOWN",
        wrong="a high watermark falls to where a follower is that was not heard of",
        real="the rule of KIP-966, left out",
        checks=("P12-high-watermark-rises",),
    ),
    Mutation(
        id="P-STALE-EPOCH",
        wrong="a broker joins an ISR by what an earlier life of it had",
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
        wrong="who follows another leader cuts its log at the high watermark that it knew",
        real="KIP-101, Apache Kafka before 0.11",
        checks=("P16-no-committed-record-cut",),
        tries=12,  # few followers change their leader here while they lag: four cuts a run at most
        simulated=False,
    ),
    _of_storm(
        "P-STAY-FENCED",
        wrong="a fenced broker that has replicas is never unfenced",
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
        wrong="the file that vouches for a clean shutdown is there before there is one",
        real="the rule of KIP-966, left out",
        checks=("E6-clean-as-vouched", "E6-lost-bytes-are-not-clean"),
    ),
    _of_controller("E-NO-DETECT", "last-replica-standing", simulated=False),
    replace(_of_controller("P-FENCED-ISR", "heartbeat-cut"), duration_s=40.0),
    _of_controller("E-FENCED-LKL", "fenced-last-leader"),
    _of_controller("E-EAGER", "isr-shrink-storm", settings={"min_isr": "3"}, tries=4),
    _of_last_replica(
        "P-LAST-REPLICA",
        wrong="who was in the ISR last leads again, whatever it has lost",
        real="KIP-966, Motivation",
        checks=("E8-nobody-else-is-elected", "log-durability", "P16-no-committed-record-cut"),
    ),
    Mutation(
        id="P-NOT-DEMOTED",
        wrong="a broker that is about to shut down leads on",
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
