"""Runs all kernels over one history."""

from checkers.log.allowances import Isolation
from checkers.log.anomalies import Cases, in_order
from checkers.log.arrays import LogArrays
from checkers.log.cycles import cycles
from checkers.log.high_watermarks import high_watermarks
from checkers.log.loss import losses
from checkers.log.offset_conflicts import offset_conflicts
from checkers.log.positions import positions
from checkers.log.reads import reads
from checkers.log.realtime import realtime
from checkers.log.version_order import VersionOrder, version_order

ALGORITHM = "version order from offsets, then one pass of array operations for each anomaly"


def sweep(log: LogArrays, isolation: Isolation) -> tuple[VersionOrder, list[Cases]]:
    """Every anomaly that has cases, whether it fails a test or not, except those that nothing
    forbids: rw dependencies are only looked at if the isolation asks for it."""
    order = version_order(log)
    found = in_order(
        [
            *reads(log),
            *offset_conflicts(log, order),
            *losses(log, order),
            *realtime(log, order),
            *high_watermarks(log),
            *positions(log, order),
            *cycles(log, order, anti=isolation.anti),
        ]
    )
    return order, found
