"""The votes of a cluster's controllers, as they stand on their disks."""

import json

from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster.interface import NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY
from chaos.container_files import read_file

QUORUM_STATE = "__cluster_metadata-0/quorum-state"


def vote_of(container: Container) -> NodeId | None:
    """The vote in the newest epoch of a node; None: it has not voted. Kafka replaces the file as a
    whole, and makes it with the first thing that it has to remember."""
    try:
        content = read_file(container, f"{DATA}/{LOG_DIRECTORY}/{QUORUM_STATE}")
    except NotFound:
        return None
    state = json.loads(content)
    voted = int(state["votedId"])
    return NodeId(voted) if voted >= 0 else None
