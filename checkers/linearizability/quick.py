"""The easy registers in one compiled call: the sweep, then a short search of what it left.

Most histories are small. For them crossing from Python into a kernel costs more than the search,
so here it is done once, for all keys; what this does not decide climbs the `ladder`.
"""

from typing import NamedTuple

import numpy as np

from checkers.array_types import Codes, Ints, Kinds
from checkers.history.calls import Calls
from checkers.linearizability.blocks import REPEATED, Blocks, Rows, sweep
from checkers.linearizability.compiled import compiled
from checkers.linearizability.deadlines import EXACT, compute
from checkers.linearizability.frontier import NO_TIME, run
from checkers.linearizability.slots import Operations
from checkers.linearizability.split import Order, split_columns

ROOM = 256  # configurations


class Quick(NamedTuple):
    blocks: Blocks
    ended: Kinds  # by key: how its search ended, see `frontier`; where the sweep did not decide
    work: Ints
    operations: Codes  # by key


@compiled
def _quick(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    invoke: Ints,
    complete: Ints,
    initial: int,
    at: Codes,
    keys: int,
    values: int,
    limit: int,
) -> tuple[Kinds, Codes, Codes, Codes, Codes, Kinds, Ints, Codes]:
    direct = values if keys * values <= 4 * len(kind) else 0
    size = 16
    while size < max(2 * len(kind), keys * direct):
        size *= 2
    rows = Rows(kind, outcome, key, value, expected, invoke, complete, initial, direct)
    found = sweep(rows, at, keys, size)
    ended, work = np.full(keys, NO_TIME, np.int8), np.zeros(keys, np.int64)
    operations = np.zeros(keys, np.int32)
    wanted = found.status == REPEATED
    for row in range(len(kind)):
        operations[key[row]] += 1
    if wanted.any():
        all_of = split_columns(kind, outcome, key, value, expected, wanted, at, initial, values)
        nothing = np.empty((0, 0), np.int32)
        for k in range(keys):
            if not wanted[k]:
                continue
            a, b = all_of.op_from[k], all_of.op_from[k + 1]
            one_kind, start, to = all_of.kind[a:b], all_of.start[a:b], all_of.to[a:b]
            pending = all_of.pending[a:b]
            event = all_of.event[all_of.event_from[k] : all_of.event_from[k + 1]]
            returns, until, needed, sticky = compute(
                one_kind, start, to, pending, event, nothing, -1, all_of.states[k], EXACT
            )
            problem = Operations(
                one_kind, start, to, pending, nothing, -1, returns, until, needed, sticky
            )
            end = run(problem, event, 0, ROOM, False, limit, (0,))
            ended[k], work[k] = end.status, end.work
    status, one, other, cluster, head = found
    return status, one, other, cluster, head, ended, work, operations


def quick(calls: Calls, order: Order, limit: int) -> Quick:
    """Sweep all keys, and search the others for `limit` work each."""
    status, one, other, cluster, head, ended, work, operations = _quick(
        calls.kind,
        calls.outcome,
        calls.key,
        calls.value,
        calls.expected,
        order.invoke,
        order.complete,
        calls.initial,
        order.at,
        len(calls.keys),
        len(calls.values),
        limit,
    )
    return Quick(Blocks(status, one, other, cluster, head), ended, work, operations)
