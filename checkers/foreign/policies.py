"""Policies that a file leaves open: the meaning of a failed compare-and-set and of a read of
nil."""

from dataclasses import dataclass
from enum import Enum

from checkers.foreign.foreign_values import Value
from checkers.log.allowances import Isolation


class CasFailures(Enum):
    # the object did not have the expected value: as good as a read (Porcupine)
    OBSERVED = "observed"
    DROPPED = "dropped"  # it did not happen, for whatever reason (Knossos)


class NilReads(Enum):
    VALUE = "value"  # nothing had been written, or nil had
    ANY = "any"  # the client learned nothing (Knossos)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """`initial` is what every object holds at first; None is nil. `isolation` is of logs."""

    cas_failures: CasFailures
    nil_reads: NilReads
    initial: Value = None
    isolation: Isolation = Isolation.KAFKA
