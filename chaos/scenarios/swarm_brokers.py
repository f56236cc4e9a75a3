"""The swarm of brokers: cluster, topics, settings, load and faults from a seed. Faults are aimed at
the leader, an in-sync or an eligible replica at the moment when they fire.

As in the swarm of quorums (`swarm.py`), each seed first decides which kinds of faults there are
at all. Windows overlap as they fall; some more are aimed at the state that another fault brings
about: while it lasts, sessions end and ISRs shrink, and the victim is the last replica in sync, or
eligible. In a few seeds a broker is off for longer than its session, and nothing else happens.

In half of the seeds an operator acts meanwhile: partitions are reassigned, and some of that is
cancelled, min.insync.replicas is raised and lowered, and where an unclean recovery manager is on
leaders are elected by request (KIP-966, part two). Its strategy is drawn as well; under None a
partition that is left without eligible replicas waits for an operator, so there no process ends
uncleanly.

Only faults under which a correct cluster keeps its promises are drawn: without eligible leader
replicas no broker's power fails, for that is what they are there for (`last-replica-standing`).
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from chaos.cluster.interface import (
    AlteredMinIsr,
    DiskSickness,
    ElectionType,
    MoveEnd,
    PowerCutMode,
)
from chaos.cluster.targets.node import BOOTSTRAP, DYNAMIC, LISTED, QUORUM, STATIC
from chaos.cluster.targets.own_brokers import (
    BROKERS,
    COMBINED,
    CONTROLLERS,
    RECOVERIES,
    RECOVERY,
    ROLES,
)
from chaos.conditions import Conditions
from chaos.nemesis.fault import Fault, SwarmSpec
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide, Ways
from chaos.nemesis.kinds.disks import SickDisk
from chaos.nemesis.kinds.links import FlakyLinks, ShutOut
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.kinds.upkeep import ElectLeaders, ReassignPartitions, SetMinIsr
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import (
    AllBrokers,
    ControllerLeader,
    EligibleBroker,
    InSyncFollower,
    PartitionLeader,
    RandomBroker,
    SpareBroker,
    Victim,
)
from chaos.scenario import Scenario, Takes, Trial
from chaos.scenarios.swarm import at_random, one_window
from workloads.append import AppendOptions

_VICTIMS: tuple[Victim, ...] = (
    PartitionLeader(),
    PartitionLeader(),
    InSyncFollower(),
    EligibleBroker(),
    RandomBroker(),
)
_COMBINED_SHARE = 0.2  # the share of seeds in which brokers are the controllers
_SHORTEST_S, _LONGEST_S = 25, 45
_MOST_WINDOWS = 12
_MOST_ACTS = 8
_OF_GROUPS = "joining-groups"
_GROUPS_LEAST_S = 20.0  # amid faults: a join waits for 8 s, and a session lasts for 6 s
# Chores by which groups have members, log starts move, and partitions move.
_CHORES = (
    "asking-epochs",
    "committing-offsets",
    "deleting-records",
    _OF_GROUPS,
    "reshaping-topics",
)
# Bytes of records between two snapshots, and of retained ones; 0: the default, so that there is
# none.
_SNAPSHOTS = ((0, 0), (0, 0), (1_500, 6_000))
_TAIL_S = 1.0  # of quiet, before all is healed
# Sessions last 3 s, and a replica that does not fetch is in sync for 5 s, unless a seed says less.
_AIMED_AFTER_S, _AIMED_SHARE, _AIMED_LEAST_S = (2.0, 8.0), 0.7, 3.0
# A controller that does not fence a silent broker is accused after the longest time of an election
# and a session, 25 s; nothing else may happen meanwhile.
_SILENT_SHARE, _SILENT_FROM_S, _SILENT_S = 0.05, (0.5, 1.5), 25.4


# No client changes or describes the voters here, or reads from controllers; no disk is lost.
_OF_CHANGING_VOTERS = (
    "V2-one-change-uncommitted",
    "V3-epoch-committed-before-change",
    "V5-acknowledged-changes-stay",
    "V8-new-disk-is-no-voter",
    "V9-removed-leader-resigns",
    "V10-added-when-caught-up",
    "V11-changes-come-to-an-end",
    "one-told-change-undone",
    "stops-without-a-majority",
    "voters-as-asked-for",
    "voters-as-told",
)


def _one(rng: random.Random) -> Victim:
    return rng.choice(_VICTIMS)


def _made(make: Callable[[random.Random], Fault], longest_s: float) -> SwarmSpec:
    return SwarmSpec(make=lambda rng, _: make(rng), shortest_s=0.5, longest_s=longest_s)


def _power_off(mode: PowerCutMode, rng: random.Random) -> Fault:
    return PowerOff(victim=_one(rng), mode=mode)


def _partition(peers: OtherSide, rng: random.Random) -> Fault:
    ways = rng.choice((Ways.BOTH, Ways.BOTH, *Ways)) if peers is OtherSide.ALL else Ways.BOTH
    return NetworkPartition(victim=_one(rng), peers=peers, ways=ways)


_POWER = {
    f"power-off {mode}": _made(partial(_power_off, mode), longest_s=6.0) for mode in PowerCutMode
}
_PARTITIONS = {
    peers: (f"partition from {peers}", _made(partial(_partition, peers), longest_s=14.0))
    for peers in OtherSide
}
_FROM_SOME = {name for peers, (name, _) in _PARTITIONS.items() if peers is not OtherSide.ALL}
_MENACES: Mapping[str, SwarmSpec] = {
    "kill": _made(lambda rng: Kill(victim=_one(rng)), longest_s=6.0),
    "kill of all": _made(lambda _: Kill(victim=AllBrokers()), longest_s=3.0),
    "terminate": _made(lambda rng: Terminate(victim=_one(rng)), longest_s=8.0),
    "pause": _made(lambda rng: Pause(victim=_one(rng)), longest_s=8.0),
    **dict(_PARTITIONS.values()),
    "shut out": _made(lambda rng: ShutOut(victim=_one(rng)), longest_s=8.0),
    "flaky links": _made(lambda rng: FlakyLinks(victim=_one(rng), share=0.1), longest_s=10.0),
    "slow disk": _made(
        lambda rng: SickDisk(victim=_one(rng), sickness=DiskSickness.SLOW), longest_s=10.0
    ),
    "kill of the active controller": _made(lambda _: Kill(victim=ControllerLeader()), 4.0),
    "partition of the active controller": _made(
        lambda _: NetworkPartition(victim=ControllerLeader()), 10.0
    ),
    **_POWER,
}


def _elect(election: ElectionType) -> Fault:
    return ElectLeaders(victim=RandomBroker(), election=election)


def _move(end: MoveEnd) -> Fault:
    return ReassignPartitions(victim=SpareBroker(), end=end)


def _alter(min_isr: AlteredMinIsr) -> Fault:
    return SetMinIsr(victim=RandomBroker(), min_isr=min_isr)


# What an operator does takes no time, but for moves that are cancelled.
_ACT_S = 0.5


def _act(make: Callable[[], Fault], longest_s: float = _ACT_S) -> SwarmSpec:
    return SwarmSpec(make=lambda _, __: make(), shortest_s=0.1, longest_s=longest_s)


_MOVES = tuple(_act(partial(_move, end), longest_s=4.0) for end in MoveEnd)
_ALTERATIONS = tuple(
    _act(partial(_alter, value)) for value in AlteredMinIsr if value is not AlteredMinIsr.UNTOUCHED
)
_ELECTIONS = tuple(_act(partial(_elect, election)) for election in ElectionType)


def trial(
    seed: int,
    duration_s: float | None = None,
    brokers: int | None = None,
    asked: Mapping[str, str] | None = None,
) -> Trial:
    """The same for the same seed, in every process; `asked` are settings, which are not drawn."""
    asked = asked or {}
    count = int(asked.get(BROKERS, brokers or _stream(seed, "brokers").choice((3, 3, 3, 4, 5))))
    roles = {**_roles(_stream(seed, "roles"), asked), **asked}
    drawn = _settings(_stream(seed, "settings"), count, combined=roles.get(ROLES) == COMBINED)
    settings = {**drawn, **roles}
    schedule = _schedule(seed, duration_s, settings)
    settings |= _recovery(_stream(seed, "recovery"), settings, schedule)
    schedule = _with_operator(_stream(seed, "operator"), settings, schedule)
    chores = _chores(_stream(seed, "chores"), schedule.duration_s)
    return Trial(
        nodes=count,
        schedule=schedule,
        settings=settings,
        load=replace(_load(_stream(seed, "load")), chores=chores),
        conditions=_conditions(_stream(seed, "snapshots")),
    )


def _stream(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}:swarm-brokers:{what}")


def every_fault() -> tuple[Fault, ...]:
    """One of each kind: all faults that this swarm may draw."""
    rng = random.Random("every fault")
    specs = (*_MENACES.values(), *_MOVES, *_ALTERATIONS, *_ELECTIONS)
    return tuple(spec.make(rng, 3) for spec in specs)


# --- what a seed draws ---


def _roles(rng: random.Random, asked: Mapping[str, str]) -> Mapping[str, str]:
    """Some seeds have brokers that are the controllers as well, unless the number of controllers
    was requested."""
    is_combined = rng.random() < _COMBINED_SHARE and CONTROLLERS not in asked
    return {ROLES: COMBINED} if is_combined else {}


def _settings(rng: random.Random, brokers: int, *, combined: bool) -> Mapping[str, str]:
    """Dotted names are Kafka's; half of the seeds have its own values, except for short sessions.
    If brokers are `combined` they are the controllers, however many the seed has."""
    replication = rng.choice((2, 3, 3, min(4, brokers)))
    separate = rng.choice((1, 1, 3))
    controllers = brokers if combined else separate
    quorum = rng.choice((LISTED, DYNAMIC, STATIC))
    known = {BOOTSTRAP: str(controllers)} if quorum == DYNAMIC else {}
    chosen = {
        "broker.session.timeout.ms": rng.choice(("1500", "3000", "6000")),
        "replica.lag.time.max.ms": rng.choice(("2000", "5000", "10000")),
        "leader.imbalance.check.interval.seconds": rng.choice(("1", "5", "300")),
        "log.segment.bytes": rng.choice(("1073741824", "1048576")),
    }
    return {
        BROKERS: str(brokers),
        CONTROLLERS: str(controllers),
        QUORUM: quorum,
        **known,
        "elr": rng.choice(("on", "on", "on", "off")),
        "replication": str(replication),
        "min_isr": str(rng.randint(1, replication)),
        **({} if rng.random() < 0.5 else chosen),
    }


def _conditions(rng: random.Random) -> Conditions:
    """In some seeds controllers and brokers take snapshots all the time, and keep few of them."""
    usual = Conditions()
    snapshot_bytes, retention_bytes = rng.choice(_SNAPSHOTS)
    return replace(
        usual,
        snapshot_bytes=snapshot_bytes or usual.snapshot_bytes,
        retention_bytes=retention_bytes or usual.retention_bytes,
    )


def _load(rng: random.Random) -> AppendOptions:
    """Few records a second, so that something can be said about each."""
    return AppendOptions(
        topics=rng.choice((1, 2)),
        partitions=rng.choice((1, 1, 2, 3)),
        producers=rng.choice((3, 5, 8)),
        consumers=rng.choice((1, 2)),
        acks_none_share=rng.choice((0.0, 0.0, 0.2)),
        acks_leader_share=rng.choice((0.0, 0.0, 0.3)),
        idempotent_share=rng.choice((0.0, 0.5, 1.0)),
        record_bytes=rng.choice((104, 1024)),
        batch_records=rng.choice((1, 1, 5)),
        rate=rng.choice((20.0, 40.0)),
        admin_rate=rng.choice((0.0, 0.0, 0.5)),
    )


def _chores(rng: random.Random, duration_s: float) -> tuple[str, ...]:
    """The chores beside the load; none in half of the seeds."""
    chosen = rng.sample(_CHORES, rng.choice((0, 0, 1, 2)))
    left_out = _OF_GROUPS if duration_s < _GROUPS_LEAST_S else ""
    return tuple(sorted(chore for chore in chosen if chore != left_out))


def _schedule(seed: int, asked_s: float | None, settings: Mapping[str, str]) -> Schedule:
    rng = _stream(seed, "schedule")
    drawn_s = float(rng.randint(_SHORTEST_S, _LONGEST_S))
    duration_s = drawn_s if asked_s is None else asked_s
    last_s = duration_s - _TAIL_S
    if silent := list(_long_silence(_stream(seed, "silence"), last_s)):
        return Schedule(duration_s=duration_s, windows=tuple(silent), side_by_side=True)
    swarm_specs = _chosen(_stream(seed, "kinds"), settings)
    drawn = [
        window
        for name in swarm_specs
        for window in _windows(_stream(seed, f"windows:{name}"), swarm_specs[name], last_s)
    ]
    drawn += _aimed(_stream(seed, "aimed"), list(swarm_specs.values()), drawn, last_s)
    kept = rng.sample(drawn, min(len(drawn), _MOST_WINDOWS))
    windows = sorted(kept, key=lambda window: (window.at_s, window.fault.kind))
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _recovery(
    rng: random.Random, settings: Mapping[str, str], schedule: Schedule
) -> Mapping[str, str]:
    """The strategy of the unclean recovery manager; no manager in three of seven seeds, where a
    setting says so, and without ELR, where it has nothing to do."""
    off, none, *others = RECOVERIES
    ends = any(each.fault.harm.unclean for each in schedule.windows)
    drawn = rng.choice((off, off, off, *others, *(others if ends else (none, none))))
    if RECOVERY in settings or drawn == off or settings["elr"] != "on":
        return {}
    return {RECOVERY: drawn}


def _with_operator(rng: random.Random, settings: Mapping[str, str], schedule: Schedule) -> Schedule:
    """In half of the seeds, unless nothing else is to happen."""
    is_there, last_s = rng.random() < 0.5, schedule.duration_s - _TAIL_S
    if not is_there or any(each.hold_s >= _SILENT_S for each in schedule.windows):
        return schedule
    can_move = int(settings[BROKERS]) > int(settings["replication"])
    has_manager = settings.get(RECOVERY, RECOVERIES[0]) != RECOVERIES[0]
    possible = [*_ALTERATIONS, *(_MOVES * can_move), *(_ELECTIONS * has_manager)]
    acts = [
        window
        for spec in rng.sample(possible, rng.choice((1, 2, 3)))
        for window in at_random(rng, spec, rng.choice((5.0, 10.0, 20.0)), 3, last_s)
    ]
    kept = rng.sample(acts, min(len(acts), _MOST_ACTS))
    windows = sorted((*schedule.windows, *kept), key=lambda it: (it.at_s, it.fault.kind))
    return replace(schedule, windows=tuple(windows))


def _chosen(rng: random.Random, settings: Mapping[str, str]) -> Mapping[str, SwarmSpec]:
    """The kinds of faults that this seed has."""
    left_out = {*(() if settings["elr"] == "on" else _POWER)}
    if settings.get(ROLES) == COMBINED:
        left_out |= _FROM_SOME  # all are both
    possible = [name for name in _MENACES if name not in left_out]
    return {name: _MENACES[name] for name in rng.sample(possible, rng.choice((1, 2, 3, 4)))}


def _windows(rng: random.Random, spec: SwarmSpec, last_s: float) -> Iterator[Window]:
    return at_random(rng, spec, rng.choice((8.0, 15.0, 30.0)), 3, last_s)


def _long_silence(rng: random.Random, last_s: float) -> Iterator[Window]:
    """In some of the seeds with a fault phase this long, one broker is off and nothing else
    happens."""
    is_silent, at_s = rng.random() < _SILENT_SHARE, rng.uniform(*_SILENT_FROM_S)
    if is_silent and at_s + _SILENT_S <= last_s:
        yield Window(at_s=round(at_s, 3), hold_s=_SILENT_S, fault=Kill(victim=_one(rng)))


def _aimed(
    rng: random.Random, swarm_specs: Sequence[SwarmSpec], drawn: Sequence[Window], last_s: float
) -> Iterator[Window]:
    """During another fault that lasts long enough for an ISR to shrink."""
    for window in drawn:
        at_s = window.at_s + rng.uniform(*_AIMED_AFTER_S)
        if window.hold_s >= _AIMED_LEAST_S and at_s < last_s and rng.random() < _AIMED_SHARE:
            yield one_window(rng, rng.choice(swarm_specs), at_s, 3, last_s)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """The schedule of a trial with a drawn seed: nothing else of it is used."""
    del nodes, duration_s
    return trial(rng.getrandbits(32)).schedule


SWARM_BROKERS = Scenario(
    name="swarm-brokers",
    summary="the seed draws brokers, topics, settings, load, and faults aimed at leaders",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    without_subject=(
        *_OF_CHANGING_VOTERS,
        "reads-are-confirmed",
        "told-voters-were",
        "invariant:told-quorum-is-so",
    ),
    description=(
        "Each seed draws a cluster with brokers (how many, how many controllers or whether the "
        "brokers are that too, replication, min ISR, eligible leader replicas, sessions), what "
        "clients do, and which faults there are: kills, clean stops, pauses, power cuts, "
        "partitions from all nodes, from brokers or from controllers alone, clients that are shut "
        "out. They hit a partition's leader, an in-sync or an eligible replica of the moment, and "
        "more of them come while others last. In half of the seeds an operator moves partitions, "
        "alters min.insync.replicas and asks for leaders meanwhile. Then all is "
        "healed, and every replica has to be in sync again. Made for campaigns in virtual time."
    ),
    takes=Takes(brokers=range(3, 6)),
    faults=every_fault(),
    draw=_draw,
    default_duration_s=35.0,
    load=AppendOptions(),
    trial=trial,
)
