"""What is planted, and who must find it. Ids begin with what is wrong: Q the quorum, V voters, R
reads, A answers.

`checks` are those whose promise the bug breaks first. Any of them is an expected accuser; others
may accuse as well, since one wrong decision breaks more than one promise. What needs brokers cannot
be planted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One planted bug, and the scenario that shows it within `tries` runs.

    `simulated`: in virtual time only. Either it takes a window of some hundred milliseconds that is
    measured there, and not yet in containers; or nobody has tried it in containers yet.
    """

    id: str
    wrong: str  # what goes wrong, in one line
    real: str  # where it was real
    checks: tuple[str, ...]
    scenario: str
    duration_s: float
    nodes: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)  # of the scenario
    tries: int = 3
    simulated: bool = False


def _of_voters(
    name: str, *, wrong: str, real: str, checks: tuple[str, ...], simulated: bool = True
) -> Mutation:
    """Shown where voters are removed and added while nodes are cut off, killed and lose power."""
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario="membership-churn",
        duration_s=60.0,
        nodes=5,
        tries=4,
        simulated=simulated,
    )


_CATALOGUE = (
    Mutation(
        id="Q-NO-FSYNC",
        wrong="a voter fetches on before what it appended is durable",
        real="KAFKA-10533",
        checks=(
            "Q18-durable-before-counted",
            "Q7-quorum-high-watermark",
            "Q11-leader-completeness",
            "durability",
        ),
        scenario="blackout",
        duration_s=21.0,
        tries=4,
    ),
    Mutation(
        id="Q-VOTE-LATE",
        wrong="a vote is answered that is not durable, and forgotten when power fails",
        real="Raft thesis 3.8",
        checks=("Q3-one-vote-per-epoch", "Q2-one-leader-per-epoch"),
        scenario="power-off",
        duration_s=16.0,
    ),
    Mutation(
        id="Q-VOTE-UNFLUSHED",
        wrong="a candidate asks for votes with what it has not flushed, and again when it is lost",
        real="Apache Kafka as shipped, but for the order in which it flushes",
        checks=("durable-before-asked", "Q11-leader-completeness"),
        scenario="hand-over",
        duration_s=12.0,
        simulated=True,
    ),
    Mutation(
        id="Q-MARK-EARLY",
        wrong="the mark of what was flushed is ahead of the flush, and a power cut looks like rot",
        real="the order of any write-ahead log, turned round",
        checks=("nodes-kept-running",),
        scenario="blackout",
        duration_s=21.0,
        settings={"cut": "lose-data"},
        tries=4,
    ),
    Mutation(
        id="Q-SEGMENT",
        wrong="the log is cut past its newest snapshot",
        real="KAFKA-14238",
        checks=("Q14-log-starts-at-a-snapshot",),
        scenario="snapshot-catch-up",
        duration_s=20.0,
    ),
    Mutation(
        id="Q-SNAP-OFF",
        wrong="a snapshot is named by the last offset that it stands for, not by the one behind it",
        real="KAFKA-14618",
        checks=("Q15-snapshots-of-committed", "M2-equal-images"),
        scenario="snapshot-catch-up",
        duration_s=20.0,
    ),
    Mutation(
        id="Q-SNAP-TORN",
        wrong="a snapshot has its name before its bytes are durable",
        real="any file that is renamed and not synced",
        checks=("Q14-log-starts-at-a-snapshot", "nodes-kept-running"),
        scenario="snapshot-catch-up",
        duration_s=20.0,
        tries=4,
    ),
    Mutation(
        id="Q-SAME-EPOCH",
        wrong="a restarted leader leads on in its old epoch",
        real="KAFKA-10527",
        checks=("Q17-no-leader-again", "Q5-log-matching", "Q12-committed-agree"),
        scenario="kill-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="Q-HWM-EPOCH",
        wrong="a new leader calls old records committed before any of its own are",
        real="KAFKA-12619",
        checks=("Q13-high-watermark-above-leader-change", "Q11-leader-completeness"),
        scenario="kill-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="Q-EARLY-ACTIVE",
        wrong="a controller is active before it has replayed its log, and decides from stale state",
        real="KAFKA-17333",
        checks=("M2-active-after-replay", "M4-epochs-rise-in-logs"),
        scenario="kill-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="Q-STALE-REVERT",
        wrong="a deposed controller keeps the effects of writes that were never committed",
        real="KAFKA-20839",
        checks=("reads-are-committed",),
        scenario="leader-relay",
        duration_s=25.0,
        tries=4,
    ),
    Mutation(
        id="Q-ZOMBIE",
        wrong="a leader that is cut off from the others leads on for ever",
        real="KAFKA-15489",
        checks=("Q22-cut-off-leader-resigns",),
        scenario="partition-leader",
        duration_s=12.0,
        tries=4,
    ),
    Mutation(
        id="Q-DISRUPT",
        wrong="a voter that was cut off comes back and deposes a leader that is well",
        real="KIP-996",
        checks=("Q23-return-without-disturbance",),
        scenario="flapping-follower",
        duration_s=12.0,
    ),
    Mutation(
        id="Q-PREVOTE-GREEDY",
        wrong="followers that hear their leader grant pre-votes to any candidate",
        real="the rule of KIP-996, left out",
        checks=("Q23-return-without-disturbance", "Q21-a-majority-elects"),
        scenario="estranged-follower",
        duration_s=24.0,
        simulated=True,
    ),
    Mutation(
        id="Q-LIVELOCK",
        wrong="candidates wait equally long and collide again and again",
        real="KAFKA-18345",
        checks=("Q21-a-majority-elects",),
        scenario="slow-election",
        duration_s=21.0,
        nodes=5,
        tries=4,
    ),
    Mutation(
        id="Q-EPOCH-MIX",
        wrong="a follower appends batches of an epoch above the one that it fetched in",
        real="KAFKA-18723",
        checks=("Q5-log-matching", "Q12-committed-agree"),
        scenario="returning-minority",
        duration_s=32.0,
        nodes=5,
        tries=6,
        simulated=True,
    ),
    Mutation(
        id="Q-PURGATORY",
        wrong="a parked Fetch is answered late, with the epoch of then and the state of now",
        real="KAFKA-15100",
        checks=("Q12-committed-agree", "Q10-no-cut-below-high-watermark"),
        scenario="returning-minority",
        duration_s=32.0,
        nodes=5,
        tries=6,
        simulated=True,
    ),
    Mutation(
        id="Q-HALF-MAJORITY",
        wrong="half of the voters, rounded down, elect a leader and commit",
        real="Raft thesis 3.4",
        checks=(
            "Q4-elected-by-a-majority",
            "Q12-committed-agree",
            "Q11-leader-completeness",
            "durability",
            "linearizable",
        ),
        scenario="returning-minority",
        duration_s=16.0,
        nodes=5,
    ),
    Mutation(
        id="Q-HWM-SELF",
        wrong="a leader counts its own log though it votes no more",
        real="KAFKA-16530",
        checks=(
            "V6-committed-by-voters",
            "Q9-committed-by-majority",
        ),
        scenario="remove-leader",
        duration_s=30.0,
    ),
    _of_voters(
        "Q-HWM-DOWN",
        wrong="the high watermark goes down as voters come and go",
        real="the rule of KIP-856, left out",
        checks=(
            "Q8-node-high-watermark",
            "Q7-quorum-high-watermark",
        ),
    ),
    Mutation(
        id="Q-CRASH-REMOVED",
        wrong="the active controller dies when its own removal is committed",
        real="KAFKA-17608",
        checks=(
            "V11-changes-come-to-an-end",
            "nodes-kept-running",
        ),
        scenario="remove-leader",
        duration_s=30.0,
    ),
    Mutation(
        id="Q-STAY-CANDIDATE",
        wrong="a leader that is cut off stands for election for ever, each time in a higher epoch",
        real="KIP-595 before KIP-996",
        checks=("asked-before-standing",),
        scenario="partition-leader",
        duration_s=12.0,
    ),
    _of_voters(
        "V-NO-EPOCH-COMMIT",
        wrong="voters are changed by a leader that has committed nothing in its epoch",
        real="KIP-856; Raft's bug of single-server changes",
        checks=("V3-epoch-committed-before-change",),
    ),
    _of_voters(
        "V-TWO-PENDING",
        wrong="voters are changed again before the last change is committed",
        real="possible in principle (review of PR 22620, KAFKA-20661)",
        checks=("V2-one-change-uncommitted",),
    ),
    _of_voters(
        "V-NO-UNDO",
        wrong="a change of the voters outlives its record, which was truncated",
        real="the rule of KIP-856, left out",
        checks=("V4-voters-of-the-log",),
    ),
    _of_voters(
        "V-REFORMAT",
        wrong="a new disk votes as the lost one would",
        real="KAFKA-12181; Apache Kafka with a static quorum",
        checks=(
            "V8-new-disk-is-no-voter",
            "Q19-voters-stand-for-election",
            "V6-committed-by-voters",
        ),
        simulated=False,
    ),
    _of_voters(
        "V-COMMIT-ONLY",
        wrong="other voters are in force once their record is committed, not once it is written",
        real="the rule of KIP-856, left out",
        checks=(
            "V6-committed-by-voters",
            "Q9-committed-by-majority",
            "Q4-elected-by-a-majority",
        ),
    ),
    Mutation(
        id="V-STRICT-VOTE",
        wrong="who is no voter by its own log gives no vote, and gets none",
        real="the rule of KIP-856, left out",
        checks=("Q21-a-majority-elects",),
        scenario="uninformed-voter",
        duration_s=25.0,
    ),
    _of_voters(
        "V-LAG",
        wrong="whoever ever fetched is made a voter, however far behind",
        real="Apache Kafka, within an hour",
        checks=("V10-added-when-caught-up",),
    ),
    Mutation(
        id="V-ID-KEY",
        wrong="a new disk vouches for what the lost one was counted with",
        real="the motivation of KIP-856",
        checks=(
            "V6-committed-by-voters",
            "Q9-committed-by-majority",
        ),
        scenario="disk-loss",
        duration_s=40.0,
        settings={"quorum": "dynamic"},
    ),
    Mutation(
        id="V-REJOIN",
        wrong="who was removed is a voter again, and nobody asked for it",
        real="KAFKA-19850",
        checks=("voters-as-asked-for",),
        scenario="remove-leader",
        duration_s=30.0,
    ),
    Mutation(
        id="V-BAD-ENDPOINT",
        wrong="who becomes a voter is said to be where nobody reaches it",
        real="KAFKA-20661",
        checks=(
            "V11-changes-come-to-an-end",
            "Q21-a-majority-elects",
        ),
        scenario="remove-leader",
        duration_s=60.0,
        simulated=True,
    ),
    Mutation(
        id="R-STALE-READ",
        wrong="reads are answered without asking whether the node still leads",
        real="Apache Kafka as shipped; Raft thesis 6.4",
        checks=("linearizable", "reads-are-confirmed"),
        scenario="partition-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="A-CUT-SHORT",
        wrong="now and then an answer lacks the byte that ends it",
        real="the rule of KIP-482, left out",
        checks=("answers-well-formed",),
        scenario="partition-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="A-LENIENT",
        wrong="a value that must be refused is taken",
        real="KAFKA-13490",
        checks=("wrong-requests-refused",),
        scenario="partition-leader",
        duration_s=12.0,
    ),
    Mutation(
        id="A-DONE-ANYWAY",
        wrong="a request that is only to be validated changes what it names",
        real="the rule of KIP-339, left out",
        checks=("durability", "linearizable"),
        scenario="blackout",
        duration_s=21.0,
        tries=4,
    ),
)

MUTATIONS: dict[str, Mutation] = {mutation.id: mutation for mutation in _CATALOGUE}
IN_CONTAINERS: dict[str, Mutation] = {
    name: one for name, one in MUTATIONS.items() if not one.simulated
}
