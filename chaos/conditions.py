"""Time-outs and sizes of nodes, their network and disks, as a value.

Time-outs and sizes hold in every runtime. Network and disk are as drawn in simulated clusters only:
containers have the machine's.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

_Value = int | float

# Our name, Kafka's name, and Kafka's default.
_KAFKAS = (
    ("election_timeout_ms", "controller.quorum.election.timeout.ms", 1000),
    ("fetch_timeout_ms", "controller.quorum.fetch.timeout.ms", 2000),
    ("election_backoff_max_ms", "controller.quorum.election.backoff.max.ms", 1000),
    ("append_linger_ms", "controller.quorum.append.linger.ms", 25),
    ("request_timeout_ms", "controller.quorum.request.timeout.ms", 2000),
    ("segment_bytes", "metadata.log.segment.bytes", 1 << 30),
    ("snapshot_bytes", "metadata.log.max.record.bytes.between.snapshots", 20 << 20),
    ("retention_bytes", "metadata.max.retention.bytes", 100 << 20),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """By default: Kafka's defaults on a fast network and a good disk."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    append_linger_ms: int = 0  # our node already shares one flush among all that is ready
    request_timeout_ms: int = 2000
    segment_bytes: int = 1 << 30  # of the metadata log; small segments roll within a run
    snapshot_bytes: int = 20 << 20  # a snapshot is taken after so many of records
    retention_bytes: int = 100 << 20  # beyond it the oldest log segments and snapshots are deleted
    # A write to a stream arrives after least..most; one in `spikes` takes so many times as long.
    latency_least_us: int = 100
    latency_most_us: int = 2_000
    spikes: float = 0.01
    spike_factor: int = 40
    # A sync takes least..most.
    sync_least_us: int = 200
    sync_most_us: int = 4_000
    # This share of log flushes is late: they take up to `late_most_us`, and the node does not wait
    # for them. A shell that waits hides what a node may not send before.
    late_flushes: float = 0.05
    late_most_us: int = 50_000

    def properties(self) -> dict[str, int]:
        """The values other than Kafka's defaults, under Kafka's names."""
        values = [(kafkas, getattr(self, ours), usual) for ours, kafkas, usual in _KAFKAS]
        return {name: value for name, value, usual in values if value != usual}

    def as_json(self) -> dict[str, _Value]:
        return asdict(self)

    @property
    def longest_latency_s(self) -> float:
        return self.latency_most_us * self.spike_factor / 1e6


def conditions_from(recorded: Mapping[str, _Value]) -> Conditions:
    """The inverse of `as_json`; runs from before it have the defaults. Raises TypeError."""
    known = {field.name for field in fields(Conditions)}
    assert set(recorded) <= known, sorted(set(recorded) - known)
    return Conditions(**recorded)  # type: ignore[arg-type]  # ints stay ints in JSON
