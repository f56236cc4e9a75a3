"""Which operations ran under a subscription that hands partitions over without a word.

A group may give a partition to another consumer and back between two polls. Where the history
tells when, the consumer is bound between; where it does not, nothing is known of its positions
until it is assigned partitions again. Other processes are bound all the while.
"""

import numpy as np

from checkers.array_types import Codes, Flags, Ints


def silent_subscriptions(process: Codes, *, subscribed: Ints, assigned: Ints, told: Ints) -> Flags:
    """By operation: whether it lies between a `subscribe` of its process and the next assignment.

    All are rows of operations: those that subscribed, those that assigned partitions, and those
    that told of a rebalance. One that tells of a rebalance tells of all: it is not silent.
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
