"""The labels by which any process finds all parts of a run, and reads the target and the id of a
running cluster from its nodes."""

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chaos.cluster.targets.named import NODE as OWN_NODE
from chaos.cluster.targets.named import target_named
from chaos.cluster.targets.target import Target

RUN: Final = "kraft-chaos.run"
USER: Final = "kraft-chaos.user"
OWNER: Final = "kraft-chaos.owner"
ROLE: Final = "kraft-chaos.role"
NODE: Final = "kraft-chaos.node"
DIRECTORY: Final = "kraft-chaos.directory"
TARGET: Final = "kraft-chaos.target"
SETTINGS: Final = "kraft-chaos.settings"
CLUSTER_ID: Final = "kraft-chaos.cluster-id"


class ContainerRole(StrEnum):
    NODE = "node"
    FORMAT = "format"
    PROXY = "proxy"
    AGENT = "agent"
    PCAP = "pcap"


class Owner(StrEnum):
    """The owner of the cluster: what belongs to a process dies with it."""

    RUN = "run"
    KEPT = "kept"  # `up`, and runs with --keep: never reaped


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabels:
    """The labels of every container, network and volume of one run."""

    run_id: str
    owner: Owner
    directory: str = ""  # where the run writes; the logs of a dead run are saved there

    def labels(self, role: ContainerRole | None = None, node: int | None = None) -> dict[str, str]:
        labels = {RUN: self.run_id, USER: user(), OWNER: self.owner}
        if self.directory:
            labels[DIRECTORY] = self.directory
        if role is not None:
            labels[ROLE] = role
        if node is not None:
            labels[NODE] = str(node)
        return labels

    def name(self, part: str) -> str:
        return f"{prefix(self.run_id)}{part}"


def prefix(run_id: str) -> str:
    """The prefix of the names of a run's containers, networks, volumes and disk images."""
    return f"kraft-chaos-{run_id}-"


def user() -> str:
    """Lock files are per user and machine, so the runs of others cannot be judged dead."""
    return f"{os.getuid()}@{socket.gethostname()}"


def labels_of(target: Target, cluster_id: str) -> dict[str, str]:
    settings = json.dumps(dict(target.settings), sort_keys=True)
    return {TARGET: target.word, SETTINGS: settings, CLUSTER_ID: cluster_id}


def target_of(labels: Mapping[str, str]) -> Target:
    """The target that wrote these labels; a planted bug and time-outs only matter when it is
    started."""
    return target_named(labels.get(TARGET, OWN_NODE), json.loads(labels.get(SETTINGS, "{}")))
