"""What a poll returned, against what was sent."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Codes, Flags
from checkers.history.calls import Outcome
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import CORRUPT, LogArrays


def reads(log: LogArrays) -> Iterator[Cases]:
    """corrupt, phantom: no client sent it. G1a: its send failed. future-read: it was sent only
    later.

    precommitted-read: a transaction polls its own record before any consumer may see it.
    """
    polled, sent = log.polled, log.sent
    value = polled.value
    yield _alone(log, Anomaly.CORRUPT, value == CORRUPT)
    yield _alone(log, Anomaly.PHANTOM, value >= len(sent))
    rows = np.flatnonzero((value != CORRUPT) & (value < len(sent)))
    writer = sent.op[value[rows]]
    reader = polled.op[rows]
    ok = log.ops.outcome[reader] == Outcome.OK
    aborted = ok & (log.ops.outcome[writer] == Outcome.FAIL)
    yield _with_writer(log, Anomaly.G1A, rows, writer, aborted)
    early = log.ops.complete[reader] < log.ops.invoke[writer]
    yield _with_writer(log, Anomaly.FUTURE_READ, rows, writer, early)
    yield _with_writer(log, Anomaly.PRECOMMITTED_READ, rows, writer, reader == writer)


def _alone(log: LogArrays, anomaly: Anomaly, chosen: Flags) -> Cases:
    polled = log.polled
    return cases(
        anomaly,
        polled.key[chosen],
        other=polled.op[chosen],
        other_offset=polled.offset[chosen],
        other_value=polled.value[chosen],
    )


def _with_writer(
    log: LogArrays, anomaly: Anomaly, rows: np.ndarray, writer: Codes, chosen: Flags
) -> Cases:
    polled, row = log.polled, rows[chosen]
    return cases(
        anomaly,
        polled.key[row],
        one=writer[chosen],
        other=polled.op[row],
        other_offset=polled.offset[row],
        one_value=polled.value[row],
        other_value=polled.value[row],
    )
