"""The names of files, relative to the log directory. Kafka's own."""

from node.ids import METADATA_LOG

METADATA_DIRECTORY: str = METADATA_LOG
META_PROPERTIES = "meta.properties"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
QUORUM_STATE = f"{METADATA_DIRECTORY}/quorum-state"
VOTERS_CHECKPOINT = f"{METADATA_DIRECTORY}/00000000000000000000-0000000000.checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
