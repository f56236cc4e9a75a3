"""A broker tells the controller in which log directory each of its replicas is, wherever the image
has another (AssignReplicasToDirs; KIP-858, `ReplicaManager.maybeUpdateTopicAssignment`).

So it is after a choice of its own (the controller chooses for a broker with one directory), after
files were moved while it was off, or where a directory is gone. Nobody waits for it, as in Kafka: a
replica whose directory is not known may lead, and be in the ISR. One that is assigned to a
directory that its broker has not got may not lead until this is said.
"""

from collections.abc import Sequence
from itertools import islice

from node.broker.controller_link import ControllerLink
from node.broker.held_replicas import Held, HeldReplicas
from node.broker.lifecycle import Lifecycle
from node.controller.image import Image
from node.ids import MS, NEVER_NS, NodeId
from node.limits import MAX_ELEMENTS
from node.records.metadata_versions import DIRECTORIES
from node.wire.apis import Response
from node.wire.assign_directories import AssignDirectoriesRequest, AssignedReplica

# Replicas in one request: each is a directory, a topic and a partition, of as many as are read.
_MOST = MAX_ELEMENTS // 4
_AGAIN_NS = 500 * MS  # until what was answered must have come by the log, or is asked again


class DirectoryReports:
    def __init__(
        self, me: NodeId, replicas: HeldReplicas, lifecycle: Lifecycle, link: ControllerLink
    ) -> None:
        self._me = me
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._link = link
        self._must_look = False
        self._due_ns = 0  # NEVER_NS while a request is out

    def follow(self, image: Image) -> None:
        """Replicas were told of it; before that level nobody speaks of directories."""
        self._must_look = image.metadata_version >= DIRECTORIES

    def poll(self, mono_ns: int) -> None:
        if not self._must_look or mono_ns < self._due_ns:
            return
        self._must_look = False
        elsewhere = self._replicas.elsewhere
        if elsewhere:
            self._due_ns = NEVER_NS
            self._link.send(self._report([*islice(elsewhere.values(), _MOST)]), self._on_response)

    def deadline_ns(self) -> int:
        return self._due_ns if self._must_look else NEVER_NS

    def _report(self, replicas: Sequence[Held]) -> AssignDirectoriesRequest:
        return AssignDirectoriesRequest(
            broker=self._me,
            epoch=self._lifecycle.epoch,
            replicas=tuple(
                AssignedReplica(directory=held.directory, topic=held.key[0], index=held.key[1])
                for held in replicas
            ),
        )

    def _on_response(self, response: Response | None, mono_ns: int) -> None:  # noqa: ARG002
        """Whatever the response is: what is still another in the image then is told once more."""
        self._due_ns = mono_ns + _AGAIN_NS
        self._must_look = True
