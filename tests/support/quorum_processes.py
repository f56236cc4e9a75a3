"""A quorum of real processes on loopback, each with a directory of its own."""

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from node.errors import ErrorCode
from node.ids import uuid_text
from node.server.tool_client import Client
from node.wire.api_versions import ApiVersionsRequest
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceChange,
    ResourceQuery,
)
from node.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

ROOT = Path(__file__).parents[2]
CLIENT_METRICS = 16
CONTROLLERS = 2
# As in the node's image: without Hypothesis, which kio imports where it is installed.
LAUNCH = (
    "import sys; sys.modules['hypothesis'] = None; sys.argv[0] = 'kraft-node';"
    "from node.server.cli import main; main()"
)
# Below the range from which the kernel takes the ports of outgoing connections.
PORTS = range(20_000, 32_000)
PATIENCE_S = 20.0

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], what: str, patience_s: float = PATIENCE_S) -> T:
    """What `condition` gives as soon as it gives something."""
    deadline = time.monotonic() + patience_s
    while (found := condition()) is None:
        assert time.monotonic() < deadline, f"waited {patience_s} s in vain: {what}"
        time.sleep(0.01)  # between two looks
    return found


def kraft_node(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", LAUNCH, *map(str, arguments)]


def run_kraft_node(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        kraft_node(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; who starts listening later must be ready to try again."""
    with ExitStack() as held:
        ports: list[int] = []
        for port in random.Random().sample(PORTS, len(PORTS)):
            attempt = held.enter_context(closing(socket.socket()))
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == count:
                return ports
    raise AssertionError("no free ports")


@dataclass
class NodeProcess:
    """One node; its process comes and goes, its directory stays."""

    id: int
    directory: Path
    inner: int
    outer: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def config(self) -> Path:
        return self.directory / "server.properties"

    @property
    def traces(self) -> Path:
        return self.directory / "trace.jsonl"

    @property
    def errors(self) -> str:
        return (self.directory / "stderr.log").read_text()

    def start(self) -> None:
        assert self.process is None
        with (
            self.traces.open("ab") as out,
            (self.directory / "stderr.log").open("ab") as errors,
        ):
            self.process = subprocess.Popen(
                kraft_node("start", "-c", self.config), cwd=ROOT, stdout=out, stderr=errors
            )

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def terminate(self) -> int:
        return self.end(signal.SIGTERM)

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    def client(self) -> Client:
        """A connection to the outer listener, as soon as the process answers there."""
        return wait_until(self._client, f"node {self.id} answers\n{self.errors}")

    def _client(self) -> Client | None:
        assert self.process is not None
        assert self.process.poll() is None, self.errors
        try:
            client = Client("127.0.0.1", self.outer)
        except OSError:
            return None
        try:
            client.ask(ApiVersionsRequest())
        except OSError:
            client.close()
            return None
        return client


@dataclass
class QuorumProcesses:
    cluster_id: str
    nodes: Mapping[int, NodeProcess]
    formats: list[str] = field(default_factory=list)

    def running(self) -> list[NodeProcess]:
        return [node for node in self.nodes.values() if node.process is not None]

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.client().close()

    def leader(self) -> NodeProcess:
        """The node that all who run name as the active controller, once it is one that runs."""
        return wait_until(self._leader, "a leader that all name")

    def under_one_leader(self, look: Callable[[NodeProcess], T]) -> T:
        """What `look` sees; once more where another led afterwards: on a machine that stalls,
        leaders lose their office at any time."""
        leader = self.leader()
        while True:
            seen = look(leader)
            before, leader = leader, self.leader()
            if leader is before:
                return seen

    def _leader(self) -> NodeProcess | None:
        """None too where one has not heard of the election that others saw."""
        named = {self._named_by(node) for node in self.running()}
        leader = self.nodes.get(named.pop()) if len(named) == 1 else None
        return leader if leader is not None and leader.process is not None else None

    def _named_by(self, node: NodeProcess) -> int:
        """-1 where it knows of no leader or does not answer."""
        try:
            with Client("127.0.0.1", node.outer) as client:
                answer = client.ask(DescribeClusterRequest(endpoint_type=CONTROLLERS))
        except OSError:
            return -1
        assert isinstance(answer, DescribeClusterResponse)
        return answer.controller

    def write(self, resource: str, value: int) -> None:
        """Until it is acknowledged; each try may go to another leader."""
        wait_until(lambda: self._try(lambda client: set_interval(client, resource, value)), "write")

    def read(self, resource: str) -> str | None:
        return wait_until(lambda: self._try(lambda client: get_interval(client, resource)), "read")

    def _try(self, ask: Callable[[Client], T | None]) -> T | None:
        try:
            with self.leader().client() as client:
                return ask(client)
        except OSError:
            return None


def set_interval(client: Client, resource: str, value: int) -> bool | None:
    """True when acknowledged, None when refused."""
    change = ConfigChange(name="interval.ms", operation=0, value=str(value))
    answer = client.ask(
        AlterConfigsRequest(
            resources=(ResourceChange(type=CLIENT_METRICS, name=resource, changes=(change,)),),
            validate_only=False,
        )
    )
    assert isinstance(answer, AlterConfigsResponse)
    return True if answer.results[0].error is ErrorCode.NONE else None


def get_interval(client: Client, resource: str) -> str | None:
    """The value, "" where nothing is set, None when refused."""
    query = ResourceQuery(type=CLIENT_METRICS, name=resource, keys=("interval.ms",))
    answer = client.ask(DescribeConfigsRequest(resources=(query,)))
    assert isinstance(answer, DescribeConfigsResponse)
    if answer.results[0].error is not ErrorCode.NONE:
        return None
    set_ones = [entry.value for entry in answer.results[0].entries if not entry.is_default]
    return (set_ones[0] or "") if set_ones else ""


PROPERTIES = """\
process.roles=controller
node.id={id}
controller.listener.names=CONTROLLER,EXTERNAL
listeners=CONTROLLER://127.0.0.1:{inner},EXTERNAL://127.0.0.1:{outer}
advertised.listeners=CONTROLLER://127.0.0.1:{inner},EXTERNAL://127.0.0.1:{outer}
log.dirs={data}
"""


def random_id() -> str:
    """As `chaos` draws them: one that begins with '-' would look like an option."""
    while (text := uuid_text(uuid4())).startswith("-"):
        pass
    return text


def make_quorum(directory: Path, count: int) -> QuorumProcesses:
    """Written and formatted, not started."""
    ports = free_ports(2 * count)
    nodes: dict[int, NodeProcess] = {}
    for number in range(1, count + 1):
        home = directory / f"node-{number}"
        home.mkdir(parents=True)
        (home / "stderr.log").touch()
        nodes[number] = NodeProcess(
            id=number, directory=home, inner=ports[number - 1], outer=ports[count + number - 1]
        )
    cluster_id = random_id()
    voters = ",".join(f"{n.id}@127.0.0.1:{n.inner}:{random_id()}" for n in nodes.values())
    for node in nodes.values():
        text = PROPERTIES.format(
            id=node.id, inner=node.inner, outer=node.outer, data=node.directory / "data"
        )
        node.config.write_text(text)
        done = run_kraft_node(
            "format", "-t", cluster_id, "-c", node.config, "--initial-controllers", voters
        )
        assert done.returncode == 0, done.stderr
    return QuorumProcesses(cluster_id=cluster_id, nodes=nodes)


@contextmanager
def quorum_processes(directory: Path, count: int) -> Iterator[QuorumProcesses]:
    """Started; tried again with other ports if somebody took one meanwhile. Killed at the end."""
    for attempt in range(3):
        quorum = make_quorum(directory / f"try-{attempt}", count)
        try:
            quorum.start()
        except AssertionError:
            stop_all(quorum)
            if not any("cannot listen" in node.errors for node in quorum.nodes.values()):
                raise
            continue
        try:
            yield quorum
        finally:
            stop_all(quorum)
        return
    raise AssertionError("ports are taken as soon as they are found free")


def stop_all(quorum: QuorumProcesses) -> None:
    for node in quorum.running():
        node.kill()
