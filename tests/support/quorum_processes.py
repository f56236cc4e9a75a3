"""A quorum of real processes on loopback, each with a directory of its own."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from node.errors import ErrorCode
from node.ids import uuid_text
from node.server import cli
from node.server.format_command import format_disk
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
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse
from tests.support.ports import give_back_ports, take_ports

ROOT = Path(__file__).parents[2]
CLIENT_METRICS = 16
CONTROLLERS = 2
# As in the node's image: without Hypothesis, which kio imports where it is installed.
LAUNCH = (
    "import sys; sys.modules['hypothesis'] = None; sys.argv[0] = 'kraft-node';"
    "from node.server.__main__ import main; main()"
)
# On a machine that has little time for this; nothing is asserted of how long anything takes.
PATIENCE_S = 120.0

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None],
    what: str,
    patience_s: float = PATIENCE_S,
    pause_s: float = 0.01,
) -> T:
    """What `condition` gives as soon as it gives something; `pause_s` is between two looks."""
    deadline = time.monotonic() + patience_s
    while (found := condition()) is None:
        assert time.monotonic() < deadline, f"waited {patience_s} s in vain: {what}"
        time.sleep(pause_s)
    return found


def kraft_node(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", LAUNCH, *map(str, arguments)]


def run_kraft_node(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    asked = kraft_node(*arguments)
    return subprocess.run(
        asked, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def format_node(cluster_id: str, config: Path, *options: str) -> None:
    """What `kraft-node format` does, without the start of a process for each node; tests of the
    program have it. Raises what the program would say."""
    asked = cli._parser().parse_args(["format", "-t", cluster_id, "-c", str(config), *options])
    format_disk(asked, cli._config(asked.config))


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
            client = Client("127.0.0.1", self.outer, PATIENCE_S)
        except OSError:
            return None
        try:
            client.send(ApiVersionsRequest())
        except OSError:
            client.close()
            return None
        return client


@dataclass
class QuorumProcesses:
    cluster_id: str
    nodes: Mapping[int, NodeProcess]

    @property
    def ports(self) -> list[int]:
        return [port for node in self.nodes.values() for port in (node.inner, node.outer)]

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

    def under_one_leader(self, look: Callable[[NodeProcess], T | None]) -> T:
        """What `look` sees, as soon as it sees something while one node leads in one epoch: on a
        machine that stalls, leaders lose their office at any time and followers lose sight of
        them."""

        def looked() -> T | None:
            before = self.leadership()
            seen = look(self.nodes[before.leader])
            return seen if self.leadership().epoch == before.epoch else None

        return wait_until(looked, "something is seen under one leader")

    def leadership(self) -> DescribeQuorumResponse:
        """As the leader that all name tells it."""
        return wait_until(lambda: self._try(_led), "a leader that says so itself")

    def _leader(self) -> NodeProcess | None:
        """None too where one has not heard of the election that others saw."""
        named = {self._named_by(node) for node in self.running()}
        leader = self.nodes.get(named.pop()) if len(named) == 1 else None
        return leader if leader is not None and leader.process is not None else None

    def _named_by(self, node: NodeProcess) -> int:
        """-1 where it knows of no leader or does not answer."""
        try:
            with Client("127.0.0.1", node.outer) as client:
                answer = client.send(DescribeClusterRequest(endpoint_type=CONTROLLERS))
        except OSError:
            return -1
        assert isinstance(answer, DescribeClusterResponse)
        return answer.controller

    def write(self, resource: str, value: int) -> None:
        """Until it is acknowledged; each try may go to another leader."""
        self.told("write", lambda client: set_interval(client, resource, value))

    def read(self, resource: str) -> str:
        return self.told("read", lambda client: get_interval(client, resource))

    def told(self, what: str, ask: Callable[[Client], T | None]) -> T:
        """What a leader answers, as soon as one does and `ask` takes it for an answer."""
        return wait_until(lambda: self._try(ask), what)

    def _try(self, ask: Callable[[Client], T | None]) -> T | None:
        try:
            with self.leader().client() as client:
                return ask(client)
        except OSError:
            return None


def _led(client: Client) -> DescribeQuorumResponse | None:
    answer = client.send(DescribeQuorumRequest())
    assert isinstance(answer, DescribeQuorumResponse)
    return answer if answer.error is ErrorCode.NONE else None


def set_interval(client: Client, resource: str, value: int) -> bool | None:
    """True when acknowledged, None when refused."""
    change = ConfigChange(name="interval.ms", operation=0, value=str(value))
    answer = client.send(
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
    answer = client.send(DescribeConfigsRequest(resources=(query,)))
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


def make_quorum(
    directory: Path, count: int, settings: str = "", *, listed: bool = False
) -> QuorumProcesses:
    """Written and formatted, not started. `settings` are more lines of each node's properties;
    where voters are `listed`, one of them says who votes (KIP-856)."""
    ports = take_ports(2 * count)
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
    options = () if listed else ("--initial-controllers", voters)
    if listed:
        at = ",".join(f"{n.id}@127.0.0.1:{n.inner}" for n in nodes.values())
        settings += f"controller.quorum.voters={at}\n"
    for node in nodes.values():
        text = PROPERTIES.format(
            id=node.id, inner=node.inner, outer=node.outer, data=node.directory / "data"
        )
        node.config.write_text(text + settings)
        format_node(cluster_id, node.config, *options)
    return QuorumProcesses(cluster_id=cluster_id, nodes=nodes)


@contextmanager
def quorum_processes(
    directory: Path, count: int, settings: str = "", *, listed: bool = False
) -> Iterator[QuorumProcesses]:
    """Started, and killed at the end."""
    quorum = make_quorum(directory, count, settings, listed=listed)
    try:
        quorum.start()
        yield quorum
    finally:
        stop_all(quorum)
        give_back_ports(quorum.ports)


def stop_all(quorum: QuorumProcesses) -> None:
    for node in quorum.running():
        node.kill()
