"""The target and the id of a running cluster, read from the labels of its nodes."""

import json
from collections.abc import Mapping

from chaos.cluster.targets.named import NODE, target_named
from chaos.cluster.targets.target import Target

TARGET = "kraft-chaos.target"
SETTINGS = "kraft-chaos.settings"
CLUSTER_ID = "kraft-chaos.cluster-id"


def labels_of(target: Target, cluster_id: str) -> dict[str, str]:
    settings = json.dumps(dict(target.settings), sort_keys=True)
    return {TARGET: target.word, SETTINGS: settings, CLUSTER_ID: cluster_id}


def target_of(labels: Mapping[str, str]) -> Target:
    """The target that wrote these labels; a planted bug and time-outs only matter when it is
    started."""
    return target_named(labels.get(TARGET, NODE), json.loads(labels.get(SETTINGS, "{}")))
