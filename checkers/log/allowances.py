"""What fails no test, whatever was lost: the kind of workload allows it."""

from enum import StrEnum

import numpy as np

from checkers.array_types import Flags
from checkers.log.anomalies import ALWAYS_ALLOWED, UNBOUND_BY_SILENCE, Anomaly, Cases
from checkers.log.arrays import LogArrays
from checkers.log.circles import Cycle
from checkers.log.dependencies import Dependency


class Isolation(StrEnum):
    """What transactions are promised of each other; each level promises all of the one before.

    JEPSEN is what Jepsen's Kafka workload insists on by default: no cycle fails its test, for it
    allows every G0 and, as it counts ww, every G1c. So has to be whoever reads uncommitted.
    KAFKA is what consumers that read committed are promised: a transaction is seen once it is
    committed, so that two cannot have polled what each other sent. What they send interleaves, so
    every cycle that needs a ww is normal, over real time too. PL_2 is Adya's read committed, which
    isolates what is sent: neither G0 nor G1c. G1b is none there, since a poll ends where it likes.
    SERIALIZABLE is PL-3: neither G1b, G-single nor G2. What one transaction does when another is
    over is bound by STRICT_SERIALIZABLE, for polls too: they may not lag.
    """

    JEPSEN = "jepsen"
    KAFKA = "kafka"
    PL_2 = "pl-2"
    SERIALIZABLE = "serializable"
    STRICT_SERIALIZABLE = "strict-serializable"

    @property
    def anti(self) -> bool:
        """Whether what a poll did not see yet counts."""
        return self in (Isolation.SERIALIZABLE, Isolation.STRICT_SERIALIZABLE)


def held_against(log: LogArrays, found: Cases, isolation: Isolation) -> Flags:
    """By case: whether it breaks a promise, if all that was promised is still there.

    What Jepsen allows wherever anybody subscribes is allowed to those that do, see `subscriptions`.
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
