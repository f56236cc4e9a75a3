"""Bugs in the controller's decisions on brokers and partitions, and the checks that must find them.

P partitions, E eligible leader replicas. `tests/chaos/mutations/test_of_brokers.py` runs the checks
on metadata logs made by random brokers and operators; `in_brokers.py` has the bugs that runs of a
scenario show as well.
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
