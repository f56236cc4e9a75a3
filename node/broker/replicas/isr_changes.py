"""ISR proposals of leaders, on their way to the controller (AlterPartition, KIP-497)."""

from collections.abc import Sequence
from dataclasses import replace

from node.broker.controller_link import ControllerLink
from node.broker.lifecycle import Lifecycle
from node.broker.replicas.isr import Proposal
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.errors import ErrorCode
from node.ids import MS, NodeId
from node.limits import MAX_ELEMENTS
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionResult,
)
from node.wire.apis import Response

_RETRY_NS = 100 * MS
_ELEMENTS = 2  # of a request, beside the members of an ISR: a topic and its partition


class IsrChanges:
    def __init__(
        self,
        me: NodeId,
        replicas: ReplicaManager,
        lifecycle: Lifecycle,
        link: ControllerLink,
        lag_ms: int,
    ) -> None:
        self._me = me
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._link = link
        self._look_ns = lag_ms * MS // 2  # interval of the check for lagging replicas
        self._next_look_ns = 0
        self._again: list[tuple[int, HostedPartition, Proposal]] = []  # when, and what
        self._unsent: list[tuple[HostedPartition, Proposal]] = []  # of this step

    def poll(self, mono_ns: int) -> None:
        """Propose what is due."""
        if self._again:
            self._propose_again(mono_ns)
        if mono_ns >= self._next_look_ns:
            self._next_look_ns = mono_ns + self._look_ns
            self._shrink(mono_ns)

    def deadline_ns(self) -> int:
        if not self._again:
            return self._next_look_ns
        return min(self._next_look_ns, *(at for at, _, _ in self._again))

    def _propose_again(self, mono_ns: int) -> None:
        due = [each for each in self._again if each[0] <= mono_ns]
        self._again = [each for each in self._again if each[0] > mono_ns]
        for _, held, proposal in due:
            if _is_pending(held, proposal):
                self.propose(held, proposal)

    def propose(self, held: HostedPartition, proposal: Proposal) -> None:
        """Sent together with all others of this step."""
        self._unsent.append((held, proposal))

    def send(self) -> None:
        """Send this step's proposals, in requests of as many elements as any controller takes."""
        unsent, self._unsent = self._unsent, []
        part: list[tuple[HostedPartition, Proposal]] = []
        elements = 0
        for held, proposal in unsent:
            if not _is_pending(held, proposal):
                continue  # it leads in another epoch since
            size = _ELEMENTS + len(proposal.isr)
            if part and elements + size > MAX_ELEMENTS:
                self._send(part)
                part, elements = [], 0
            part.append((held, proposal))
            elements += size
        if part:
            self._send(part)

    def _send(self, proposed: Sequence[tuple[HostedPartition, Proposal]]) -> None:
        request = AlterPartitionRequest(
            broker=self._me,
            epoch=self._lifecycle.epoch,
            partitions=tuple(self._altered(held, proposal) for held, proposal in proposed),
        )

        def on_response(response: Response | None, mono_ns: int) -> None:
            self._on_response(proposed, response, mono_ns)

        self._link.send(request, on_response)

    def _altered(self, held: HostedPartition, proposal: Proposal) -> AlteredPartition:
        return AlteredPartition(
            topic=held.key[0],
            index=held.key[1],
            leader_epoch=proposal.leader_epoch,
            partition_epoch=proposal.partition_epoch,
            isr=tuple(
                replace(member, epoch=self._lifecycle.epoch)
                if member.broker == self._me
                else member
                for member in proposal.isr
            ),
        )

    def _shrink(self, mono_ns: int) -> None:
        for held in self._replicas.take_ahead():
            if held.replica.look_again(mono_ns):
                self._replicas.note(held)
            proposal = held.replica.shrinking(mono_ns)
            if proposal is not None:
                self._replicas.note(held)
                self.propose(held, proposal)

    def _on_response(
        self,
        proposed: Sequence[tuple[HostedPartition, Proposal]],
        response: Response | None,
        mono_ns: int,
    ) -> None:
        """A proposal without an answer is sent again: it may have taken effect, or not."""
        results = {}
        if isinstance(response, AlterPartitionResponse) and response.error is ErrorCode.NONE:
            results = {(each.topic, each.index): each for each in response.results}
        for held, proposal in proposed:
            result = results.get(held.key) or PartitionResult(
                topic=held.key[0], index=held.key[1], error=ErrorCode.REQUEST_TIMED_OUT
            )
            if held.replica.on_response(proposal, result, mono_ns):
                self._again.append((mono_ns + _RETRY_NS, held, proposal))
            self._replicas.note(held)


def _is_pending(held: HostedPartition, proposal: Proposal) -> bool:
    leading = held.replica.leading
    return leading is not None and leading.isr.pending is proposal
