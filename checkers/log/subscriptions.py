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
    silent = np.zeros(len(process), np.bool_)
    for start in subscribed.tolist():
        own = np.flatnonzero(process == process[start])
        ends = np.concatenate([subscribed, assigned])
        end = ends[(process[ends] == process[start]) & (ends > start)].min(initial=len(process))
        inside = own[(own > start) & (own < end)]
        silent[inside] = not np.isin(inside, told).any()
    return silent
