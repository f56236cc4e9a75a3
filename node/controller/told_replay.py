"""What is committed, replayed into an image, and told where a judge may compare it with the log."""

from collections.abc import Sequence

from node.controller.image import Image, is_of_brokers
from node.ids import Offset
from node.outbox import Outbox
from node.records.metadata import MetadataRecord, UnknownRecord


def replay(
    image: Image,
    last: Offset,
    records: Sequence[MetadataRecord | UnknownRecord],
    outbox: Outbox,
) -> None:
    """`last`: the offset of the last of them. Of registers, which clients write all the time,
    nothing is told."""
    for offset, record in enumerate(records, start=last - len(records) + 1):
        image.replay(record)
        if is_of_brokers(record):
            name = type(record).__name__.removesuffix("Record")
            outbox.trace("c.record", offset=offset, record=name)
