"""What clients do to the brokers of the stories, and what kind of brokers those are."""

from workloads.append import AppendOptions

# Whatever was acknowledged was promised: every producer waits for all in-sync replicas.
PROMISED = AppendOptions(
    topics=1,
    partitions=1,
    producers=10,
    consumers=2,
    acks_none_share=0.0,
    acks_leader_share=0.0,
    rate=100.0,
    admin_rate=0.0,
)

# Something of everything: promises of every kind, idempotent producers, topics that come and go.
MIXED = AppendOptions(topics=2, partitions=3, producers=20, consumers=3, rate=300.0, admin_rate=0.5)

# Where the voters are in the log alone, a broker that loses power before its copy of that log is on
# its disk does not start again (see observer-power-off): stories of other things name the voters.
TWO_IN_SYNC = {"min_isr": "2", "quorum": "static"}
