"""What fails no test even if nothing was lost: the kind of workload allows it."""

from enum import StrEnum

import numpy as np

from checkers.array_types import Flags
from checkers.log.anomalies import ALWAYS_ALLOWED, UNBOUND_BY_SILENCE, Anomaly, Cases
from checkers.log.arrays import LogArrays
from checkers.log.circles import Cycle
from checkers.log.dependencies import Dependency


class Isolation(StrEnum):
    """What transactions are promised of each other; each level includes the one before.

    JEPSEN is what Jepsen's Kafka workload insists on by default: no cycle fails its test, for it
    allows every G0 and, as it counts ww, every G1c. A workload that reads uncommitted has to use
    it. KAFKA is what read-committed consumers are promised: a transaction is seen once it is
    committed, so two transactions cannot have polled each other's records. Their sends interleave,
    so every cycle that needs a ww is normal, over real time too. PL_2 is Adya's read committed,
    which isolates sends: neither G0 nor G1c. It does not forbid G1b here, since a poll ends
    anywhere. SERIALIZABLE is PL-3: neither G1b, G-single nor G2. STRICT_SERIALIZABLE also orders
    transactions of which one began after the other ended, for polls too: they may not lag.
    """

    JEPSEN = "jepsen"
    KAFKA = "kafka"
    PL_2 = "pl-2"
    SERIALIZABLE = "serializable"
    STRICT_SERIALIZABLE = "strict-serializable"

    @property
    def anti(self) -> bool:
        """Whether the records that a poll did not see yet count."""
        return self in (Isolation.SERIALIZABLE, Isolation.STRICT_SERIALIZABLE)


def held_against(log: LogArrays, found: Cases, isolation: Isolation) -> Flags:
    """By case: whether it breaks a promise, if nothing that was promised is lost.

    What Jepsen allows wherever any consumer subscribes is allowed to those that do, see
    `subscriptions`.
    """
    if found.anomaly in ALWAYS_ALLOWED:
        return np.zeros(len(found), np.bool_)
    if found.anomaly in UNBOUND_BY_SILENCE:
        return ~(log.silent[found.one] | log.silent[found.other])
    if found.anomaly is Anomaly.G1B:
        return np.full(len(found), isolation.anti)
    if found.cycles:
        return np.array([_forbidden(cycle, isolation) for cycle in found.cycles], np.bool_)
    return np.ones(len(found), np.bool_)


def _forbidden(cycle: Cycle, isolation: Isolation) -> bool:
    anti, over_time = cycle.has(Dependency.RW), cycle.has(Dependency.RT)
    match isolation:
        case Isolation.JEPSEN:
            return False
        case Isolation.KAFKA:
            return not anti and not cycle.has(Dependency.WW)
        case Isolation.PL_2:
            return not anti
        case Isolation.SERIALIZABLE:
            return not (anti and over_time)
        case Isolation.STRICT_SERIALIZABLE:
            return True
