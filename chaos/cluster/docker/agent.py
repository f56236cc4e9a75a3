"""The harness's end of the disk agent: JSON lines over the program's stdin and stdout."""

import itertools
import json
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import docker
from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.labels import ContainerRole, RunLabels
from chaos.setup.shell import module_name

CAPABILITIES = ["SYS_ADMIN", "SYS_PTRACE", "MKNOD", "NET_ADMIN"]
DEVICES = ["b 7:* rwm", "c 10:237 rwm"]  # loop devices and /dev/loop-control
PROGRAM = ["python3", "-u", "-m", module_name("chaos.cluster.docker.agent_program")]
ANSWER_WITHIN_S = 30.0
FRAME = struct.Struct(">BxxxL")  # the engine's header before each piece of output

Arguments = Mapping[str, object]


class BusyError(ClusterError):
    """The agent is busy with another operation, which is bounded."""


class Closeable(Protocol):
    def close(self) -> None: ...


class Agent:
    """One agent container. Calls may come from several threads; they are served one by one."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self._ids = itertools.count()
        self._lock = threading.Lock()
        self._socket, self._response = _converse(container)
        self._stdout = b""
        self._raw = b""

    @classmethod
    def start(cls, client: docker.DockerClient, image: str, labels: RunLabels) -> "Agent":
        """Start the agent of a run, with a volume for disk images."""
        volume = labels.name("disks")
        client.volumes.create(volume, labels=labels.labels())
        container = client.containers.create(
            image,
            name=labels.name("agent"),
            labels=labels.labels(ContainerRole.AGENT),
            network_mode="none",
            pid_mode="host",
            cap_add=CAPABILITIES,
            device_cgroup_rules=DEVICES,
            security_opt=["apparmor=unconfined"],
            volumes={volume: {"bind": "/disks"}, "/dev": {"bind": "/dev"}},
        )
        container.start()
        return cls(container)

    def call(self, operation: str, **arguments: object) -> Any:
        """Perform one operation; ClusterError with the agent's words when it fails."""
        return self.each(operation, [arguments])[0]

    def each(self, operation: str, arguments: Sequence[Arguments]) -> list[Any]:
        """Perform one operation for several nodes at once; answers in their order."""
        if not arguments:
            return []
        with self._lock:
            return self._exchange(operation, arguments)

    def ask(self, operation: str, within_s: float, **arguments: object) -> Any:
        """As `call`, within a shorter time. Raises BusyError at once if another call is in
        progress."""
        if not self._lock.acquire(blocking=False):
            raise BusyError(f"the disk agent is busy, and was not asked to {operation}")
        try:
            self._socket.settimeout(within_s)
            return self._exchange(operation, [arguments])[0]
        finally:
            self._socket.settimeout(ANSWER_WITHIN_S)
            self._lock.release()

    def _exchange(self, operation: str, arguments: Sequence[Arguments]) -> list[Any]:
        request_id = next(self._ids)
        request = {"id": request_id, "op": operation, "each": [dict(a) for a in arguments]}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            answer = self._answer(request_id)
        except OSError as error:
            raise ClusterError(
                f"the disk agent does not answer {operation}: {error}\n"
                f"  look at: docker logs {self.container.name}"
            ) from error
        if "error" in answer:
            raise ClusterError(f"the disk agent could not {operation}: {answer['error']}")
        result = answer["result"]
        assert isinstance(result, list)
        return result

    def close(self) -> None:
        self._socket.close()
        self._response.close()

    def _answer(self, request_id: int) -> dict[str, object]:
        """The next line with this id, skipping answers that came too late."""
        while True:
            line, found, rest = self._stdout.partition(b"\n")
            if found:
                self._stdout = rest
                answer = json.loads(line)
                if answer["id"] == request_id:
                    return dict(answer)
            else:
                self._receive()

    def _receive(self) -> None:
        """Take the engine's frames apart; anything but stdout only shows in the container's log."""
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise ConnectionError("its program has ended")
        self._raw += piece
        while len(self._raw) >= FRAME.size:
            stream, size = FRAME.unpack_from(self._raw)
            if len(self._raw) < FRAME.size + size:
                return
            if stream == 1:
                self._stdout += self._raw[FRAME.size : FRAME.size + size]
            self._raw = self._raw[FRAME.size + size :]


def _converse(container: Container) -> tuple[socket.socket, Closeable]:
    """A conversation with the agent's program, and the objects that must be closed with it.

    An exec of our own, not an attachment to the container: the engine shares attachments, and one
    that ends may take the others with it.
    """
    api = container.client.api if container.client else None
    if api is None:
        raise ClusterError("the disk agent's container is not on an engine")
    begun = api.exec_create(container.id or "", PROGRAM, stdin=True)
    wrapped = api.exec_start(begun["Id"], socket=True)
    # A local engine's socket comes wrapped into a file object that can only be read; both depend on
    # the response from which the library got them.
    connection = cast("socket.socket", getattr(wrapped, "_sock", wrapped))
    connection.settimeout(ANSWER_WITHIN_S)
    return connection, cast("Closeable", getattr(wrapped, "_response", wrapped))
