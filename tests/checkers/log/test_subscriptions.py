"""Which operations ran under a subscription that tells of no rebalance, against the slow way."""

import random

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.log.arrays import silent_subscriptions


def one_by_one(process: Codes, subscribed: Ints, assigned: Ints, told: Ints) -> Flags:
    """Subscription by subscription."""
    silent = np.zeros(len(process), np.bool_)
    for start in subscribed.tolist():
        own = np.flatnonzero(process == process[start])
        ends = np.concatenate([subscribed, assigned])
        end = ends[(process[ends] == process[start]) & (ends > start)].min(initial=len(process))
        inside = own[(own > start) & (own < end)]
        silent[inside] = not np.isin(inside, told).any()
    return silent


def test_as_subscription_by_subscription() -> None:
    rng = random.Random("subscriptions")
    seen = 0
    for _ in range(2000):
        ops = rng.randint(0, 25)
        process = np.array([rng.randrange(3) for _ in range(ops)], np.int32)
        does = [rng.choice("sat.....") for _ in range(ops)]
        chosen = [np.array([i for i in range(ops) if does[i] == what], np.int64) for what in "sat"]
        found = silent_subscriptions(
            process, subscribed=chosen[0], assigned=chosen[1], told=chosen[2]
        )
        seen += int(found.sum())
        assert (found == one_by_one(process, *chosen)).all()
    assert seen > 1000
