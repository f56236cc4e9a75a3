"""Scenarios of voters in Apache Kafka's quorum: removed, unreachable and added ones."""

from dataclasses import replace

from chaos.cluster.interface import Addition, Advertised, NodeId, Removal, Voted
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.removals import AddBroker, KillRemoved, RemoveForGood, RestartRemoved
from chaos.nemesis.kinds.upkeep import Readdress
from chaos.nemesis.script import Begin, End, Rest, Script, StartAll, Until, UntilLed
from chaos.nemesis.victims import (
    AllFollowers,
    AllVoters,
    ControllerLeader,
    OneNode,
    RandomBroker,
    RandomFollower,
)
from chaos.scenario import ADDITION, ADVERTISED, REMOVAL, VOTED, ExpectedOutcome, Scenario, Side
from chaos.scenarios.loads import (
    AS_PROMISED,
    ONE_BROKER,
    PROMISED,
    THREE_VOTERS_ONE_BROKER,
    ends_by_itself,
)
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

# A controller stood for election and lost, was removed from the voters, and is started again.


_COMING_UP = Script(
    steps=(
        # The one that times out second has not heard from the first by then.
        Begin(name="slow", fault=SlowLinks(latency_ms=700, victim=OneNode(NodeId(2)))),
        StartAll(),
        UntilLed(within_s=60.0),
        End(name="slow"),
    )
)
_REMOVED_CANDIDATE_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="removed", fault=RestartRemoved()),
        Rest(seconds=2.0),
        End(name="removed"),
        Until(condition=Whole(1)),
    )
)

REMOVED_CANDIDATE = Scenario(
    name="removed-candidate",
    summary="a controller that stood in vain is removed from the voters, and started again",
    exists_for=("nodes-kept-running",),
    description=(
        "In the first election of three controllers in a dynamic quorum two stand at the same "
        "time, as links are slow, and the third decides it. The one that lost has voted for itself "
        "in the epoch in which it follows, and its disk says so. It is removed from the voters, "
        "stopped in good order and started again. It is an observer now: it should start and "
        "follow. Apache Kafka starts a node that voted for itself as a candidate, and ends because "
        "a candidate has to be a voter."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=(*_COMING_UP.faults, *_REMOVED_CANDIDATE_SCRIPT.faults),
    coming_up=_COMING_UP,
    script=_REMOVED_CANDIDATE_SCRIPT,
    default_duration_s=20.0,
    load=PROMISED,
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{VOTED}={Voted.ITSELF}",
            settings={VOTED: Voted.ITSELF},
            expected=ends_by_itself("must be in the set of voters"),
            promise="it ends whenever it is started",
        ),
        Side(
            name=f"{VOTED}={Voted.LEADER}",
            settings={VOTED: Voted.LEADER},
            expected=AS_PROMISED,
            promise="it starts, and follows as an observer",
        ),
    ),
)


# A leader that was asked to remove itself dies before the other voter knows of it.


# A light load: elections matter here, and more clients would only slow them.
_LITTLE = replace(PROMISED, producers=2, consumers=1, rate=20.0, admin_rate=2.0)
_REMOVED_LEADER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(20)),
        Begin(name="two", fault=RemoveForGood(victim=RandomFollower())),
        # The voter that remains beside the leader.
        Begin(
            name="cut",
            fault=NetworkPartition(victim=RandomFollower(), peers=OtherSide.CONTROLLERS),
        ),
        Begin(name="dead", fault=KillRemoved(victim=ControllerLeader())),
        Rest(seconds=1.0),
        End(name="dead"),
        End(name="cut"),
        End(name="two"),  # the judge decides whether a node leads
    )
)
_NO_LEADER = Expectation(
    verdict=Verdict.INVALID, check="recovers-when-healed", anomaly="the quorum had not recovered"
)

REMOVED_LEADER = Scenario(
    name="removed-leader",
    summary="a leader asked to remove itself is killed before the other voter knows of that",
    exists_for=("recovers-when-healed",),
    description=(
        "Of three controllers in a dynamic quorum one is removed, so that two vote. The one that "
        "follows is cut off, the one that leads is asked to remove itself, and is killed while the "
        "record of that is in its own log alone. It is started again, and the cut is healed: all "
        "processes run and all links are whole. By its own log it is no voter; the other one needs "
        "its vote and does not get it, as its own log is the longer one. So it has to stand itself "
        "until its removal is committed (Raft thesis, 4.2.2). Apache Kafka's does not, and no node "
        "ever leads again. On the other side nothing is asked, and one of the two leads."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_REMOVED_LEADER_SCRIPT.faults,
    script=_REMOVED_LEADER_SCRIPT,
    default_duration_s=20.0,
    whole_s=20.0,  # ten fetch time-outs
    load=_LITTLE,
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{REMOVAL}={Removal.ASKED}",
            settings={REMOVAL: Removal.ASKED},
            expected=_NO_LEADER,
            promise="no node leads any more, though all processes run and all links are whole",
        ),
        Side(
            name=f"{REMOVAL}={Removal.UNASKED}",
            settings={REMOVAL: Removal.UNASKED},
            expected=AS_PROMISED,
            promise="one of the two leads within seconds",
        ),
    ),
)


# Two of three controllers advertise an unreachable address, and the leader is lost.


_UNREACHABLE_VOTER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="moved", fault=Readdress(victim=AllFollowers())),
        # The remaining voter: the leader, if none was elected meanwhile.
        Begin(name="power", fault=PowerOff(victim=AllVoters())),
        Rest(seconds=8.0),
        End(name="moved"),  # their configuration is right again
        Rest(seconds=6.0),
        End(name="power"),
        Until(condition=Whole(1), within_s=60.0),
    )
)
_UNREACHABLE_VOTER_GAP = "longest_without_topic_s"

UNREACHABLE_VOTER = Scenario(
    name="unreachable-voter",
    summary="two controllers advertise an unreachable address, and the power of the third fails",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "Of three controllers in a dynamic quorum the two that do not lead are started again, one "
        "by one, with another advertised host. Each tells the leader (UpdateRaftVoter), and the "
        "quorum commits it. All goes well as long as that one leads, since followers go to the "
        "leader. Its power fails: two of three are up, and bytes pass between them. Where they are "
        "reached under the other host, one of them leads seconds later. Where they are not, they "
        "cannot ask each other for votes, and do not come to it when both are started with the "
        "right host again either: the addresses stand in the log, and only a leader could change "
        "them (KAFKA-20661). No node leads until the third is back, which others do reach."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_UNREACHABLE_VOTER_SCRIPT.faults,
    script=_UNREACHABLE_VOTER_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{ADVERTISED}={Advertised.UNREACHABLE}",
            settings={ADVERTISED: Advertised.UNREACHABLE},
            expected=Expectation(
                verdict=Verdict.VALID, numbers=(Bound(name=_UNREACHABLE_VOTER_GAP, least=20.0),)
            ),
            promise="no node leads, and no topic is created, until the third is back",
        ),
        Side(
            name=f"{ADVERTISED}={Advertised.REACHABLE}",
            settings={ADVERTISED: Advertised.REACHABLE},
            expected=Expectation(
                verdict=Verdict.VALID, numbers=(Bound(name=_UNREACHABLE_VOTER_GAP, most=20.0),)
            ),
            promise="another one leads within seconds",
        ),
    ),
)


# A broker is made a voter, and one of three controllers is lost.


_VOTING_BROKER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="added", fault=AddBroker(victim=RandomBroker())),
        Begin(name="dead", fault=Kill(victim=ControllerLeader())),
        Rest(seconds=12.0),
        End(name="dead"),
        End(name="added"),
        Until(condition=Whole(1), within_s=60.0),
    )
)
_VOTING_BROKER_GAP = "longest_without_topic_s"
_SOON = Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_VOTING_BROKER_GAP, most=20.0),))

VOTING_BROKER = Scenario(
    name="voting-broker",
    summary="an operator asks for a broker to be made a voter, and one of three controllers dies",
    exists_for=("nodes-kept-running",),
    description=(
        "Of a dynamic quorum of three controllers an operator asks that a broker be added to the "
        "voters (AddRaftVoter), by its own id, directory id and address. A broker follows the "
        "metadata log and is an observer, and never votes: KIP-853 has controllers alone for "
        "voters. Apache Kafka's leader adds it. Within a second the broker finds itself among the "
        "voters, tells the leader of itself as such (UpdateRaftVoter), is refused, and ends by "
        "itself. Then the leader is killed: two controllers of three are up, and no node leads "
        "until the third is back, since three of four votes are needed. On the other side nothing "
        "is asked, and another one leads within seconds."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_VOTING_BROKER_SCRIPT.faults,
    script=_VOTING_BROKER_SCRIPT,
    default_duration_s=20.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{ADDITION}={Addition.ASKED}",
            settings={ADDITION: Addition.ASKED},
            expected=ends_by_itself("node 1 ended by itself"),
            promise="the broker ends by itself, and no node leads until the third is back",
            own=ExpectedOutcome(
                expected=_SOON, promise="it is refused, and another one leads within seconds"
            ),
        ),
        Side(
            name=f"{ADDITION}={Addition.UNASKED}",
            settings={ADDITION: Addition.UNASKED},
            expected=_SOON,
            promise="another one leads within seconds",
        ),
    ),
)
