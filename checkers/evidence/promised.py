"""What was promised: by the cluster's set-up, and by requests during the run.

The settings and the load of `run.json` are what was asked for before anything ran; requests of
clients and operators (ops, faults) are what was asked for later, and when. The metadata log of the
judged cluster is no source: nothing that a controller writes there on its own lessens a promise. A
request may be in force from the moment it is sent; once it is acknowledged, no older one is. A
request of unknown fate may be in force from then on, for ever.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.faults import FaultFact, Kind
from checkers.history.asked import (
    ADD_PARTITIONS,
    CONFIG_OF_A_TOPIC,
    CONFIG_OF_ALL_BROKERS,
    MIN_ISR,
    TopicShape,
    asked_shape,
)
from checkers.history.sealed_run import RunInfo

UNCLEAN = "unclean.leader.election.enable"
# What may be asked of an unclean recovery manager (KIP-966, part two).
OFF, BALANCED, AGGRESSIVE = "off", "balanced", "aggressive"
CREATE, DELETE = "create-topic", "delete-topic"
INTERNAL = "__"  # the prefix of the names of internal topics
# The parameter of an operator's change of the level of eligible.leader.replicas.version.
_ELR_LEVEL = "level"
# The parameter of an operator's change of min.insync.replicas, and its value if nothing is asked.
_MIN_ISR, _BROKER_MIN_ISR = "min_isr", "broker_min_isr"
_UNTOUCHED = "untouched"
# The parameter of an operator's request for leaders, and the strategies that it may ask for.
_ELECTION = "election"
_DESIGNATION = "designation"
_STRATEGIES = {"longest-log-balanced": BALANCED, "longest-log-aggressive": AGGRESSIVE}
_NEVER_NS = int(np.iinfo(np.int64).min)
_USUAL_REPLICATION = 3
_COMPACTED = ("__consumer_offsets", "__transaction_state")
_POLICIES = ("cleanup.policy", "log.cleanup.policy")  # a topic's own, and the brokers'
# Settings for the topic itself, by internal topic, if any were requested.
_OWN_REPLICATION = {
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}
_OWN_MIN_ISR = {
    "__transaction_state": "transaction.state.log.min.isr",
    "__share_group_state": "share.coordinator.state.topic.min.isr",
}

_Operation = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class InForce:
    """The values that may have been in force over time: from each moment (ns) on, one of `values`.

    The first moment is the beginning of time; moments rise.
    """

    since_ns: Ints
    values: tuple[frozenset[int], ...]

    @cached_property
    def lowest(self) -> int:
        """The lowest that was ever asked for."""
        return min(map(min, self.values))

    @property
    def last(self) -> frozenset[int]:
        """The values that may be in force at the end."""
        return self.values[-1]

    def at_most(self, most: int) -> "InForce":
        """The same, with values above this one replaced by it."""
        values = tuple(frozenset(min(one, most) for one in each) for each in self.values)
        return InForce(since_ns=self.since_ns, values=values)

    def between(self, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """By row, the lowest and the highest that may have been in force at any time from `begin`
        to `end`."""
        first = np.searchsorted(self.since_ns, begin, side="right") - 1
        last = np.maximum(np.searchsorted(self.since_ns, end, side="right") - 1, first)
        pairs, which = np.unique(np.stack([first, last], axis=1), axis=0, return_inverse=True)
        spans = [frozenset().union(*self.values[a : b + 1]) for a, b in pairs.tolist()]
        which = which.reshape(-1)
        low, high = (np.array([choose(s) for s in spans], np.int64) for choose in (min, max))
        return low[which], high[which]


def topic_of(key: str) -> str:
    """The topic of a partition, which is named as "topic-0"."""
    return key.rpartition("-")[0]


def always(value: int) -> InForce:
    """One value, from the beginning to the end."""
    return InForce(since_ns=np.array([_NEVER_NS], np.int64), values=(frozenset({value}),))


def strategy_of(info: RunInfo) -> str:
    """That of the unclean recovery manager of a run's brokers; OFF if it has none."""
    return info.settings.get("recovery", OFF)


def recovers(info: RunInfo) -> bool:
    return strategy_of(info) != OFF


class AskedFor:
    """What was asked for in one run."""

    def __init__(self, info: RunInfo, ops: pa.Table, faults: Sequence[FaultFact]) -> None:
        self._info = info
        names = [CREATE, DELETE, ADD_PARTITIONS, *CONFIG_OF_ALL_BROKERS, *CONFIG_OF_A_TOPIC]
        chosen = ops.filter(pc.is_in(ops["f"], pa.array(names)))
        rows: list[_Operation] = chosen.sort_by("invoke_index").to_pylist()
        self._asked = [row for row in rows if row["outcome"] != "fail"]
        self._levels = [
            fault for fault in faults if _ELR_LEVEL in fault.params and fault.may_have_bitten
        ]
        self._elections = [
            fault for fault in faults if _ELECTION in fault.params and fault.may_have_bitten
        ]
        self._min_isrs = [
            _operator_asked(fault, fault.params[_MIN_ISR])
            for fault in faults
            if fault.params.get(_MIN_ISR, _UNTOUCHED) != _UNTOUCHED and fault.may_have_bitten
        ]
        self._min_isr: dict[str, InForce] = {}
        self._of_all_brokers = _in_force(self.min_isr_of_files, self.asked("set-min-isr"))

    def asked(self, f: str, key: str | None = None) -> list[_Operation]:
        """Requests that may have been done, in the order in which they were sent."""
        return [row for row in self._asked if row["f"] == f and key in (None, row["key"])]

    @property
    def is_known(self) -> bool:
        """Whether requests were to be recorded at all: with disks alone, none are known."""
        return Kind.OPERATIONS in self._info.gives

    # --- topics ---

    def shape(self, topic: str) -> TopicShape | None:
        """The shape that a client asks for in a topic of this name; None if it is unknown."""
        return None if topic.startswith(INTERNAL) else asked_shape(self._info.load, topic)

    def partitions(self, topic: str) -> tuple[int, int]:
        """The least and the most partitions that a topic of known shape may have."""
        shape = self.shape(topic)
        assert shape is not None, f"no client asked for {topic}"
        asked = self.asked(ADD_PARTITIONS, topic)
        acknowledged = [int(row["value"]) for row in asked if row["outcome"] == "ok"]
        least = max([shape.partitions, *acknowledged])
        return least, max([least, *(int(row["value"]) for row in asked)])

    def asked_replication(self, topic: str) -> int | None:
        """How many replicas each partition of a topic is to have; None if it was not asked for."""
        shape, settings = self.shape(topic), self._info.settings
        if shape is not None:
            return shape.replication
        said = settings.get(_OWN_REPLICATION.get(topic, ""), settings.get("replication"))
        return None if said is None else int(said)

    def replication(self, topic: str) -> int:
        """The same; if it was not asked for, the default."""
        return self.asked_replication(topic) or _USUAL_REPLICATION

    # --- configurations ---

    def min_isr(self, topic: str) -> InForce:
        """The effective min.insync.replicas: never more than a partition is to have replicas."""
        if topic not in self._min_isr:
            own = self._own(topic, MIN_ISR)
            found = self._of_all_brokers if own is None else always(int(own))
            if self._min_isrs and not topic.startswith(INTERNAL):
                usual = self.min_isr_of_files if own is None else int(own)
                found = _in_force(usual, self._min_isrs)
            self._min_isr[topic] = found.at_most(self.replication(topic))
        return self._min_isr[topic]

    @property
    def min_isr_of_all_brokers(self) -> InForce:
        """That of topics without a value of their own, whatever their number of replicas."""
        return self._of_all_brokers

    def unclean(self, topic: str) -> bool:
        """Whether any replica may be elected if no eligible one is left."""
        settings = self._info.settings
        if AGGRESSIVE in self.recoveries() or self.designated():
            return True
        if strategy_of(self._info) != OFF:
            return False
        usual = settings.get("unclean", settings.get(UNCLEAN, "off"))
        return (self._own(topic, UNCLEAN) or usual) in ("on", "true")

    def recoveries(self, at: int | None = None) -> frozenset[str]:
        """The strategies by which a partition that has lost all eligible leaders may be recovered:
        the manager's, "off" where none was asked for, and those that operators had asked for by a
        time (ns); None: ever."""
        asked = (_STRATEGIES.get(each) for each in self._asked_elections(at))
        return frozenset({strategy_of(self._info), *(each for each in asked if each is not None)})

    def designated(self, at: int | None = None) -> frozenset[int]:
        """The brokers that operators had named by then for leaders of partitions without one."""
        return frozenset(
            node
            for fault in self._elections
            if fault.params[_ELECTION] == _DESIGNATION and (at is None or fault.t_start <= at)
            for node in fault.nodes
        )

    def _asked_elections(self, at: int | None) -> Iterator[str]:
        return (
            fault.params[_ELECTION]
            for fault in self._elections
            if at is None or fault.t_start <= at
        )

    def told(self, topic: str) -> Mapping[str, str]:
        """The brokers' setting, and the topic's own values that were asked for."""
        shape, load = self.shape(topic), self._info.load
        if topic.startswith(INTERNAL):
            return self._info.settings
        configs = load.get("configs", {}) if shape is None else shape.configs
        return {**self._info.settings, **configs}

    def is_compacted(self, topic: str) -> bool:
        """Whether compaction was asked for: each replica then drops records on its own."""
        told = self.told(topic)
        policy = next((told[name] for name in _POLICIES if name in told), "")
        return topic in _COMPACTED or "compact" in policy

    def configs_of(self, topic: str) -> Iterator[tuple[str, str]]:
        """Names and values that were asked for after it was created."""
        for f, name in CONFIG_OF_A_TOPIC.items():
            yield from ((name, str(row["value"])) for row in self.asked(f, topic))
        yield from ((MIN_ISR, str(row["value"])) for row in self._min_isrs)

    # --- features ---

    @property
    def elr_levels(self) -> InForce | None:
        """The level of eligible.leader.replicas.version; None if it was not asked for."""
        word = self._info.settings.get("elr")
        if word is None:
            return None
        asked = [_operator_asked(fault, fault.params[_ELR_LEVEL]) for fault in self._levels]
        return _in_force(int(word == "on"), asked)

    def _own(self, topic: str, name: str) -> str | None:
        if topic.startswith(INTERNAL) and name == MIN_ISR:
            return self._info.settings.get(_OWN_MIN_ISR.get(topic, ""))
        shape = self.shape(topic)
        return None if shape is None else shape.configs.get(name)

    @property
    def min_isr_of_files(self) -> int:
        """min.insync.replicas by the nodes' files: the controllers', since with eligible leader
        replicas the cluster has theirs (KAFKA-16540); without them leaders go by the brokers'."""
        settings = self._info.settings
        of_controllers = settings.get("min_isr", settings.get(MIN_ISR, "1"))
        differs = settings.get("elr") == "off"
        return int(settings.get(_BROKER_MIN_ISR, of_controllers) if differs else of_controllers)


def _operator_asked(fault: FaultFact, value: str) -> _Operation:
    """As a row of an operation."""
    return {
        "value": int(value),
        "t0": fault.t_start,
        "t1": fault.t_bit,
        "outcome": "ok" if fault.bit else "info",
    }


def _in_force(usual: int, asked: Sequence[Mapping[str, Any]]) -> InForce:
    """From requests for a value; any two that overlap may be done in either order."""
    moments = [(row["t0"], 0, row) for row in asked]
    moments += [(row["t1"], 1, row) for row in asked if row["outcome"] == "ok"]
    moments.sort(key=lambda moment: moment[:2])
    since, values = [_NEVER_NS], [frozenset({usual})]
    may: list[Mapping[str, Any]] = [{"value": usual, "t1": _NEVER_NS, "outcome": "ok"}]
    for now, is_answer, row in moments:
        if is_answer:  # a request that was over before this one began holds no more
            may = [one for one in may if one["outcome"] != "ok" or one["t1"] >= row["t0"]]
        else:
            may.append(row)
        since.append(now)
        values.append(frozenset(int(one["value"]) for one in may))
    return InForce(since_ns=np.array(since, np.int64), values=tuple(values))
