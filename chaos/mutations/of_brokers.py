"""What is planted in the controller's decisions on brokers and partitions, and who must find it.

P partitions, E eligible leader replicas. What the checks make of a metadata log that random brokers
and operators caused stands in `tests/chaos/mutations/test_of_brokers.py`; `in_brokers.py` has those
that runs of a scenario show as well.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMutation:
    """One planted bug; `checks` are those whose promise it breaks first."""

    id: str
    wrong: str  # what goes wrong, in one line
    real: str  # where it was real
    checks: tuple[str, ...]


_CATALOGUE = (
    BrokerMutation(
        id="P-FENCED-ISR",
        wrong="a leader's ISR is taken as it is, fenced brokers and all",
        real="KIP-841, KAFKA-13916",
        checks=("P3-only-active-brokers-lead",),
    ),
    BrokerMutation(
        id="P-EPOCH-BUMP",
        wrong="a process that registers again gets another broker epoch",
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
        wrong="who registers after an unclean shutdown stays eligible",
        real="KAFKA-18635",
        checks=("E5-unclean-registration-drops", "E6-lost-bytes-are-not-clean"),
    ),
    BrokerMutation(
        id="E-NO-ELECT",
        wrong="who registers after an unclean shutdown leaves the ISR that it goes on leading",
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
        wrong="an eligible replica is elected although one of the ISR could be",
        real="the rule of KIP-966, left out",
        checks=("E7-elr-elected-with-empty-isr",),
    ),
    BrokerMutation(
        id="E-MINISR-DRIFT",
        wrong="another min.insync.replicas leaves ELRs as they were",
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
        wrong="a leader takes the ISR that the controller answers for one of the min ISR it knows",
        real="this node, until AlterPartition's answers were taken from the metadata log",
        checks=(),
    ),
)

# Of a leader beside a controller: found in every order of both (`tests/support/isr_orders.py`), and
# by no run yet, for the answer has to overtake a raised min.insync.replicas.
LEADER_MUTATIONS: dict[str, BrokerMutation] = {each.id: each for each in _OF_LEADERS}
BROKER_MUTATIONS: dict[str, BrokerMutation] = {each.id: each for each in _CATALOGUE}
