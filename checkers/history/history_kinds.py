"""Kinds of histories: what clients did, and with it which checks apply."""

from enum import StrEnum


class HistoryKind(StrEnum):
    """A run's own is in its run.json."""

    REGISTERS = "registers"  # reads and writes of single values
    LOG = "log"  # records sent to partitions, and polled
