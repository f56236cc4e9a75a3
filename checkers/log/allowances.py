"""What fails no test, whatever was lost: the kind of workload allows it."""

import numpy as np

from checkers.log.anomalies import ALWAYS_ALLOWED, UNBOUND_BY_SILENCE, Found
from checkers.log.arrays import Flags, LogArrays


def held_against(log: LogArrays, found: Found) -> Flags:
    """By case: whether it breaks a promise, if all that was promised is still there.

    What Jepsen allows wherever anybody subscribes is allowed to those that do, see `subscriptions`.
    """
    if found.anomaly in ALWAYS_ALLOWED:
        return np.zeros(len(found), np.bool_)
    if found.anomaly in UNBOUND_BY_SILENCE:
        return ~(log.silent[found.one] | log.silent[found.other])
    return np.ones(len(found), np.bool_)
