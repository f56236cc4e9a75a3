"""Whether the metadata log may have lost committed records, by what was done to the disks."""

from checkers.evidence.evidence import Evidence
from checkers.history.tables import NO_DIRECTORY


def may_forget(evidence: Evidence) -> bool:
    """Whether committed records may be gone without a broken promise: from so many voters' disks
    that the others are no majority. If voters are known by their ids alone (kraft.version 0), one
    disk is enough: a voter with an empty disk votes for any candidate (KIP-856, Motivation)."""
    voters = evidence.voters.newest
    gone = {n for f in evidence.faults if f.wipes or f.damages_bytes for n in f.nodes}
    gone &= set(voters.nodes)
    by_ids = any(key.directory == NO_DIRECTORY for key in voters.keys)
    return len(gone) >= (1 if by_ids else len(voters.keys) - voters.majority + 1)
