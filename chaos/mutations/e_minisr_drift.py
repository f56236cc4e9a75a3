"""E-MINISR-DRIFT: a change of min.insync.replicas leaves the ELR as it was under the old value
(KAFKA-16540)."""

from collections.abc import Iterator, Sequence

from chaos.mutations.planted import Planted
from node.controller import resource_configs
from node.controller.image import Image
from node.records.metadata import ConfigRecord, PartitionChangeRecord


def nothing_is_dropped(
    _image: Image, _records: Sequence[ConfigRecord], _default: int
) -> Iterator[PartitionChangeRecord]:
    return iter(())


PLANTED = Planted(owner=resource_configs, decision="drop_elr", wrong=nothing_is_dropped)
