"""Operations that ran under a subscription that moves partitions unrecorded.

A group may give a partition to another consumer and back between two polls. If the history records
it, the consumer's order is binding in between; if not, its positions are unknown until it is
assigned partitions again. The order of other processes is always binding.
"""

import numpy as np

from checkers.array_types import Codes, Flags, Ints


def silent_subscriptions(process: Codes, *, subscribed: Ints, assigned: Ints, told: Ints) -> Flags:
    """By operation: whether it lies between a `subscribe` of its process and the next assignment.

    All are rows of operations: those that subscribed, those that assigned partitions, and those
    that recorded a rebalance. A process that records one rebalance records all: it is not silent.
    """
    ops = len(process)
    silent = np.zeros(ops, np.bool_)
    if not len(subscribed):
        return silent
    subscribes, tells = silent.copy(), silent.copy()
    subscribes[subscribed], tells[told] = True, True
    marks = subscribes.copy()
    marks[assigned] = True
    # Process by process: a stretch begins with each mark, and with each process.
    by_process = np.argsort(process, kind="stable")
    own, marked = process[by_process], marks[by_process]
    begins = marked.copy()
    begins[0] = True
    begins[1:] |= own[1:] != own[:-1]
    stretch = np.cumsum(begins) - 1
    telling = np.zeros(stretch[-1] + 1, np.bool_)
    telling[stretch[tells[by_process] & ~marked]] = True
    quiet = subscribes[by_process[begins]] & ~telling
    silent[by_process] = quiet[stretch] & ~marked
    return silent
