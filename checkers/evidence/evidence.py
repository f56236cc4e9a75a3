"""What a run left, as one object: every check gets it, and gets its evidence from it.

Whatever is derived from the tables is derived once and kept here while the run is judged.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import pyarrow as pa

from checkers.evidence.committed import CommittedLog, committed_log
from checkers.evidence.faults import FaultFact, Kind, faults_of
from checkers.evidence.image import Timeline
from checkers.evidence.lives import Life, TraceColumns
from checkers.evidence.metadata_replay import timeline_of
from checkers.evidence.missing import Missing, missing
from checkers.evidence.partition_logs import Stretches, acknowledged, polled, stored_logs
from checkers.evidence.promised import AskedFor
from checkers.evidence.traced_logs import (
    SnapshotId,
    StoredLogs,
    TracedLogs,
    first_snapshots,
    stored_batches,
    traced_logs,
)
from checkers.evidence.voter_history import (
    LostDisk,
    LostLogs,
    LostMajority,
    ReplicaKey,
    VoterHistory,
    VoterRecords,
    lost_disks,
    lost_logs,
    lost_majority,
    newest_log,
    planned_voters,
    voter_history,
    voter_records,
)
from checkers.history.sealed_run import Run, RunInfo

T = TypeVar("T")


class Evidence:
    """The evidence of one sealed run; read-only."""

    def __init__(self, run: Run, lacking: Sequence[Missing] = ()) -> None:
        """`lacking` is evidence known to be missing beyond what the run itself shows."""
        self.run = run
        self._lacking = tuple(lacking)
        self._derived: dict[Callable[[Any], object], object] = {}

    @property
    def info(self) -> RunInfo:
        return self.run.info

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        return self.run.tables

    def once(self, derive: Callable[["Evidence"], T]) -> T:
        """The result of `derive` for this evidence; checks that ask for it share it."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        return cast("T", self._derived[derive])

    def gives(self, kind: Kind) -> bool:
        """Whether the run was planned to leave such evidence, whether or not it did."""
        return kind in self.info.gives

    @cached_property
    def missing(self) -> tuple[Missing, ...]:
        """What the run was planned to leave and did not."""
        return (*missing(self.run), *self._lacking)

    @cached_property
    def voters(self) -> VoterHistory:
        """The voters at any offset of the newest metadata log on a disk."""
        return self.voters_on(self._newest_log)

    def voters_on(self, node: int | None) -> VoterHistory:
        """The same by the log on one node's disk, which may hold uncommitted records."""
        return voter_history(
            node, planned_voters(self.info), self.metadata_logs, self.once(_voter_records)
        )

    @cached_property
    def disks(self) -> Mapping[int, ReplicaKey]:
        """Each node with the disk that was collected from it, as far as its directory is known."""
        rows = self.tables["disks"].select(["node", "directory"]).to_pylist()
        found = {row["node"]: ReplicaKey(row["node"], row["directory"]) for row in rows}
        return {node: ReplicaKey(node) for node in self.metadata_logs} | found

    @cached_property
    def brokers(self) -> tuple[int, ...]:
        """The nodes that may hold partitions."""
        return tuple(sorted(int(n) for n, role in self.info.roles.items() if "broker" in role))

    @cached_property
    def faults(self) -> tuple[FaultFact, ...]:
        """What the nemesis did, in order, with what each fault may do to its victims."""
        return faults_of(self.run)

    @cached_property
    def promised(self) -> AskedFor:
        """What was asked for, by the plan and by clients' requests."""
        return AskedFor(self.info, self.tables["ops"], self.faults)

    @cached_property
    def traces(self) -> TraceColumns:
        """The lines of the nodes' traces, in columns."""
        return TraceColumns(self.tables["node_events"])

    @property
    def lives(self) -> tuple[Life, ...]:
        """In them, the lives of all disks, by node and time of their first process."""
        return self.traces.lives

    @cached_property
    def traced_logs(self) -> TracedLogs:
        """Every replica's log, followed through its trace."""
        return traced_logs(self.lives)

    @cached_property
    def metadata_logs(self) -> StoredLogs:
        """The intact batches of the metadata log on each node's disk, in log order."""
        return stored_batches(self.tables["log_batches"])

    @cached_property
    def first_snapshots(self) -> Mapping[int, SnapshotId]:
        """By node, the snapshot at which its metadata log begins; those of offset 0 are left
        out."""
        return first_snapshots(self.tables["log_records"])

    @property
    def below_snapshots(self) -> str:
        """Why there may be nothing to look at in metadata logs; "" if they begin at 0."""
        return "the records are below snapshots" if self.first_snapshots else ""

    @cached_property
    def committed_log(self) -> CommittedLog | None:
        """The committed metadata log; None if no majority of the voters' logs can be read."""
        return committed_log(
            self._newest_log, self.voters, self.metadata_logs, self.disks, self.lost_logs
        )

    @cached_property
    def lost_disks(self) -> tuple[LostDisk, ...]:
        """The disks that nodes lost for good by faults, in that order."""
        return lost_disks(self.faults)

    @cached_property
    def lost_logs(self) -> LostLogs:
        """The metadata logs on them, as far as they were kept and can be read completely."""
        return lost_logs(self.tables["lost_batches"], self.tables["lost_disks"])

    @cached_property
    def lost_majority(self) -> LostMajority | None:
        """The voters that lost their disks, if no majority of the voters is left."""
        return lost_majority(self.voters.newest, self.lost_disks, self.tables["ops"])

    @cached_property
    def _newest_log(self) -> int | None:
        records = self.once(_voter_records)
        return newest_log(planned_voters(self.info), self.metadata_logs, records)

    @cached_property
    def timeline(self) -> Timeline | None:
        """The replayed metadata log; None if it cannot be read or has no broker."""
        return timeline_of(self.tables["log_records"], self.committed_log, self.promised)

    @cached_property
    def partition_logs(self) -> Mapping[tuple[int, str], Stretches]:
        """What each node's disk holds of each partition."""
        return stored_logs(self.tables["replica_spans"])

    @cached_property
    def acknowledged(self) -> pa.Table:
        """The spans that were sent with acks=all and acknowledged with an offset."""
        return acknowledged(self.tables["ops"], self.tables["spans"])

    @cached_property
    def polled(self) -> pa.Table:
        """The spans that consumers were given, without records with bytes that no client sent."""
        return polled(self.tables["spans"])


def _voter_records(evidence: Evidence) -> VoterRecords:
    return voter_records(evidence.tables["log_records"])
