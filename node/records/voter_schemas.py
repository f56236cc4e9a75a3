"""AddVoterRecord and RemoveVoterRecord (KIP-856), as dataclasses with the marks of `node.codec`.

Kafka ships neither, and so kio has neither. The KIP leaves their types open: they are 7 and 8, the
first two that no release gave to another.
"""

from dataclasses import field
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRecord:
    """The voter that a log or a snapshot adds."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    version: int = field(metadata={"kafka_type": "int16"})
    voter_id: int = field(metadata={"kafka_type": "int32"})
    voter_uuid: UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRecord:
    """The voter that a log removes."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    version: int = field(metadata={"kafka_type": "int16"})
    voter_id: int = field(metadata={"kafka_type": "int32"})
    voter_uuid: UUID | None = field(metadata={"kafka_type": "uuid"})
