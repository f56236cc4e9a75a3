"""What surely survives on a machine's disk, whatever its node believes.

It is read after every step of the node, so only changes are looked at: quorum-state
is replaced as a whole, by another inode each time, and a log is as durable as it is long once no
page of it is dirty, which takes a step of the file system. Of its segments only the last one is
ever written or cut; of the others it is enough to know once that they are durable.
"""

from bisect import bisect_left
from operator import attrgetter

from chaos.cluster.sim.filesystem import FileSystem
from chaos.cluster.sim.journal import ROOT
from node.effects import ElectionState
from node.ids import Offset
from node.storage.disk import QUORUM_STATE
from node.storage.election_store import parse_election_state
from node.storage.log import Log

_base = attrgetter("base")


class DurableState:
    """In one life of a node; `directory` holds its files."""

    def __init__(self, files: FileSystem, directory: str, log: Log) -> None:
        self._files = files
        self._directory = directory
        self._log = log
        self._log_end = Offset(0)
        self._settled = Offset(0)  # segments with a base below are durable, and will not change
        self._looked_at = -1  # which step of the file system
        self._stored = ROOT  # no file is
        self._election = ElectionState()

    @property
    def log_end(self) -> Offset:
        """Every batch below is durable."""
        if self._looked_at != self._files.steps:
            self._looked_at = self._files.steps
            end = self._log.next_offset
            self._log_end = end if self._is_log_durable() else min(self._log_end, end)
        return self._log_end

    def _is_log_durable(self) -> bool:
        segments = self._log.segments
        self._settled = min(self._settled, segments[-1].base)
        for segment in segments[bisect_left(segments, self._settled, key=_base) :]:
            if not self._files.is_durable(f"{self._directory}/{segment.path}"):
                return False
        self._settled = segments[-1].base
        return True

    @property
    def election(self) -> ElectionState:
        """What quorum-state says after a power cut; nothing where there is none."""
        committed = self._files.journal.committed
        stored = committed.find(f"{self._directory}/{QUORUM_STATE}")
        if stored is not None and stored != self._stored:
            self._election = parse_election_state(committed.content(stored))
            self._stored = stored
        return self._election
