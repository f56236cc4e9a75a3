"""The quorum at the start of the exploration: its first node leads and has written the first
metadata, and all nodes have all of it."""

from collections.abc import Sequence

from chaos.model_check.formation import Formation
from chaos.model_check.possible_moves import Elect, Fetch, Move, make
from chaos.model_check.replica import LiveReplica
from chaos.model_check.setting import disk
from chaos.model_check.views import view
from node.ids import NodeId


def formed(formation: Formation) -> list[LiveReplica]:
    """Each replica as the node's own code made it, from an empty disk."""
    replicas = [LiveReplica(disk(node), formation) for node in formation.all_nodes()]
    first, *others = formation.all_nodes()
    _make(Elect(first, tuple(others[: formation.voters - 1])), replicas)
    _replicate(first, others, replicas)
    replicas[first - 1].write()
    _replicate(first, others, replicas)
    views = [view(replica) for replica in replicas]
    assert all(each.log == views[0].log for each in views), "their logs differ"
    ends = {replica.log.end().offset for replica in replicas}
    assert ends == {replica.raft.quorum.committed for replica in replicas}, "all is committed"
    return replicas


_ROUNDS = 3  # until all have fetched, have what was written, and know that it is committed


def _replicate(leader: NodeId, others: Sequence[NodeId], replicas: list[LiveReplica]) -> None:
    for _ in range(_ROUNDS):
        replicas[leader - 1].flush()
        for node in others:
            assert _make(Fetch(node, leader), replicas), f"n{node} finds no leader"


def _make(move: Move, replicas: list[LiveReplica]) -> bool:
    taking_part = [replicas[node - 1] for node in move.involved]
    return make(move, taking_part)
