"""Every finding, in the order of `docs/results/findings.md`."""

from collections.abc import Mapping

from chaos.kafka_findings.finding import Finding

FINDINGS: Mapping[str, Finding] = {
    each.name: each
    for each in (
        Finding(
            section=1,
            scenarios=("observer-power-off",),
            says=(r"Encountered fatal fault", r"IllegalStateException: Expected to be Follower"),
            files=("__cluster_metadata-0/*.log", "__cluster_metadata-0/quorum-state"),
        ),
        Finding(
            section=2,
            scenarios=("format-power-off",),
            says=(r"No FeatureLevelRecord for metadata.version",),
            files=("bootstrap.checkpoint", "meta.properties"),
            moments=("formatted", "first-start"),
        ),
        Finding(section=3, scenarios=("last-replica-standing",)),
        Finding(section=4, scenarios=("silent-controller",)),
        Finding(section=5, scenarios=("unwaited-topics",)),
        Finding(
            section=6,
            scenarios=("clean-stop-power-off", "clean-stop-then-lead"),
            says=(r"Deleting segment",),
            files=("append-0-1/*.log", "append-0-1/*.timeindex"),
            moments=("clean-stop",),
        ),
        Finding(
            section=7,
            scenarios=("fenced-last-leader",),
            says=(r"using an unclean election",),
        ),
        Finding(
            section=8,
            scenarios=("moved-replicas", "moved-replica"),
            says=(
                r"successfully replaced with the future replica",
                r"Recovering unflushed segment",
            ),
            files=("append-0-*/*.log", "kraft.second/append-0-*/*.log"),
            moments=("replica-moved",),
        ),
        Finding(
            section=9,
            scenarios=("lone-controller",),
            files=("__cluster_metadata-0/*.log",),
            moments=("syncs-waiting",),
        ),
        Finding(
            section=10,
            scenarios=("elr-wiped",),
            says=(r"handleBrokerUncleanShutdown",),
        ),
        Finding(
            section=11,
            scenarios=("lost-observer",),
            says=(r"transition to FollowerState",),
        ),
        Finding(
            section=12,
            scenarios=("hanging-transaction",),
            says=(r"0 recovered for __transaction_state",),
            files=("append-0-0/*.log", "__transaction_state-*/*.log"),
            moments=("segment-rolled",),
        ),
        Finding(
            section=13,
            scenarios=("lost-timestamps",),
            files=("append-looked-up-0/*.timeindex",),
        ),
        Finding(
            section=14,
            scenarios=("ghost-topic",),
            says=(r"Error generating new metadata image",),
            files=("__cluster_metadata-0/*.log",),
        ),
        Finding(
            section=15,
            scenarios=("undeleted-records",),
            files=("log-start-offset-checkpoint", "append-shortened-0/*.log"),
        ),
        Finding(
            section=16,
            scenarios=("unreachable-voter",),
            says=(r"Completed transition to (Leader|ProspectiveState)",),
        ),
        Finding(
            section=17,
            scenarios=("unknown-operation",),
            says=(r"Encountered quorum controller fault",),
        ),
        Finding(
            section=18,
            scenarios=("bootstrap-race",),
            says=(r"Performing controller activation", r"Unknown metadata version"),
            files=("__cluster_metadata-0/*.log", "bootstrap.checkpoint"),
        ),
        Finding(
            section=19,
            scenarios=("removed-candidate",),
            says=(r"must be in the set of voters", r"Completed transition to (Candidate|Leader)"),
            files=("__cluster_metadata-0/quorum-state",),
        ),
        Finding(
            section=20,
            scenarios=("removed-leader",),
            says=(r"Completed transition to (UnattachedState|ProspectiveState|Leader)",),
            files=("__cluster_metadata-0/quorum-state",),
        ),
        Finding(
            section=21,
            scenarios=("remembered-commit",),
            files=("append-0-0/*.log", "__transaction_state-*/*.log"),
            moments=("commit-remembered",),
        ),
        Finding(
            section=22,
            scenarios=("voting-broker",),
            says=(r"Received unexpected invalid request error", r"Latest set of voters"),
            files=("__cluster_metadata-0/*.log", "__cluster_metadata-0/quorum-state"),
        ),
    )
}
