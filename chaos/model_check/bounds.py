"""The bounds of the exploration, and the quorum."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallBounds:
    """A quorum, formed by its first node in epoch 1, and what may happen to it.

    `listed`: its voters are listed (KIP-856), else they were formatted (KIP-853), all but the last
    `observers`.
    """

    listed: bool = False
    nodes: int = 3
    observers: int = 0
    epochs: int = 3  # including the one in which it was formed
    changes: int = 2  # of the voters
    entries: int = 4  # batches of a log, behind those with which the quorum was formed
    crashes: int = 1
    disks: int = 0  # replaced disks
