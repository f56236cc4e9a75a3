"""P-TRUNC-HWM: a follower of a new leader truncates its log to its own high watermark, as Apache
Kafka did before KIP-101."""

from chaos.mutations.planted import Planted
from node.broker.held_replicas import HeldReplicas, Key
from node.controller.image import Image, Partition

_tell = HeldReplicas._tell


def cut_and_follow(
    self: HeldReplicas, image: Image, key: Key, state: Partition, mono_ns: int
) -> None:
    held = self.by_key(key)
    before = None if held is None else held.replica.leader
    _tell(self, image, key, state, mono_ns)
    held = self.by_key(key)
    assert held is not None
    replica = held.replica
    follows = replica.leading is None and state.has_leader and before not in (None, state.leader)
    if follows and replica.high_watermark < replica.end:
        self.truncate(held, replica.high_watermark)


PLANTED = Planted(owner=HeldReplicas, decision="_tell", wrong=cut_and_follow)
