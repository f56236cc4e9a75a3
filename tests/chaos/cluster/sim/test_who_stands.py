"""Q19 in the simulator: who may ask for votes, by the logs."""

import pytest

from chaos.cluster.sim.invariants.known_batches import NOTHING, Keys, KnownBatch, KnownBatches
from chaos.cluster.sim.invariants.rules import Broken
from chaos.cluster.sim.invariants.watched_voters import check_stands
from node.ids import Offset, ReplicaKey
from node.records.batch import split_batches
from tests.support.rig import batch, key

ALL = frozenset({key(1), key(2), key(3)})
LEFT = ALL - {key(1)}
BY_ID = frozenset(ReplicaKey(each.id) for each in ALL)


def logs(first: Keys, *named: Keys) -> tuple[KnownBatches, KnownBatch]:
    """All of them, and one in which one batch after the other names these."""
    batches, log = KnownBatches(first), NOTHING
    for offset, names in enumerate(named):
        (appended,) = split_batches(batch(offset, 1))
        log = batches.append(log, appended.header, names)
    return batches, log


@pytest.mark.parametrize(
    ("node", "first", "named", "committed"),
    [
        (key(1), ALL, [], 0),
        (key(1), BY_ID, [], 0),
        (key(2), ALL, [ALL, LEFT], 2),
        (key(1), ALL, [ALL, LEFT], 1),  # its removal is not committed
    ],
)
def test_who_may_stand(node: ReplicaKey, first: Keys, named: list[Keys], committed: int) -> None:
    batches, log = logs(first, *named)
    check_stands(node, "prospective", log, batches, Offset(committed))


@pytest.mark.parametrize(
    ("node", "first", "named", "committed"),
    [
        (key(4), ALL, [], 0),
        (key(1), ALL, [ALL, LEFT], 2),
        (key(1, directory=7), ALL, [ALL, LEFT], 1),  # another disk
        (key(1, directory=7), BY_ID, [ALL], 0),  # the first records named the disk before
    ],
)
def test_who_may_not(node: ReplicaKey, first: Keys, named: list[Keys], committed: int) -> None:
    batches, log = logs(first, *named)
    with pytest.raises(Broken, match="by its log"):
        check_stands(node, "candidate", log, batches, Offset(committed))
    check_stands(node, "follower", log, batches, Offset(committed))
