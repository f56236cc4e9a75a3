"""Whom the controllers of a cluster voted for, by what stands on their disks."""

import json

from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster.interface import NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY
from chaos.container_files import read_file

QUORUM_STATE = "__cluster_metadata-0/quorum-state"


def vote_of(container: Container) -> NodeId | None:
    """In the newest epoch of its node; None: for nobody. Kafka replaces the file as a whole, and
    makes it with the first thing that it has to remember."""
    try:
        content = read_file(container, f"{DATA}/{LOG_DIRECTORY}/{QUORUM_STATE}")
    except NotFound:
        return None
    state = json.loads(content)
    voted = int(state["votedId"])
    return NodeId(voted) if voted >= 0 else None
