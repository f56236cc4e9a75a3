"""Conditions that a script waits for, as values, judged by the brokers' answers.

A broker that is cut off from the controllers answers from its last known state, and a change of an
ISR leaves the leader epoch as it was: no answer shows which broker is behind. So all brokers are
asked, and a condition that can only become true holds as soon as one of them confirms it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.verdict import counted
from workloads.wire.topic_partitions import PartitionClaim

Claims = Sequence[PartitionClaim]
_MOST_STATES = 3  # partitions listed one by one in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The cluster at one moment. `claims`: the answers, by broker."""

    claims: Mapping[int, Claims]
    acknowledged: int  # writes since the run began
    committed: int = 0  # transactions since then

    def __str__(self) -> str:
        """Short, however many partitions there are."""
        told = [
            f"node {broker} says: {_in_short(claims)}" for broker, claims in self.claims.items()
        ]
        done = [counted(self.acknowledged, "acknowledged write")]
        done += [counted(self.committed, "committed transaction")] if self.committed else []
        return "; ".join([*done, *(told or ["no broker answers"])])


@dataclass(frozen=True, slots=True)
class IsrIs:
    """Every partition's in-sync replicas are these."""

    nodes: tuple[int, ...]

    def holds(self, sight: Sight) -> bool:
        return _any_broker_says(sight, lambda claim: sorted(claim.isr) == sorted(self.nodes))

    def __str__(self) -> str:
        return f"the ISR is {list(self.nodes)}"


@dataclass(frozen=True, slots=True)
class ElrIs:
    """Every partition's eligible leader replicas are these."""

    nodes: tuple[int, ...]

    def holds(self, sight: Sight) -> bool:
        return _any_broker_says(sight, lambda claim: sorted(claim.elr) == sorted(self.nodes))

    def __str__(self) -> str:
        return f"the ELR is {list(self.nodes)}"


@dataclass(frozen=True, slots=True)
class Leaderless:
    """Every partition is without a leader."""

    def holds(self, sight: Sight) -> bool:
        return _any_broker_says(sight, lambda claim: claim.leader < 0)

    def __str__(self) -> str:
        return "no partition has a leader"


@dataclass(frozen=True, slots=True)
class Led:
    """Every partition has a leader; by one of `nodes`, where there are any."""

    nodes: tuple[int, ...] = ()

    def holds(self, sight: Sight) -> bool:
        return _any_broker_says(
            sight,
            lambda claim: claim.leader in self.nodes if self.nodes else claim.leader >= 0,
        )

    def __str__(self) -> str:
        by = f" by one of {list(self.nodes)}" if self.nodes else ""
        return f"every partition is led{by}"


@dataclass(frozen=True, slots=True)
class PreferredLead:
    """Every partition is led by the first of its replicas, as it was when it was made."""

    def holds(self, sight: Sight) -> bool:
        return _any_broker_says(sight, lambda claim: claim.leader == claim.replicas[0])

    def __str__(self) -> str:
        return "every partition is led by its preferred leader"


@dataclass(frozen=True, slots=True)
class Whole:
    """Every broker that is asked reports every replica in sync, and names the same leader."""

    brokers: int

    def holds(self, sight: Sight) -> bool:
        if len(sight.claims) < self.brokers:
            return False
        leaders = {
            tuple((claim.key, claim.leader) for claim in claims) for claims in sight.claims.values()
        }
        return len(leaders) == 1 and all(
            claims and all(_is_whole(claim) for claim in claims) for claims in sight.claims.values()
        )

    def __str__(self) -> str:
        return f"all {self.brokers} brokers say that every replica is in sync"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """At least this many writes were acknowledged since the run began."""

    count: int

    def holds(self, sight: Sight) -> bool:
        return sight.acknowledged >= self.count

    def __str__(self) -> str:
        return f"{counted(self.count, 'write is', 'writes are')} acknowledged"


@dataclass(frozen=True, slots=True)
class TransactionsCommitted:
    """Coordinators report at least this many transactions of clients as committed."""

    count: int

    def holds(self, sight: Sight) -> bool:
        return sight.committed >= self.count

    def __str__(self) -> str:
        return f"{counted(self.count, 'transaction is', 'transactions are')} committed"


Condition = (
    IsrIs | ElrIs | Leaderless | Led | PreferredLead | Whole | Acknowledged | TransactionsCommitted
)


class ClusterView(Protocol):
    async def look(self) -> Sight:
        """The state of the cluster now."""

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        """Whether the condition became true in time."""


def lacking(sight: Sight, brokers: Collection[int]) -> str:
    """Why the cluster is not whole: which broker, and which partition."""
    silent = [
        f"broker {broker} does not answer" for broker in brokers if broker not in sight.claims
    ]
    told = [
        f"broker {broker} says that {_not_whole(claim)}"
        for broker, claims in sight.claims.items()
        for claim in claims
        if not _is_whole(claim)
    ]
    of_none = [f"broker {broker} knows no topic" for broker, of in sight.claims.items() if not of]
    found = [*silent, *of_none, *told]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else "brokers name different leaders"


def unled(sight: Sight, running: Collection[int]) -> str:
    """A partition without a leader by the answers of all brokers, although one of these brokers may
    lead it; "" if there is none."""
    told = [{claim.key: claim for claim in claims} for claims in sight.claims.values()]
    for key in sorted(set.intersection(*map(set, told)) if told else ()):
        claims = [each[key] for each in told]
        may = set.intersection(*({*each.isr} or {*each.elr} for each in claims)) & set(running)
        if may and all(each.leader < 0 for each in claims):
            spared = ", ".join(f"broker {broker}" for broker in sorted(may))
            return f"{_not_whole(claims[0])}, though nothing is done to {spared}"
    return ""


def _not_whole(claim: PartitionClaim) -> str:
    led = f"is led by {claim.leader}" if claim.leader >= 0 else "has no leader"
    elr = f" and ELR {sorted(claim.elr)}" if claim.elr else ""
    absent = sorted(set(claim.replicas) - set(claim.isr))
    lacks = f", without {', '.join(map(str, absent))}" if absent else ""
    return f"{claim.key} {led}, with ISR {sorted(claim.isr)}{elr}{lacks}"


def _in_short(claims: Claims) -> str:
    states = Counter(map(_state, claims)).most_common()
    told = [f"{counted(count, 'partition')} {state}" for state, count in states[:_MOST_STATES]]
    others = sum(count for _, count in states[_MOST_STATES:])
    return ", ".join(told + [f"{others:,} in other states"] * (others > 0)) or "no partitions"


def _state(claim: PartitionClaim) -> str:
    led = "led" if claim.leader >= 0 else "without a leader"
    elr = f" and ELR {sorted(claim.elr)}" if claim.elr else ""
    return f"{led} with ISR {sorted(claim.isr)}{elr}"


def _is_whole(claim: PartitionClaim) -> bool:
    return claim.leader >= 0 and sorted(claim.isr) == sorted(claim.replicas)


def _any_broker_says(sight: Sight, what: Callable[[PartitionClaim], bool]) -> bool:
    return any(claims and all(map(what, claims)) for claims in sight.claims.values())
