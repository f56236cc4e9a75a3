"""What the levels of metadata.version allow to be written (Kafka's `MetadataVersion`)."""

from typing import Any

from node.records.broker_schemas import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from node.records.topic_schemas import PartitionChangeRecord, PartitionRecord

METADATA_VERSION = "metadata.version"  # the feature
OLDEST, NEWEST = 7, 30  # 3.3-IV3, 4.3-IV0
CONTROLLER_REGISTRATIONS = 15  # 3.7-IV0
DIRECTORIES = 17  # 3.7-IV2: of replicas and brokers
ELR = 23  # 4.0-IV1: eligible leader replicas
CORDONED_DIRECTORIES = 30  # 4.3-IV0
ELR_VERSION = "eligible.leader.replicas.version"  # another feature, from ELR on
# Those that changed what is written: to go below one of them would lose what it knows.
CHANGED = (7, 8, 11, 13, 14, 15, 17, 23, 30)

# From which level on each version of a record is written, newest first.
_WRITTEN: dict[type[Any], tuple[tuple[int, int], ...]] = {
    RegisterBrokerRecord: ((CORDONED_DIRECTORIES, 4), (DIRECTORIES, 3), (8, 2), (7, 1)),
    BrokerRegistrationChangeRecord: ((CORDONED_DIRECTORIES, 3), (DIRECTORIES, 2), (7, 1)),
    PartitionRecord: ((ELR, 2), (DIRECTORIES, 1)),
    PartitionChangeRecord: ((ELR, 2), (DIRECTORIES, 1)),
}


def written_version(kind: type[Any], level: int) -> int:
    """In which version a record is written where metadata.version has that level."""
    for since, version in _WRITTEN.get(kind, ()):
        if level >= since:
            return version
    return 0
