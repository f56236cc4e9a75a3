"""Clients that write unique values to registers and read them, and the judge of what they saw.

A register is the `interval.ms` of a CLIENT_METRICS resource. The judge reasons with zones (Gibbons
and Korach, for unique values): for each value, from the first completion to the last invocation of
the operations on it.
"""

import itertools
import random
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.apis import Response
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceChange,
    ResourceQuery,
)
from tests.support.quorum import MS, SECOND, Quorum
from tests.support.watch import Violation

CLIENT_METRICS = 16
INTERVAL = "interval.ms"
FOREVER = 2**62
INITIAL = 300_000  # what an unset register reads as: the default


def write_request(key: str, value: int) -> AlterConfigsRequest:
    change = ConfigChange(name=INTERVAL, operation=0, value=str(value))
    resource = ResourceChange(type=CLIENT_METRICS, name=key, changes=(change,))
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


def read_request(key: str) -> DescribeConfigsRequest:
    query = ResourceQuery(type=CLIENT_METRICS, name=key, keys=(INTERVAL,))
    return DescribeConfigsRequest(resources=(query,))


@dataclass(eq=False, slots=True)
class Operation:
    is_write: bool
    key: str
    value: int | None
    invoked_ns: int
    completed_ns: int = FOREVER
    is_ok: bool = False


class Registers:
    """`processes` clients, each with one operation at a time, at nodes chosen at random or, mostly,
    at whoever answered last."""

    def __init__(
        self, quorum: Quorum, *, processes: int, keys: int, seed: int, pause_ms: int
    ) -> None:
        self.operations: list[Operation] = []
        self._quorum = quorum
        self._pause_ms = pause_ms
        self._rng = random.Random(f"{seed}:registers")
        self._keys = [f"r{i}" for i in range(keys)]
        self._values = itertools.count(1000)
        self._running = True
        self._nodes = list(quorum.members)
        for process in range(processes):
            quorum.at(quorum.now_ns + process * MS, lambda: self._next(self._nodes[0]))

    def stop(self) -> None:
        self._running = False

    def acknowledged_writes(self) -> int:
        return sum(operation.is_write and operation.is_ok for operation in self.operations)

    def _next(self, node: NodeId) -> None:
        if not self._running:
            return
        is_write = self._rng.random() < 0.5
        key = self._rng.choice(self._keys)
        value = next(self._values) if is_write else None
        operation = Operation(is_write, key, value, self._quorum.now_ns)
        self.operations.append(operation)
        turn = _Turn(self, operation, node)
        request = write_request(key, value) if value is not None else read_request(key)
        self._quorum.at(self._quorum.now_ns + SECOND, turn.time_out)
        self._quorum.ask(node, request, turn.on_answer)

    def again(self, node: NodeId, *, satisfied: bool) -> None:
        if not satisfied or self._rng.random() < 0.05:
            node = self._rng.choice(self._nodes)
        pause = self._rng.randrange(MS, self._pause_ms * MS)
        self._quorum.at(self._quorum.now_ns + pause, lambda: self._next(node))


@dataclass(eq=False, slots=True)
class _Turn:
    """One operation of one process, until it is answered or given up."""

    registers: Registers
    operation: Operation
    node: NodeId
    is_over: bool = False

    def time_out(self) -> None:
        self._finish(satisfied=False)

    def on_answer(self, response: Response | None) -> None:
        if self.is_over:
            return
        operation = self.operation
        match response:
            case AlterConfigsResponse(results=(result,)) if result.error == ErrorCode.NONE:
                operation.is_ok = True
            case DescribeConfigsResponse(results=(read,)) if read.error == ErrorCode.NONE:
                operation.is_ok = True
                operation.value = int(read.entries[0].value or 0)
            case _:
                pass  # refused or broken off: a write may still have happened
        if operation.is_ok:
            operation.completed_ns = self.registers._quorum.now_ns
        self._finish(satisfied=operation.is_ok)

    def _finish(self, *, satisfied: bool) -> None:
        if not self.is_over:
            self.is_over = True
            self.registers.again(self.node, satisfied=satisfied)


@dataclass(slots=True)
class _Zone:
    value: int
    first_completion: int = FOREVER
    last_invocation: int = -FOREVER

    def add(self, invoked: int, completed: int) -> None:
        self.first_completion = min(self.first_completion, completed)
        self.last_invocation = max(self.last_invocation, invoked)

    @property
    def is_forward(self) -> bool:
        return self.first_completion < self.last_invocation

    @property
    def low(self) -> int:
        return min(self.first_completion, self.last_invocation)

    @property
    def high(self) -> int:
        return max(self.first_completion, self.last_invocation)


def assert_linearizable(operations: list[Operation]) -> None:
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    for key, history in by_key.items():
        _assert_register(key, history)


def _assert_register(key: str, history: list[Operation]) -> None:
    writes = {operation.value: operation for operation in history if operation.is_write}
    reads = [operation for operation in history if not operation.is_write and operation.is_ok]
    zones: dict[int, _Zone] = {INITIAL: _Zone(INITIAL, -FOREVER, -FOREVER)}
    for value, write in writes.items():
        if write.is_ok and value is not None:
            zones.setdefault(value, _Zone(value)).add(write.invoked_ns, write.completed_ns)
    for read in reads:
        assert read.value is not None
        if read.value != INITIAL:
            origin = writes.get(read.value)
            if origin is None or origin.invoked_ns > read.completed_ns:
                raise Violation(f"{key}: {read} read what nobody had written")
            zone = zones.setdefault(read.value, _Zone(read.value))
            zone.add(origin.invoked_ns, origin.completed_ns)
        zones[read.value].add(read.invoked_ns, read.completed_ns)
    _assert_zones(key, sorted(zones.values(), key=lambda zone: zone.low))


def _assert_zones(key: str, zones: list[_Zone]) -> None:
    forward = [zone for zone in zones if zone.is_forward]
    for one, other in itertools.pairwise(forward):
        if one.high > other.low:
            raise Violation(f"{key}: {one} and {other} overlap")
    starts = [zone.low for zone in forward]
    for zone in zones:
        before = bisect_left(starts, zone.low) - 1
        if not zone.is_forward and before >= 0 and zone.high < forward[before].high:
            raise Violation(f"{key}: {zone} lies within {forward[before]}")
