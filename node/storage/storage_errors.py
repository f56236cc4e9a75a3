"""Refusals of the storage, for the operator: what is wrong with which file, and what to do next.

They end a start before the node speaks to anybody. None of them is ever caught to go on with a
guess: a vote or a record that is forgotten may be given twice. Where a broker that runs reads a
damaged log of a partition, whoever asked is told so, and nothing in its place
(`HeldReplicas.damaged`).
"""


class StorageError(ValueError):
    """What is wrong with which file, and the next command."""


class CorruptLog(StorageError):
    """Bytes that were made durable are damaged, or a file of the log is missing."""


class CorruptFile(StorageError):
    """A small file that is replaced as a whole (quorum-state, meta.properties, a checkpoint) holds
    what nobody writes."""


class NotFormatted(StorageError):
    """The log directory holds no meta.properties: it was never (or not wholly) formatted."""


class AlreadyFormatted(StorageError):
    """The log directory belongs to a node already, and formatting it would make that forget."""
