"""A follower is away until the log it needs is gone; then power fails where snapshots are young."""

import random

from chaos.conditions import Conditions
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.victims import AllVoters, RandomFollower
from chaos.scenario import CONTROLLERS_ALONE, OnKafka, Scenario, Takes

_AWAY, _CUT = Kill(victim=RandomFollower()), PowerOff(victim=AllVoters())
_AWAY_AT = 0.1  # of all the time
_AWAY_SHARE = 0.4  # many snapshots are taken meanwhile, and the log is cut behind them
_CUT_AT = (0.65, 0.85)
_DEAD_SHARE = 0.025


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    cut_s = round(duration_s * rng.uniform(*_CUT_AT), 3)
    away = Window(
        at_s=round(_AWAY_AT * duration_s, 3),
        hold_s=round(_AWAY_SHARE * duration_s, 3),
        fault=_AWAY,
    )
    dead = Window(at_s=cut_s, hold_s=round(_DEAD_SHARE * duration_s, 3), fault=_CUT)
    return Schedule(duration_s=duration_s, windows=(away, dead))


SNAPSHOT_CATCH_UP = Scenario(
    name="snapshot-catch-up",
    summary="a follower comes back when the log begins behind what it has, and fetches a snapshot",
    exists_for=("came-about", "stored-snapshots-agree", "Q14-log-starts-at-a-snapshot"),
    description=(
        "Snapshots are taken every few records, and the metadata log is cut behind them. A "
        "follower is killed, and what it lacks is removed while it is away: it must catch up by a "
        "snapshot, without an election. Then all nodes lose their power at the same moment, and "
        "begin with the snapshots that they find (KIP-630). What was overwritten below a snapshot "
        "is nowhere any more; what is the current value must be in it. A run in which no node "
        "loaded a snapshot is void."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_AWAY, _CUT),
    draw=_draw,
    default_duration_s=20.0,
    # Of Apache Kafka's controllers, each looks every minute for what it may remove, and one that is
    # killed is away for more than that; a segment is 8 MiB at least, but may be closed by its age.
    on_kafka=OnKafka(
        settings={**CONTROLLERS_ALONE, "metadata.log.segment.ms": "2000"}, duration_s=170.0
    ),
    conditions=Conditions(segment_bytes=2_048, snapshot_bytes=4_000, retention_bytes=20_000),
    to_show=("q.loaded",),
)
