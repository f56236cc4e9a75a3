"""The logs that a process has open: that of the metadata, and of a broker those of its replicas."""

from node.effects import ReplicaLogChange
from node.ids import METADATA_LOG, LogId
from node.storage.log import Log
from node.storage.log_changes import BatchLog, perform_on_replicas
from node.storage.log_directories import LogDirectories


class ProcessLogs:
    def __init__(self, metadata: Log, replicas: LogDirectories | None) -> None:
        self._metadata = metadata
        self._replicas = replicas

    def __getitem__(self, log: LogId) -> BatchLog:
        if log == METADATA_LOG:
            return self._metadata
        return self._of_replicas[log]

    def change(self, change: ReplicaLogChange) -> None:
        perform_on_replicas(change, self._of_replicas)

    @property
    def _of_replicas(self) -> LogDirectories:
        assert self._replicas is not None, "controllers keep no replicas"
        return self._replicas
