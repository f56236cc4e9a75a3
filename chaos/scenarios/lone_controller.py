"""The active controller's power fails while it waits for its disk: what had it acknowledged?"""

from dataclasses import replace

from chaos.cluster.interface import DiskTrouble
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, FORGETS_TOPICS, PROMISED, THREE_BROKERS

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="power", fault=PowerOff(victim=ControllerLeader(), disks=DiskTrouble.STALLED)),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

LONE_CONTROLLER = Scenario(
    name="lone-controller",
    summary="the active controller's power fails while its disk is slow and topics are created",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "A controller appends a record, and answers when it is committed. The leader of one voter "
        "is a majority by itself: Apache Kafka raises its high watermark as soon as the record is "
        "appended, answers, and syncs afterwards. If the power fails in between, a topic that was "
        "acknowledged was never created. Of three voters another one must have the record, which "
        "it is sent after the sync. Syncs take a second here, and the one that waits at the cut is "
        "held back."
    ),
    takes=THREE_BROKERS,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=replace(PROMISED, admin_rate=20.0),
    settings={"min_isr": "2", "quorum": "static"},
    sides=(
        Side(
            name="controllers=1",
            settings={"controllers": "1"},
            expected=FORGETS_TOPICS,
            promise="an acknowledged topic was never created",
        ),
        Side(
            name="controllers=3",
            settings={"controllers": "3"},
            expected=AS_PROMISED,
            promise="all topics that were acknowledged are there",
        ),
    ),
)
