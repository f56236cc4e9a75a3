"""The loads, cluster settings and expectations that the scenarios of brokers share."""

from dataclasses import replace

from chaos.scenario import Takes
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict
from workloads.append import AppendOptions

# All acknowledged records are promised: every producer waits for all in-sync replicas.
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

# For scenarios about controllers: one broker starts sooner than three.
ONE_BROKER = {"brokers": "1", "replication": "1", "min_isr": "1"}

# A mixture: promises of every kind, idempotent producers, topics that come and go.
MIXED = AppendOptions(topics=2, partitions=3, producers=20, consumers=3, rate=300.0, admin_rate=0.5)

# If the voters are in the log alone, a broker that loses power before its copy of that log is on
# its disk does not start again (see observer-power-off): scenarios about other things name the
# voters.
TWO_IN_SYNC = {"min_isr": "2", "quorum": "static"}

# For scripts that name brokers 1, 2 and 3, each with a replica of every partition.
THREE_BROKERS = Takes(brokers=range(3, 4), settings={"replication": ("3",)})
# For those that also rely on what two of the three have.
TWO_OF_THREE = Takes(brokers=range(3, 4), settings={"replication": ("3",), "min_isr": ("2",)})
# For scripts of a quorum of three beside the only broker, or beside three.
THREE_VOTERS_ONE_BROKER = Takes(voters=range(3, 4), brokers=range(1, 2))
THREE_OF_BOTH = replace(THREE_BROKERS, voters=range(3, 4))
# For scenarios that hurt one broker at a time, while others go on.
SOME_BROKERS = Takes(brokers=range(3, 6), settings={"replication": ("3", "4", "5")})

_DURABILITY = "log-durability"  # by name, since its module takes long to import

AS_PROMISED = Expectation(verdict=Verdict.VALID)

# Checks that see the same loss of acknowledged records: other records are at their offsets, and
# leaders and replicas lack what was acknowledged, given to consumers, or below a high watermark.
SEE_LOST_RECORDS = (
    "log-offsets",
    "log-sends",
    "P9-eligible-hold-all",
    "P10-leaders-hold-acknowledged",
    "P13-reads-are-stored",
    "P16-no-committed-record-cut",
    "P18-acknowledged-everywhere",
)
# If some replicas lost the records and others did not, they do not agree either.
SEE_LOST_REPLICAS = (*SEE_LOST_RECORDS, "P11-replicas-agree")


def loses_records(least: int = 1, also: tuple[str, ...] = SEE_LOST_RECORDS) -> Expectation:
    """Acknowledged records are gone, and nothing that happened allows for it."""
    return Expectation(
        verdict=Verdict.INVALID, check=_DURABILITY, anomaly="lost-write", least=least, also=also
    )


LOSES_RECORDS = loses_records()
# Some records are gone, as the faults allow.
LOSES_AS_ALLOWED = Expectation(
    verdict=Verdict.VALID, numbers=(Bound(check=_DURABILITY, name="allowed_loss", least=1),)
)
LOSES_NOTHING = Expectation(
    verdict=Verdict.VALID,
    numbers=(
        Bound(check=_DURABILITY, name="acknowledged", least=1),
        Bound(check=_DURABILITY, name="allowed_loss", most=0),
    ),
)
# A committed part of the metadata log was forgotten, and another one was written in its place:
# logs, images and the answers of leaders contradict what was there before.
SEE_FORGOTTEN_LOG = (
    "Q1-monotonic-epoch",
    "Q2-one-leader-per-epoch",
    "Q3-one-vote-per-epoch",
    "Q5-log-matching",
    "Q7-quorum-high-watermark",
    "Q11-leader-completeness",
    "Q12-committed-agree",
    "V8-new-disk-is-no-voter",
    "voters-keep-the-committed",
    "M1-metadata-logs-agree",
    "followers-keep-up",
    "recovers-when-healed",
)

# Acknowledged topics are in no committed log.
MAKES_UP_TOPICS = Expectation(verdict=Verdict.INVALID, check="M6-acknowledged-topics-committed")
# The same after a committed part of that log was forgotten: brokers that had replayed it know
# records that no longer exist, or end because of the new ones.
FORGETS_TOPICS = replace(
    MAKES_UP_TOPICS,
    also=(
        *SEE_FORGOTTEN_LOG,
        "M1-replayed-as-committed",
        "M3-broker-epochs-rise",
        "brokers-trace-what-they-do",
        "told-partitions-were",
        "nodes-kept-running",
    ),
)


def ends_by_itself(saying: str, also: tuple[str, ...] = ("recovers-when-healed",)) -> Expectation:
    """A node ends by itself whenever it is started; its last words contain this text. So the
    cluster never becomes whole again."""
    return Expectation(
        verdict=Verdict.INVALID, check="nodes-kept-running", anomaly=saying, also=also
    )
