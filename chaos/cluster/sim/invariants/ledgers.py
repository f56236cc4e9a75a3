"""What the lives of all nodes share: their replicas, and what is known of the run so far."""

from collections.abc import Callable
from dataclasses import dataclass

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.commits import Commits
from chaos.cluster.sim.invariants.confirmed_reads import Fetches
from chaos.cluster.sim.invariants.elections import Elections
from chaos.cluster.sim.invariants.epoch_origins import Origins
from chaos.cluster.sim.invariants.equal_images import EqualImages
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, KnownBatches
from node.ids import Epoch, ReplicaKey


@dataclass(eq=False, slots=True)
class Replica:
    """A node with its disk, over all its lives. `durable` is a part of `log`."""

    key: ReplicaKey
    log: KnownBatch = NOTHING
    durable: KnownBatch = NOTHING
    epoch: Epoch = Epoch(0)  # the highest that it was in
    lives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What all lives of all nodes are compared with."""

    durable_of: Callable[[ReplicaKey], KnownBatch]
    batches: KnownBatches
    elections: Elections
    origins: Origins
    fetches: Fetches
    commits: Commits
    images: EqualImages
    looked: Looked
    least_silent_ns: int  # a leader heard more recently than this is not given up
