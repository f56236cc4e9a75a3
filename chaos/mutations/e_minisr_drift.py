"""E-MINISR-DRIFT: another min.insync.replicas leaves the ELR as it was by the one before
(KAFKA-16540)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.controller import resource_configs
from node.controller.image import Image
from node.records.metadata import ClearElrRecord, ConfigRecord


def nothing_is_cleared(_image: Image, _records: Sequence[ConfigRecord]) -> list[ClearElrRecord]:
    return []


PLANTED = Planted(owner=resource_configs, decision="_clear_elr", wrong=nothing_is_cleared)
