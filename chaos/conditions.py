"""What nodes are told to wait for, and what they live in, as a value.

Time-outs and sizes hold in every runtime. The network and the disk are as drawn in a
simulated cluster only: containers have the machine's own.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

_Value = int | float

# Ours, Kafka's name for it, and what Kafka takes where nothing is said.
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
    """Kafka's defaults on a quick network and a good disk, if nothing else is said."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    append_linger_ms: int = 0  # our node already shares one flush among all that is ready
    request_timeout_ms: int = 2000
    segment_bytes: int = 1 << 30  # of the metadata log: small ones roll within a run
    snapshot_bytes: int = 20 << 20  # of records, and a snapshot is taken
    retention_bytes: int = 100 << 20  # of log and snapshots, and the oldest ones go
    # A write to a stream arrives after least..most; one in `spikes` after so many times as long.
    latency_least_us: int = 100
    latency_most_us: int = 2_000
    spikes: float = 0.01
    spike_factor: int = 40
    # A sync takes least..most.
    sync_least_us: int = 200
    sync_most_us: int = 4_000
    # Of the flushes of a log so many are late: they take up to `late_most_us`, and the node does
    # not wait for them. Shells that wait hide what a node may not tell before.
    late_flushes: float = 0.05
    late_most_us: int = 50_000

    def properties(self) -> dict[str, int]:
        """What is not Kafka's own default, under Kafka's names."""
        values = [(kafkas, getattr(self, ours), usual) for ours, kafkas, usual in _KAFKAS]
        return {name: value for name, value, usual in values if value != usual}

    def as_json(self) -> dict[str, _Value]:
        return asdict(self)

    @property
    def longest_latency_s(self) -> float:
        return self.latency_most_us * self.spike_factor / 1e6


def conditions_from(recorded: Mapping[str, _Value]) -> Conditions:
    """What `as_json` gave; a run of before there were any had the defaults. Raises TypeError."""
    known = {field.name for field in fields(Conditions)}
    assert set(recorded) <= known, sorted(set(recorded) - known)
    return Conditions(**recorded)  # type: ignore[arg-type]  # ints stay ints in JSON
