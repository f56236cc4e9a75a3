"""A node of thirty lines for the tests of the cluster: it answers ApiVersions, and nothing else. It
fails as it stops where a file `fails` lies in its log directory.
"""

from collections.abc import Mapping, Sequence

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.target import Seat, TargetBounds
from chaos.cluster.topology import OUTER_PORT, inner_port

FORMAT = """
import os, sys
properties = dict(line.strip().split("=", 1) for line in open(sys.argv[1]))
directory = properties["log.dirs"]
os.makedirs(directory)
file = open(directory + "/meta.properties", "w")
file.write("node.id=" + properties["node.id"] + chr(10))
os.fsync(file.fileno())
os.fsync(os.open(directory, os.O_RDONLY))
os.fsync(os.open(os.path.dirname(directory), os.O_RDONLY))
"""

START = """
import asyncio, os, signal, sys
properties = dict(line.strip().split("=", 1) for line in open(sys.argv[1]))
assert open(properties["log.dirs"] + "/meta.properties").read().startswith("node.id=")
async def serve(reader, writer):
    try:
        while True:
            frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            body = frame[4:8] + bytes(6)
            writer.write(len(body).to_bytes(4, "big") + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    for listener in properties["listeners"].split(","):
        await asyncio.start_server(serve, "0.0.0.0", int(listener.rpartition(":")[2]))
    print('{"event":"up"}', flush=True)
    print("prose", file=sys.stderr, flush=True)
    await ending.wait()
    if os.path.exists(properties["log.dirs"] + "/fails"):
        sys.exit("a table is missing a leg")
asyncio.run(main())
"""


class StandIn:
    """A target (`chaos.cluster.targets.target.Target`) that runs in our node's image."""

    name = "stand-in"
    word = "node"
    bounds = TargetBounds()
    formats_at_start = False
    waits_when_formatted = False
    traces = False
    judged_by_logs = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {}

    @property
    def promises(self) -> Sequence[str]:
        return ()

    def release_of(self, node: NodeId) -> str:
        del node
        return ""

    def roles(self, node: NodeId) -> Roles:
        del node
        return Roles.CONTROLLER

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        return (inner_port(node),)

    def properties(self, seat: Seat, log_directory: str) -> str:
        listeners = f"INNER://0.0.0.0:{seat.inner.port},OUTER://0.0.0.0:{OUTER_PORT}"
        return f"node.id={seat.node}\nlisteners={listeners}\nlog.dirs={log_directory}\n"

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        assert seat in seats
        assert len(cluster_id) == 22
        assert len({seat.directory_id for seat in seats}) == len(seats)
        return ("python3", "-c", FORMAT, properties_file)

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        del node
        return ("python3", "-c", START, properties_file)
