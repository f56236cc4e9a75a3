"""Which of the two programs of its image a node is, and letting it be the other one."""

import shlex

from docker.models.containers import Container

from chaos.cluster.docker.containers import CHANGED_FILE, OTHER_PROGRAM, PROPERTIES_FILE
from chaos.cluster.interface import Address, NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat, Target
from chaos.cluster.topology import Topology, host_name
from chaos.container_files import write_file


def program_of(container: Container) -> str:
    """By the command of the first process of a node that runs."""
    told = container.top(ps_args="-eo pid,args")  # the engine finds a container's own by the ids
    _, command = told["Processes"][0]
    return "Apache Kafka" if str(command).startswith("java") else "our node"


def start_as(container: Container, target: Target, topology: Topology, node: NodeId) -> None:
    """Let the next start of a node, which is off, be what the target says that it is now."""
    seat = Seat(
        node=node,
        directory_id="",  # nothing of it stands in a configuration
        inner=Address(host_name(node), topology.inner_ports(node)[0]),
        outer=topology.bootstrap()[node],
    )
    write_file(container, CHANGED_FILE, target.properties(seat, f"{DATA}/{LOG_DIRECTORY}"))
    command = target.start_command(node, PROPERTIES_FILE)
    write_file(container, OTHER_PROGRAM, f"exec {shlex.join(command)}\n")
