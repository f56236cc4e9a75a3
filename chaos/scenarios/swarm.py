"""The swarm of quorums: cluster, conditions, load, changes of the voters and faults from a seed."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chaos.cluster.targets.node import BOOTSTRAP, DYNAMIC, LISTED, QUORUM
from chaos.conditions import Conditions
from chaos.nemesis.fault import Aspect, Fault, SwarmSpec
from chaos.nemesis.kinds import MENACES
from chaos.nemesis.kinds.voters import LoseDisk, RemoveVoter
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import ControllerLeader, RandomFollower, RandomNode
from chaos.scenario import Scenario, Trial
from workloads.workload import RegisterOptions

# When the faults of a seed's trial fire; they overlap as they fall.


# After another fault: a new leader needs a fetch time-out and an election, an old one leads longer.
_ECHO_S = (0.1, 4.0)
_ECHO_SHARE = 0.5


def at_random(
    rng: random.Random, spec: SwarmSpec, mean_s: float, nodes: int, last_s: float
) -> Iterator[Window]:
    """At random moments; most are short, as short ones fit into more places."""
    at_s = rng.uniform(0.5, min(mean_s, last_s / 2))
    while at_s < last_s:
        yield one_window(rng, spec, at_s, nodes, last_s)
        at_s += rng.expovariate(1 / mean_s) + 0.05


def echoes(
    rng: random.Random,
    swarm_specs: Sequence[SwarmSpec],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    """In half of all seeds: faults soon after others, while those still have their effect.

    Most of the time a node leads, and a majority follows. Hitting an election, or a leader that is
    cut off and does not know it yet, must not wait for chance. The victim may be any node: while
    none leads, a leader cannot be hit.
    """
    if rng.random() < 0.5:
        return
    for window in drawn:
        at_s = window.at_s + rng.uniform(*_ECHO_S)
        if rng.random() < _ECHO_SHARE and at_s < last_s:
            yield one_window(rng, rng.choice(swarm_specs), at_s, nodes, last_s, any_node=True)


def one_window(
    rng: random.Random,
    spec: SwarmSpec,
    at_s: float,
    nodes: int,
    last_s: float,
    *,
    any_node: bool = False,
) -> Window:
    """`any_node`: if the fault has one victim, any node will do."""
    span = spec.longest_s - spec.shortest_s
    hold_s = min(spec.shortest_s + span * rng.random() ** 2, last_s - at_s)
    fault = spec.make(rng, nodes)
    if any_node and isinstance(fault.victim, ControllerLeader | RandomFollower):
        fault = replace(fault, victim=RandomNode())
    return Window(at_s=round(at_s, 3), hold_s=round(hold_s, 3), fault=fault)


# The voters in a seed's trial: how its nodes know them, and how an operator changes them.
#
# The voters are formatted (KIP-853) in half of all trials, and listed (KIP-856) in the other half;
# in half of all trials they stay. In the others most changes are aimed: a decision by the wrong set
# shows while the quorum is hurt. A voter is removed, or its disk lost, shortly after any other
# fault, mostly after cuts. Another fault comes shortly after an operator was asked to remove a
# voter, or when a node comes back with its new disk, which is no voter yet.


OF_VOTERS = (LoseDisk, RemoveVoter)
_LOSE_DISK, _REMOVE_VOTER = (spec for kind in OF_VOTERS for spec in kind.swarm_specs.values())
_CHANGING_SHARE = 0.5
_MEANS_S = (8.0, 15.0, 30.0)
_MOST_CHANGES = 10
# A leader that is cut off leads for 1.5 fetch time-outs; one that is to be removed is asked at
# once.
_AFTER_ANOTHER_S, _AFTER_ANOTHER_SHARE, _AFTER_CUT_SHARE = (0.1, 1.5), 0.3, 0.8
_AFTER_CHANGE_S, _AFTER_CHANGE_SHARE = (-0.2, 1.0), 0.6


def form(rng: random.Random, nodes: int, asked: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of the nodes: as requested, or as the seed says."""
    drawn = rng.choice((DYNAMIC, LISTED))
    chosen = asked.get(QUORUM, drawn)
    known = {BOOTSTRAP: str(nodes)} if chosen == DYNAMIC else {}
    return {QUORUM: chosen, **known}


def changes(
    rng: random.Random,
    settings: Mapping[str, str],
    others: Sequence[SwarmSpec],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> list[Window]:
    """The actions of an operator, with the faults that are aimed at them; `drawn` are all
    `others`."""
    possible = _possible(settings, nodes)
    if rng.random() > _CHANGING_SHARE or not possible:
        return []
    found = list(_alone(rng, possible, nodes, last_s))
    found += _after_others(rng, possible, drawn, nodes, last_s)
    found = rng.sample(found, min(len(found), _MOST_CHANGES))
    return [*found, *_after_changes(rng, others, found, nodes, last_s)]


def _possible(settings: Mapping[str, str], nodes: int) -> list[SwarmSpec]:
    """If voters are listed, none is removed for good. A new disk finds the others if its node's
    configuration names them."""
    dynamic = settings[QUORUM] == DYNAMIC
    known = settings[BOOTSTRAP] != "0" if dynamic else settings[QUORUM] == LISTED
    able = [_LOSE_DISK] * known + [_REMOVE_VOTER] * dynamic
    return [spec for spec in able if spec.least_nodes <= nodes]


def _alone(
    rng: random.Random, possible: Sequence[SwarmSpec], nodes: int, last_s: float
) -> Iterator[Window]:
    for spec in rng.sample(possible, rng.randint(1, len(possible))):
        yield from at_random(rng, spec, rng.choice(_MEANS_S), nodes, last_s)


def _after_others(
    rng: random.Random,
    possible: Sequence[SwarmSpec],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    for window in drawn:
        at_s = window.at_s + rng.uniform(*_AFTER_ANOTHER_S)
        cuts = window.fault.aspect is Aspect.CUTS
        share = _AFTER_CUT_SHARE if cuts else _AFTER_ANOTHER_SHARE
        if rng.random() < share and at_s < last_s:
            yield one_window(rng, rng.choice(possible), at_s, nodes, last_s, any_node=True)


def _after_changes(
    rng: random.Random,
    others: Sequence[SwarmSpec],
    found: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    for window in found:
        aimed_s = window.end_s if isinstance(window.fault, LoseDisk) else window.at_s
        at_s = max(0.0, aimed_s + rng.uniform(*_AFTER_CHANGE_S))
        if rng.random() < _AFTER_CHANGE_SHARE and at_s < last_s and others:
            yield one_window(rng, rng.choice(others), at_s, nodes, last_s)


# A seed's trial: cluster, conditions, load and faults.
#
# Swarm testing: a mix of everything tests the mixes that are most common, and those are few. So
# each seed first decides which kinds of faults there are at all, and how often each of them comes;
# what is missing matters as much as what is there (Groce and others, 2012). Windows overlap as they
# fall.
#
# Every part has random numbers of its own, so that a change to one leaves the others' draws as they
# were. Only faults under which a correct node keeps all its promises are drawn: disks that lie have
# a scenario of their own.


# With an even size, half is no majority; with five and more, two elections can go on in parallel.
_SIZES = (1, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7)
_USUAL_SEGMENT = Conditions().segment_bytes
_SEGMENTS = (_USUAL_SEGMENT, _USUAL_SEGMENT, 2_048, 16_384)  # a run fills many of the small ones
# Bytes of records between snapshots, and of retained log and snapshots: rarely any, or often.
_USUAL_SNAPSHOTS = (Conditions().snapshot_bytes, Conditions().retention_bytes)
_SNAPSHOTS = (_USUAL_SNAPSHOTS, _USUAL_SNAPSHOTS, (2_000, 8_000), (20_000, 60_000))
# The share of late flushes, and their highest delay in us: none, few and long, all and short.
_LATE_FLUSHES = ((0.0, 50_000), (0.05, 400_000), (0.3, 100_000), (1.0, 30_000))
# Changes of the voters are drawn separately from all others.
_OF_NODES = {
    name: spec
    for name, spec in MENACES.items()
    if all(name not in kind.swarm_specs for kind in OF_VOTERS)
}
_SHORTEST_S, _LONGEST_S = 40, 90
_MOST_WINDOWS = 40
_TAIL_S = 1.0  # of quiet, before all is healed


def trial(
    seed: int,
    duration_s: float | None = None,
    nodes: int | None = None,
    asked: Mapping[str, str] | None = None,
) -> Trial:
    """The same for the same seed, in every process. The seed decides length, number of nodes, and
    how nodes know the voters, unless a setting does; `asked` are settings."""
    nodes = nodes or _stream(seed, "nodes").choice(_SIZES)
    snapshot_bytes, retention_bytes = _stream(seed, "snapshots").choice(_SNAPSHOTS)
    late_flushes, late_most_us = _stream(seed, "late-flushes").choice(_LATE_FLUSHES)
    drawn = form(_stream(seed, "form"), nodes, asked or {})
    return Trial(
        nodes=nodes,
        schedule=_schedule(seed, nodes, duration_s, {**drawn, **(asked or {})}),
        settings=drawn,
        load=_mixed(_load(_stream(seed, "load")), _stream(seed, "mix")),
        conditions=replace(
            _conditions(_stream(seed, "conditions")),
            segment_bytes=_stream(seed, "segments").choice(_SEGMENTS),
            snapshot_bytes=snapshot_bytes,
            retention_bytes=retention_bytes,
            late_flushes=late_flushes,
            late_most_us=late_most_us,
        ),
    )


def _stream(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}:swarm:{what}")


# --- what can be drawn ---


def every_fault() -> tuple[Fault, ...]:
    """One of each kind: all faults that a swarm may draw."""
    rng = random.Random("every fault")
    return tuple(spec.make(rng, 5) for spec in MENACES.values())


# --- what a seed draws ---


def _schedule(
    seed: int, nodes: int, asked_s: float | None, settings: Mapping[str, str]
) -> Schedule:
    rng = _stream(seed, "schedule")
    drawn_s = float(rng.randint(_SHORTEST_S, _LONGEST_S))
    duration_s = drawn_s if asked_s is None else asked_s
    last_s = duration_s - _TAIL_S
    chosen = _chosen(_stream(seed, "kinds"), nodes)
    drawn = [
        window
        for name, a_s in chosen
        for window in at_random(_stream(seed, f"windows:{name}"), MENACES[name], a_s, nodes, last_s)
    ]
    swarm_specs = [MENACES[name] for name, _ in chosen]
    drawn += echoes(_stream(seed, "echoes"), swarm_specs, drawn, nodes, last_s)
    kept = rng.sample(drawn, min(len(drawn), _MOST_WINDOWS))
    changed = changes(_stream(seed, "voters"), settings, swarm_specs, drawn, nodes, last_s)
    windows = sorted([*kept, *changed], key=lambda window: (window.at_s, window.fault.kind))
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _chosen(rng: random.Random, nodes: int) -> list[tuple[str, float]]:
    """The kinds that this seed has, each with the mean time between two of them, in seconds."""
    possible = [name for name, spec in _OF_NODES.items() if spec.least_nodes <= nodes]
    count = min(len(possible), rng.choice((1, 2, 3, 3, 4, 5, 7)))
    return [(name, rng.choice((5.0, 10.0, 20.0, 40.0))) for name in rng.sample(possible, count)]


def _load(rng: random.Random) -> RegisterOptions:
    concurrency = rng.choice((3, 5, 5, 8))
    return RegisterOptions(
        concurrency=concurrency,
        rate=concurrency * rng.choice((6.0, 10.0, 10.0)),
        live_keys=rng.choice((1, 2, 5, 10, 300)),  # with many keys, each is written rarely
        operations_per_key=rng.choice((50, 400)),
        read_share=rng.choice((0.2, 0.5, 0.8)),
        timeout_s=rng.choice((0.5, 1.0, 2.0)),
    )


def _mixed(load: RegisterOptions, rng: random.Random) -> RegisterOptions:
    """Operations beside reads and writes of one register: none of them in some trials, many in
    others."""
    return replace(
        load,
        delete_share=rng.choice((0.0, 0.05, 0.3)),
        wrong_share=rng.choice((0.0, 0.05, 0.2)),
        wide_share=rng.choice((0.0, 0.02, 0.2)),
        several_share=rng.choice((0.0, 0.05, 0.3)),
        most_in_request=rng.choice((2, 4, 40)),  # an answer with forty takes several packets
        retry_share=rng.choice((0.0, 0.3, 0.9)),
        repeat_share=rng.choice((0.0, 0.0, 0.02)),
    )


def _conditions(rng: random.Random) -> Conditions:
    """Kafka's values in half of all trials."""
    usual = Conditions()
    if rng.random() < 0.5:
        return usual
    fetch_ms = rng.choice((1000, 2000, 3000))
    most_us = rng.choice((500, 2_000, 10_000))
    return Conditions(
        election_timeout_ms=rng.choice((500, 1000, 1500)),
        fetch_timeout_ms=fetch_ms,
        election_backoff_max_ms=rng.choice((500, 1000)),
        append_linger_ms=rng.choice((0, 5, 25)),
        request_timeout_ms=rng.choice((1000, 2000)),
        latency_least_us=most_us // 20,
        latency_most_us=most_us,
        spikes=rng.choice((0.0, 0.01, 0.05)),
        spike_factor=rng.choice((10, 40)),
        sync_least_us=rng.choice((50, 200, 1_000)),
        sync_most_us=rng.choice((2_000, 4_000, 15_000)),
    )


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """The schedule of a trial with a drawn seed: nothing else of it is used."""
    del nodes, duration_s
    return trial(rng.getrandbits(32)).schedule


SWARM = Scenario(
    name="swarm",
    summary="the seed draws everything: cluster, voters, network, disks, load and many faults",
    exists_for=("linearizable", "durability"),
    description=(
        "Each seed switches kinds of faults on and off and lets what is left fall as it may, one "
        "fault upon another: kills, pauses, power cuts of one, several or all nodes, partitions of "
        "groups, clean and one way, flaky and slow links, sick disks, clocks that jump or go at "
        "another rate. In half of them an operator changes the voters meanwhile: disks are lost "
        "and replaced, and where voters are not listed (KIP-853) they are removed, and added "
        "again; never so many that no majority is left. Then all is healed, and the quorum has to "
        "be whole and acknowledge a write within half a minute. Made for campaigns in virtual "
        "time; a seed's own line runs it again."
    ),
    faults=every_fault(),
    draw=_draw,
    default_duration_s=60.0,
    trial=trial,
)
