"""A seed's trial: which cluster, under which conditions and load, is hurt how, and when.

Swarm testing: a mix of everything tests the mixes that are most common, and those are few. So each
seed first decides which kinds of faults there are at all, and how hard each of them comes; what is
missing matters as much as what is there (Groce and others, 2012). Windows overlap as they fall.

Every part has random numbers of its own, so that a change to one leaves the others' draws as they
were. Only faults under which a correct node keeps all its promises are drawn: disks that lie have
a scenario of their own.
"""

import random
from collections.abc import Mapping
from dataclasses import replace

from chaos.conditions import Conditions
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds import MENACES
from chaos.nemesis.schedule import Schedule
from chaos.scenarios import swarm_voters
from chaos.scenarios.swarm_windows import at_random, echoes
from chaos.trial import Trial
from workloads.register_options import RegisterOptions

# Of even sizes half is no majority; with five and more, two elections can go on side by side.
_SIZES = (1, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7)
_USUAL_SEGMENT = Conditions().segment_bytes
_SEGMENTS = (_USUAL_SEGMENT, _USUAL_SEGMENT, 2_048, 16_384)  # of the small ones a run fills many
# Bytes of records between snapshots, and of log and snapshots that are kept: rarely any, or often.
_USUAL_SNAPSHOTS = (Conditions().snapshot_bytes, Conditions().retention_bytes)
_SNAPSHOTS = (_USUAL_SNAPSHOTS, _USUAL_SNAPSHOTS, (2_000, 8_000), (20_000, 60_000))
# Which share of them, and up to how many us: none, few and long, all and short.
_LATE_FLUSHES = ((0.0, 50_000), (0.05, 400_000), (0.3, 100_000), (1.0, 30_000))
# Changes of the voters are drawn apart from all others.
_OF_NODES = {
    name: menace
    for name, menace in MENACES.items()
    if all(name not in kind.menaces for kind in swarm_voters.OF_VOTERS)
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
    """The same for the same seed, in every process. The seed says how long, on how many nodes, and
    how nodes know the voters, unless a setting says it; `asked` are settings."""
    nodes = nodes or _stream(seed, "nodes").choice(_SIZES)
    snapshot_bytes, retention_bytes = _stream(seed, "snapshots").choice(_SNAPSHOTS)
    late_flushes, late_most_us = _stream(seed, "late-flushes").choice(_LATE_FLUSHES)
    drawn = swarm_voters.form(_stream(seed, "form"), nodes, asked or {})
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


# --- what there may be ---


def every_fault() -> tuple[Fault, ...]:
    """One of each kind: all faults that a swarm may draw."""
    rng = random.Random("every fault")
    return tuple(menace.make(rng, 5) for menace in MENACES.values())


# --- what a seed makes of it ---


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
    menaces = [MENACES[name] for name, _ in chosen]
    drawn += echoes(_stream(seed, "echoes"), menaces, drawn, nodes, last_s)
    kept = rng.sample(drawn, min(len(drawn), _MOST_WINDOWS))
    changed = swarm_voters.changes(_stream(seed, "voters"), settings, menaces, drawn, nodes, last_s)
    windows = sorted([*kept, *changed], key=lambda window: (window.at_s, window.fault.kind))
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _chosen(rng: random.Random, nodes: int) -> list[tuple[str, float]]:
    """The kinds that this seed has, each with the mean time between two of them, in seconds."""
    possible = [name for name, menace in _OF_NODES.items() if menace.least_nodes <= nodes]
    count = min(len(possible), rng.choice((1, 2, 3, 3, 4, 5, 7)))
    return [(name, rng.choice((5.0, 10.0, 20.0, 40.0))) for name in rng.sample(possible, count)]


def _load(rng: random.Random) -> RegisterOptions:
    concurrency = rng.choice((3, 5, 5, 8))
    return RegisterOptions(
        concurrency=concurrency,
        rate=concurrency * rng.choice((6.0, 10.0, 10.0)),
        live_keys=rng.choice((1, 2, 5, 10, 300)),  # of many, each is written rarely
        operations_per_key=rng.choice((50, 400)),
        read_share=rng.choice((0.2, 0.5, 0.8)),
        timeout_s=rng.choice((0.5, 1.0, 2.0)),
    )


def _mixed(load: RegisterOptions, rng: random.Random) -> RegisterOptions:
    """What there is beside reads and writes of one register: nothing of it in some trials, much in
    others."""
    return replace(
        load,
        delete_share=rng.choice((0.0, 0.05, 0.3)),
        wrong_share=rng.choice((0.0, 0.05, 0.2)),
        wide_share=rng.choice((0.0, 0.02, 0.2)),
        several_share=rng.choice((0.0, 0.05, 0.3)),
        most_in_request=rng.choice((2, 4, 40)),  # forty are an answer of several packets
        retry_share=rng.choice((0.0, 0.3, 0.9)),
        repeat_share=rng.choice((0.0, 0.0, 0.02)),
    )


def _conditions(rng: random.Random) -> Conditions:
    """As Kafka has them in half of all trials."""
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
