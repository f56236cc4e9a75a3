"""How far ahead a message may take a node: there are 2^31 epochs, and an election needs a new one.

Up to half of them at once, and from there a little at a time: so no message, whoever sent it, comes
near the last epoch, after which nobody could be elected any more. An election takes one.
"""

from node.ids import Epoch

LAST_EPOCH = Epoch(2**31 - 1)  # epochs are int32
_AT_ONCE = Epoch(2**30)
_FROM_THERE = 2**16


def reachable(own: Epoch) -> Epoch:
    """The highest epoch that a message may take a node of epoch `own` to."""
    return min(max(_AT_ONCE, Epoch(own + _FROM_THERE)), Epoch(LAST_EPOCH - 1))
