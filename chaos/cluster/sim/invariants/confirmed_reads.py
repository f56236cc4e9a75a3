"""What confirms that a leader still leads when it answers a read (Raft thesis 6.4)."""

from collections import deque

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import Keys
from node.ids import Epoch, ReplicaKey

Tick = int  # the number of a step, counted over all nodes


class Fetches:
    """When each voter last sent a Fetch of an epoch, whatever the leader did with it."""

    def __init__(self) -> None:
        self._sent: dict[tuple[ReplicaKey, Epoch], Tick] = {}
        self._now: Tick = 0

    def next_step(self) -> Tick:
        """A node took a step; returns its number."""
        self._now += 1
        return self._now

    def send(self, voter: ReplicaKey, epoch: Epoch) -> None:
        self._sent[voter, epoch] = self._now

    def confirm(self, leader: ReplicaKey, epoch: Epoch, arrived: Tick, voting: Keys) -> None:
        """A read that arrived in step `since` is answered. Raises Broken unless a majority, with
        the leader itself, sent a Fetch of its epoch after that."""
        majority = len(voting) // 2 + 1
        voters = [
            voter
            for voter in voting
            if voter == leader or self._sent.get((voter, epoch), 0) > arrived
        ]
        if len(voters) < majority:
            what = f"n{leader.id} answers a read in epoch {epoch}, and {len(voters)} of the "
            what += f"{majority} voters that are a majority, itself counted, sent a Fetch of "
            raise Broken("reads-are-confirmed", f"{what}that epoch since the read arrived")


class Arrivals:
    """In which step of the whole run each read of one life arrived; reads are numbered from 1."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, Tick]] = deque()
        self.newest = 0

    def note(self, newest: int, now: Tick) -> None:
        """Reads up to number `newest` have arrived by this step; more than by the one before."""
        self.newest = newest
        self._steps.append((newest, now))

    def of(self, read: int) -> Tick:
        """Reads are answered in the order of their arrival: older ones are dropped."""
        while self._steps[0][0] < read:
            self._steps.popleft()
        return self._steps[0][1]
