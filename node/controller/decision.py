"""What a request is decided from, and what is decided: records, and the answer once they hold."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from node import limits
from node.config import BrokerSettings, Own
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.records.metadata import MetadataRecord
from node.wire.apis import Response


class RefusedError(Exception):
    """A request, or a part of it, cannot be done as asked; becomes its result."""

    def __init__(self, error: ErrorCode, message: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message[: limits.MAX_MESSAGE_CHARACTERS]


class Sessions(Protocol):
    """What the active controller has heard of brokers; nobody else knows."""

    def is_live(self, broker: int, now_ns: int) -> bool:
        """Is it unfenced, and was it heard of within its session?"""

    def metadata_offsets(self) -> Mapping[int, int]:
        """How far the brokers are, by their own word; of those that said so."""

    def shutdown_offset(self, broker: int) -> int | None:
        """How far the others have to be before it may end its controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """`next_offset` is greater than that of every record that is in the image, or is yet to be
    appended."""

    image: Image
    settings: BrokerSettings
    own: Own  # the node that decides
    cluster_id: str
    sessions: Sessions
    next_offset: int
    now_ns: int
    rng: random.Random  # for topic ids and places
    # Who did not say that it supports a kraft.version; None where voters do not say it.
    voters_without: Callable[[int], Sequence[NodeId] | None]

    def after(self, records: Sequence[MetadataRecord]) -> "Situation":
        """What more is decided of the same request, once these are."""
        image = self.image.copy()
        for record in records:
            image.replay(record)
        return replace(self, image=image)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`only_validated`: it is answered as if it were done, and nothing is written."""

    records: Sequence[MetadataRecord]
    response: Response
    only_validated: bool = False
