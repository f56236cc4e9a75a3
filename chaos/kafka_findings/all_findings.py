"""Every finding, in the order of `docs/findings.md`."""

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
            has_script=True,
        ),
        Finding(
            section=2,
            scenarios=("format-power-off",),
            says=(r"No FeatureLevelRecord for metadata.version",),
            files=("bootstrap.checkpoint", "meta.properties"),
            has_script=True,
        ),
        Finding(section=3, scenarios=("last-replica-standing",)),
        Finding(section=4, scenarios=("silent-controller",)),
        Finding(section=5, scenarios=("unwaited-topics",)),
        Finding(
            section=6,
            scenarios=("clean-stop-power-off", "clean-stop-then-lead"),
            says=(r"Deleting segment",),
            files=("append-0-1/*.log", "append-0-1/*.timeindex"),
            has_script=True,
        ),
        Finding(
            section=7,
            scenarios=("fenced-last-leader",),
            says=(r"using an unclean election",),
        ),
    )
}
