"""The interface of a kind of fault: one class has all that the harness and the judge know of it.

Nothing else in the repository asks for the name of a kind to find out what it does. A kind declares
what it needs of a cluster, how it begins and is cured, whether it bit, what it may do to processes
and bytes, what it holds of its victims meanwhile, and how a swarm draws it. Its fields are its
parameters, `victim` excepted.

The parameters of every kind of fault, written and read; the victims of a swarm's faults.

A fault's parameters are its fields except `victim`: numbers, or members of an enum. A parameter
with its default is left out, unless its field is `always`.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, ClassVar, Protocol, TypeVar, get_args, get_type_hints, runtime_checkable

from chaos.cluster.interface import Cluster, FaultEvidence, Link, NodeId
from chaos.nemesis.abilities import Ability
from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    RandomFollower,
    RandomNode,
    SomeNodes,
    Victim,
)
from workloads.operator import Operator

# What a fault does to processes, bytes, links and clocks: the facts that its row is sealed with.
#
# Checks go by these facts and never by the name of a kind, so every rule judges a new kind of
# fault as well. They say what a fault may do when it bites; its evidence says whether it bit.


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """All false: every node is up, hears all others, and forgets nothing."""

    ends_process: bool = False  # the process of each victim ends
    unclean: bool = False  # and leaves no clean-shutdown file
    may_lose: bool = False  # bytes that were written and not synced, or more, may be gone
    damages_bytes: bool = False  # bytes that were acknowledged as synced may be altered or gone
    wipes: bool = False  # each victim comes back with a new, empty disk
    halts: bool = False  # no victim does anything during the fault
    cuts: bool = False  # nothing passes along its links during the fault
    degrades: bool = False  # something is slower or less reliable than it should be, yet up
    shifts_clock: bool = False  # the victims' clocks are wrong during the fault
    syncs: bool = False  # no harm: what was written before is durable on each victim's disk

    def as_columns(self) -> dict[str, bool]:
        """By the names of the columns in FAULTS."""
        return asdict(self)


Words = Mapping[str, str]  # parameters as they are recorded
ByNode = Mapping[NodeId, FaultEvidence]


class Aspect(StrEnum):
    """What a fault holds of its victims while it lasts: two faults that hold the same cannot
    overlap."""

    MACHINE = "machine"  # the process and its disk
    CLOCK = "clock"
    CUTS = "cuts"  # single links
    FLAKINESS = "flakiness"  # single links
    LATENCY = "latency"  # all links at once
    ENTRANCE = "entrance"  # the way in for clients
    VOTERS = "voters"  # of the quorum
    FEATURES = "features"  # of the cluster
    LEADERS = "leaders"  # of partitions
    REPLICAS = "replicas"  # of partitions
    CONFIGS = "configurations"  # of topics


class Fault(Protocol):
    """A fault as a value: what is done to which victim, which is resolved when it fires."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    kinds: ClassVar[tuple[str, ...]]  # every value of `kind`
    aspect: ClassVar[Aspect]
    # faults that `inject` can name, each with its parameters
    by_hand: ClassVar[Mapping[str, Words]]
    swarm_specs: ClassVar[Mapping[str, "SwarmSpec"]]  # how a swarm draws it, by name

    @property
    def kind(self) -> str:
        """The name under which it is recorded."""

    @property
    def victim(self) -> Victim: ...

    @property
    def needs(self) -> tuple[Ability, ...]: ...

    @property
    def harm(self) -> Harm: ...

    async def inject(self, cluster: Cluster, hit: "Hit") -> ByNode:
        """Begin the fault; it has begun when this returns. Returns what is known of each node by
        then."""

    async def cure(self, cluster: Cluster, hit: "Hit") -> FaultEvidence:
        """Undo the fault, and report whether it had bitten. Nodes that were off answer again
        then."""


@runtime_checkable
class OfLinks(Protocol):
    """A fault of its victims' links."""

    def links(self, cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[Link, ...]:
        """The links that it cuts or makes flaky when it hits these nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fault that fired: the nodes that it hit, and what was measured at that moment.

    `operator` changes the voters of the run.
    """

    fault: Fault
    nodes: tuple[NodeId, ...]
    links: tuple[Link, ...] = ()
    evidence: ByNode = field(default_factory=dict)
    operator: Operator | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmSpec:
    """How a swarm draws a fault for this many nodes, and the bounds of its length."""

    make: Callable[[random.Random, int], Fault]
    shortest_s: float
    longest_s: float
    least_nodes: int = 1


def links_of(fault: Fault, nodes: Sequence[NodeId], cluster: Cluster) -> tuple[Link, ...]:
    """The links between these nodes and others that a fault cuts or makes flaky, if any."""
    return fault.links(cluster, nodes) if isinstance(fault, OfLinks) else ()


async def inject(
    cluster: Cluster,
    fault: Fault,
    nodes: tuple[NodeId, ...],
    links: tuple[Link, ...] | None = None,
    operator: Operator | None = None,
) -> Hit:
    """Let a fault begin. `links`: those of `links_of`, or some of them."""
    links = links_of(fault, nodes, cluster) if links is None else links
    hit = Hit(fault=fault, nodes=nodes, links=links, operator=operator)
    return replace(hit, evidence=await fault.inject(cluster, hit))


async def cure(cluster: Cluster, hit: Hit) -> FaultEvidence:
    return await hit.fault.cure(cluster, hit)


def needs_of(faults: Iterable[Fault]) -> frozenset[Ability]:
    """What a cluster must be able to do for all of these."""
    return frozenset(need for fault in faults for need in fault.needs)


# Draws the victims of a swarm's faults from a seed.


def one(rng: random.Random, nodes: int) -> Victim:
    """One node: the leader as often as all others together."""
    if nodes == 1:
        return RandomNode()
    return rng.choice((ControllerLeader(), ControllerLeader(), RandomFollower(), RandomNode()))


def some(rng: random.Random, nodes: int) -> Victim:
    """Usually one node, now and then several, and sometimes all."""
    dice = rng.random()
    if dice < 0.6:
        return one(rng, nodes)
    return SomeNodes(rng.randint(1, nodes)) if dice < 0.85 else AllVoters()


def one_side(rng: random.Random, nodes: int) -> Victim:
    """The nodes on one side of a partition."""
    return one(rng, nodes) if rng.random() < 0.6 else SomeNodes(rng.randint(1, nodes // 2))


_ALWAYS = "always told"

Choice = TypeVar("Choice", bound=StrEnum)


def always(default: Choice) -> Choice:
    """A field with this default that is recorded even if it has the default."""
    told: Choice = field(default=default, metadata={_ALWAYS: True})
    return told


def parameters_of(fault: Fault) -> dict[str, str]:
    """The parameters by name, as they are recorded."""
    return {
        each.name: _text(getattr(fault, each.name))
        for each in _parameters(type(fault))
        if each.metadata.get(_ALWAYS) or getattr(fault, each.name) != each.default
    }


def with_parameters(kind: type[Fault], victim: Victim, words: Words) -> Fault:
    """A fault with the parameters read from words. Raises ValueError for unknown ones."""
    known = {each.name: each for each in _parameters(kind)}
    needed = {name for name, each in known.items() if each.default is MISSING}
    if unknown := words.keys() - known:
        raise ValueError(f"{kind.kinds[0]} has no parameter {', '.join(sorted(unknown))}")
    if missing := needed - words.keys():
        whole = ":".join([kind.kinds[0], *(f"{each}=VALUE" for each in sorted(missing))])
        raise ValueError(f"{kind.kinds[0]} needs its {', '.join(sorted(missing))}: {whole}")
    hints = _hints(kind)
    values = {name: _value(hints[name], text) for name, text in words.items()}
    return _make(kind, victim=victim, **values)


@cache
def _hints(kind: type[Fault]) -> dict[str, Any]:
    return get_type_hints(kind)


def _make(kind: type[Any], **values: object) -> Fault:
    made: Fault = kind(**values)
    return made


def _parameters(kind: type[Fault]) -> list[Field[Any]]:
    return [each for each in fields(kind) if each.name != "victim"]


def ways_of(kind: type[Fault]) -> str:
    """The parameters of a kind with the values of each, as they are given: `:mode=torn|lose-all`,
    `:share=NUMBER`."""
    hints = _hints(kind)
    told = []
    for each in _parameters(kind):
        read = _read_by(hints[each.name])
        values = "|".join(read) if issubclass(read, StrEnum) else "NUMBER"
        told.append(f":{each.name}={values}")
    return "".join(told)


def named_alone(kind: type[Fault], name: str, victim: Victim, words: Words) -> Fault:
    """As `with_parameters`, where the name of the kind decides a parameter that is not given:
    `disk-full`, `partition-one-way`. Raises ValueError."""
    hints = _hints(kind)
    for each in _parameters(kind) if len(kind.kinds) > 1 else ():
        read = _read_by(hints[each.name])
        for value in read if issubclass(read, StrEnum) and each.name not in words else ():
            found = with_parameters(kind, victim, {**words, each.name: value})
            if found.kind == name:
                return found
    return with_parameters(kind, victim, words)


def _read_by(hint: Any) -> type[Any]:
    """The class of a parameter that may be left out."""
    (read,) = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    found: type[Any] = read
    return found


def _text(value: float | StrEnum) -> str:
    """The shortest text that gives the same number."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def _value(hint: Any, text: str) -> object:
    """Raises ValueError."""
    read = _read_by(hint)
    if issubclass(read, StrEnum) and text not in list(read):
        raise ValueError(f"{text!r} is not one of {', '.join(read)}")
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no number") from error
