"""The metrics of a node: what each of them means, and all of them in Prometheus' text format."""

import math
from collections.abc import Mapping

from node.lazy_dataclass import dataclass

PREFIX = "kafka_server_raft_metrics_"  # kafka.server:type=raft-metrics, as JMX exporters spell it
_CONTROLLER = "kafka_controller_"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str  # as KIPs and Kafka write it
    source: str  # the KIP that has it; "Kafka" of what only it ships
    is_shipped: bool  # by Apache Kafka 4.3
    about: str  # with its unit
    is_text: bool = False  # it stands in a label, and the value is 1
    prefix: str = PREFIX


METRICS = (
    Metric("current-leader", "KIP-595", True, "The leader's id; -1 where it is unknown"),
    Metric("current-epoch", "KIP-595", True, "The epoch of the quorum; 0 where it is unknown"),
    Metric("current-vote", "KIP-595", True, "Whom it voted for in this epoch; -1 for nobody"),
    Metric("current-vote-directory-id", "Kafka", True, "The directory id of that one", True),
    Metric(
        "current-state",
        "KIP-595",
        True,
        "leader, follower, candidate, prospective, prospective-voted, observer, unattached or "
        "unattached-voted; unattached too of a leader that resigned",
        True,
    ),
    Metric("log-end-offset", "KIP-595", True, "Where the log ends"),
    Metric("log-end-epoch", "KIP-595", True, "The epoch of the log's last record"),
    Metric("high-watermark", "KIP-595", True, "All below is committed; -1 where it is unknown"),
    Metric("boot-timestamp", "KIP-595", False, "When the process began, ms since 1970"),
    Metric(
        "number-unknown-voter-connections",
        "KIP-595",
        True,
        "Other voters of whom no address is known",
    ),
    Metric(
        "election-latency-avg",
        "KIP-595",
        True,
        "From when it first stood for election until it led or knew a leader, ms; average",
    ),
    Metric("election-latency-max", "KIP-595", True, "The same; the longest"),
    Metric(
        "commit-latency-avg",
        "KIP-595",
        True,
        "From when a leader appended a batch until the high watermark passed it, ms; average",
    ),
    Metric("commit-latency-max", "KIP-595", True, "The same; the longest"),
    Metric("fetch-records-rate", "KIP-595", True, "Records fetched from a leader, a second"),
    Metric("append-records-rate", "KIP-595", True, "Records appended as the leader, a second"),
    Metric(
        "poll-idle-ratio-avg",
        "KIP-595",
        True,
        "The part of the time in which it waited, 0 to 1; waiting for its disk is work",
    ),
    Metric("number-of-voters", "KIP-856", True, "How many vote, by its log"),
    Metric(
        "number-of-possible-voters",
        "KIP-856",
        False,
        "Observers that could be added to the voters: with a directory id, of a node that is "
        "listed (KIP-856 form) and that did not register as a broker alone; of the leader only",
    ),
    Metric(
        "pending-add-voter",
        "KIP-856",
        False,
        "1 while a request to add a voter waits, or what it wrote is not committed; of the leader "
        "only",
    ),
    Metric(
        "pending-remove-voter",
        "KIP-856",
        False,
        "1 while a request to remove a voter waits, or what it wrote is not committed; of the "
        "leader only",
    ),
    Metric("number-of-observers", "KIP-853", True, "Observers that fetch; of the leader only"),
    Metric(
        "uncommitted-voter-change",
        "KIP-853",
        True,
        "1 while the newest voter set is not committed; of the leader only",
    ),
    Metric(
        "electable-leaders",
        "KIP-966",
        False,
        "How many replicas are in the ISR or the ELR of their partition",
        prefix=_CONTROLLER,
    ),
    Metric(
        "global-under-min-isr-partition-count",
        "KIP-966",
        False,
        "Partitions whose ISR is smaller than the effective min.insync.replicas",
        prefix=_CONTROLLER,
    ),
)


def exposition(values: Mapping[str, float | str]) -> str:
    """All of METRICS that have a value (Prometheus' text format 0.0.4)."""
    told = [metric for metric in METRICS if metric.name in values]
    assert len(told) == len(values), f"{sorted(values)} are not all among the metrics"
    return "".join(_lines(metric, values[metric.name]) for metric in told)


def _lines(metric: Metric, value: float | str) -> str:
    name = metric_name(metric)
    help_ = f"# HELP {name} {metric.name} ({metric.source}): {metric.about}.\n# TYPE {name} gauge\n"
    if metric.is_text:
        return f'{help_}{name}{{{metric.name.replace("-", "_")}="{value}"}} 1\n'
    assert not isinstance(value, str), f"{metric.name}={value!r} is no number"
    return f"{help_}{name} {'NaN' if math.isnan(value) else value}\n"


def metric_name(metric: Metric) -> str:
    return metric.prefix + metric.name.replace("-", "_")


def as_markdown() -> str:
    """A row for each metric, for `docs/reference/metrics.md`."""
    rows = [
        f"| `{metric.name}` | {metric.source} | {'yes' if metric.is_shipped else 'no'} |"
        f" {metric.about} |"
        for metric in METRICS
    ]
    head = ["| metric | from | in Kafka 4.3 | what it tells |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])
