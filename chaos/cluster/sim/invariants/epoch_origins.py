"""The origin of epochs: no node is in an epoch that no node began."""

from chaos.cluster.sim.invariants.broken import Broken
from node.ids import Epoch, ReplicaKey


class Origins:
    """An epoch begins with a candidate, or with a leader that resigned from the one before: that
    one moves on by itself, since it cannot become a follower of itself."""

    def __init__(self) -> None:
        self._begun: set[Epoch] = {Epoch(0)}
        self._resigned: set[tuple[ReplicaKey, Epoch]] = set()

    def stands(self, epoch: Epoch) -> None:
        """A replica votes for itself in an epoch."""
        self._begun.add(epoch)

    def resigns(self, replica: ReplicaKey, epoch: Epoch) -> None:
        """A replica no longer leads this epoch, or found on its disk that it had led it."""
        self._resigned.add((replica, epoch))

    def enters(self, replica: ReplicaKey, epoch: Epoch) -> None:
        """A replica is in an epoch. Raises Broken where that epoch has no origin."""
        if (replica, Epoch(epoch - 1)) in self._resigned:
            self._begun.add(epoch)
        if epoch not in self._begun:
            what = f"n{replica.id} is in epoch {epoch}, in which no node stood for election, and "
            what += f"not because it had resigned from epoch {epoch - 1}"
            raise Broken("epochs-have-an-origin", what)


TakenState = tuple[str, Epoch]  # a state, and the epoch that it was taken in
FOUND = "found on its disk"


def check_asked(replica: ReplicaKey, before: TakenState, candidate: Epoch) -> None:
    """A candidate was prospective right before, in the epoch below (KIP-996), or finds at its start
    that it was one."""
    if before not in (("prospective", Epoch(candidate - 1)), (FOUND, candidate)):
        what = (
            f"n{replica.id} is a candidate in epoch {candidate}, and was {before[0]} in epoch "
            f"{before[1]}"
        )
        raise Broken("asked-before-standing", what)
