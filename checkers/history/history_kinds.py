"""Kinds of histories: what clients did, which decides which checks apply."""

from enum import StrEnum


class HistoryKind(StrEnum):
    """The kind of a run is in its run.json."""

    REGISTERS = "registers"  # reads and writes of single values
    LOG = "log"  # records sent to partitions, and polled
