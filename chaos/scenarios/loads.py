"""What clients do to the brokers of the scenarios, what kind of brokers those are, and what the
sides of the scenarios expect of them."""

from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict
from workloads.append_options import AppendOptions

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

# For scenarios about controllers: it starts sooner than three.
ONE_BROKER = {"brokers": "1", "replication": "1", "min_isr": "1"}

# Something of everything: promises of every kind, idempotent producers, topics that come and go.
MIXED = AppendOptions(topics=2, partitions=3, producers=20, consumers=3, rate=300.0, admin_rate=0.5)

# Where the voters are in the log alone, a broker that loses power before its copy of that log is on
# its disk does not start again (see observer-power-off): scenarios about other things name
# the voters.
TWO_IN_SYNC = {"min_isr": "2", "quorum": "static"}

_DURABILITY = "log-durability"  # named, since its module takes its time to import

AS_PROMISED = Expectation(verdict=Verdict.VALID)

# Records that were acknowledged are gone, and nothing that happened allows for it.
LOSES_RECORDS = Expectation(
    verdict=Verdict.INVALID, check=_DURABILITY, anomaly="lost-write", least=1
)
# Some are gone, as they may be after what happened.
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
FORGETS_TOPICS = Expectation(verdict=Verdict.INVALID, check="M6-acknowledged-topics-committed")


def ends_by_itself(saying: str) -> Expectation:
    """A node does, whenever it is started; the last that it says has this in it."""
    return Expectation(verdict=Verdict.INVALID, check="nodes-kept-running", anomaly=saying)
