"""Bugs in how replicas follow, are counted and are removed, in simulated clusters, and the checks
that must find them.

Scenarios of their own show most of these: brokers that are restarted one after another over slow
links, a leader that is cut off and comes back with another log, a broker and the active controller
that are lost together, and clean shutdowns followed by a power cut.
"""

from collections.abc import Mapping

from chaos.mutations.mutation import Mutation

_CLEAN_STOP = ("E6-lost-bytes-are-not-clean", "log-durability")
_PARTED = ("P5-joined-with-all", "P7-maximal-isr-holds-all", "P11-replicas-agree")
_KEEPS_UP = ("P18-high-watermark-keeps-up",)


def _planted(
    name: str,
    scenario: str,
    *checks: str,
    wrong: str,
    real: str,
    duration_s: float = 40.0,
    settings: Mapping[str, str] | None = None,
    tries: int = 3,
) -> Mutation:
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario=scenario,
        duration_s=duration_s,
        settings={"elr": "on", **(settings or {})},
        tries=tries,
        simulated=True,
    )


IN_REPLICATION = (
    _planted(
        "P-DIVERGE-ACK",
        "slow-roll",
        *_PARTED,
        wrong="a follower is counted by its log end, though its log has diverged from its leader's",
        real="KAFKA-13141",
    ),
    _planted(
        "P-HWM-STUCK",
        "slow-roll",
        *_KEEPS_UP,
        wrong="a shrunk ISR does not move the high watermark",
        real="KAFKA-13091",
    ),
    _planted(
        "P-SHUT-HWM",
        "slow-roll",
        *_KEEPS_UP,
        wrong="a broker that has shut down is waited for until its lag time is over",
        real="KAFKA-15021",
    ),
    _planted(
        "P-EARLY-HWM",
        "stranded-leader",
        "P16-no-committed-record-cut",
        wrong="a follower takes over its leader's high watermark before it truncates its log",
        real="KAFKA-14704",
    ),
    _planted(
        "P-STALE-DIVERGE",
        "late-answer",
        "P16-no-committed-record-cut",
        wrong="a follower truncates its log where it diverges from that of an earlier leader",
        real="KAFKA-18991",
    ),
    _planted(
        "P-LASTEPOCH",
        "isr-shrink-storm",
        *_PARTED,
        wrong="a follower forgets the epoch of its last record after an empty Fetch",
        real="KAFKA-15510",
        duration_s=24.0,
        tries=8,  # needs a follower with more than the next leader at its empty Fetch
    ),
    _planted(
        "P-NEVER-FENCED",
        "lost-together",
        "P18-silent-brokers-are-fenced",
        wrong="a new active controller starts no session for a broker before it hears it",
        real="KAFKA-18138",
    ),
    _planted(
        "P-BUSY-FENCE",
        "held-up-controller",
        "P18-heard-brokers-are-kept",
        wrong="heartbeats that a busy controller handles late do not count",
        real="KAFKA-15019",
    ),
    _planted(
        "P-STRAY",
        "lost-together",
        "no-stray-replicas",
        wrong="replicas of topics that were deleted while a broker was off stay on its disk",
        real="KAFKA-14616, and ours",
    ),
    _planted(
        "G-DEPOSED-COMMIT",
        "stranded-coordinator",
        "committed-offsets-are-kept",
        wrong="a deposed coordinator acknowledges what it appended as committed",
        real="KAFKA-20634",
    ),
    _planted(
        "E-CLEAN-UNSYNCED",
        "clean-stop-power-off",
        *_CLEAN_STOP,
        wrong="the clean-shutdown file is synced, and not the logs before it",
        real="the rule of KIP-966, left out",
        duration_s=20.0,
    ),
    _planted(
        "E-CLEAN-SEGMENT",
        "clean-stop-power-off",
        *_CLEAN_STOP,
        wrong="a clean shutdown syncs only the last segment, and vouches for all",
        real="Apache Kafka as shipped, for the end of its time index",
        duration_s=20.0,
        settings={"log.segment.bytes": "4096"},
    ),
    _planted(
        "E-ELECTION-WIPE",
        "isr-shrink-storm",
        "E3-eligible-are-kept",
        wrong="a check of preferred leaders empties the ELR of every partition that another leads",
        real="Apache Kafka before 4.3, for another change; its pull request 20716",
        duration_s=24.0,
        settings={"min_isr": "3", "leader.imbalance.check.interval.seconds": "1"},
        tries=4,
    ),
)
