"""Requests at the limits, by the thousand, stepped through a node without sockets or a disk.

The node is the leader of a quorum of one. In a session it is asked some dozens of requests
(`tests.fuzz.drawing`). It must not raise; each request is answered, or its connection is closed;
each answer is read by kio and by the harness's clients; afterwards all that was written can be read
by the judge, described in every version, and replayed by the next node that opens the log.

    python -m tests.fuzz.requests --count 100000 --seed 1
"""

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, get_args

from node.effects import ElectionState
from node.ids import ConnectionId
from node.wire import MalformedFrame, decode_request, encode_request
from node.wire.apis import APIS, WriteRequest
from node.wire.configs import (
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    DescribeConfigsRequest,
    ResourceQuery,
)
from tests.fuzz.bench import Bench, Resource, check_log, check_strings
from tests.fuzz.brokers import bring_up
from tests.fuzz.drawing import LIKELY, Drawn, draw_request, read_answer
from tests.fuzz.sessions import Surprise, command, run_sessions
from tests.support.memory_log import MemoryLog

SESSION = 40
WITH_BROKERS = 0.5  # of the sessions
EVERY = APIS[:0]  # to `draw_request`
WRITES = tuple(api for api in APIS if api.request in get_args(WriteRequest))


@dataclass
class Tally:
    """What became of the requests, and how many of each kind were answered."""

    counts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    altered: Counter[int] = field(default_factory=Counter)  # by the error code of a resource
    written: Counter[str] = field(default_factory=Counter)  # records by type
    slowest: tuple[float, str] = (0.0, "")  # seconds of CPU, and what took them


def session(rng: random.Random, tally: Tally) -> None:
    """Raises Surprise."""
    bench = Bench(MemoryLog(), ElectionState(), rng)
    likely = dict(LIKELY)
    apis = [EVERY]
    if rng.random() < WITH_BROKERS:
        bench.lead()
        likely |= bring_up(bench)
        apis = [EVERY, WRITES]
    for count in range(SESSION):
        drawn = draw_request(rng, count, likely, rng.choice(apis))
        try:
            bench.lead()
            _ask(bench, drawn, ConnectionId(rng.randint(1, 4)), tally)
        except Exception as error:
            shown = drawn.frame.hex()[:2000]
            raise Surprise(f"request {count}, {drawn.name}: {error!r}; frame {shown}") from error
    bench.lead()
    check_strings(bench.log)
    written = check_log(bench.log)
    tally.written.update(written.kinds)
    check_descriptions(bench, written.resources, tally)
    Bench(bench.log, bench.election, rng).lead()


def _ask(bench: Bench, drawn: Drawn, connection: ConnectionId, tally: Tally) -> None:
    began = time.process_time()
    answer = bench.ask(drawn.frame, connection)
    tally.slowest = max(tally.slowest, (time.process_time() - began, drawn.name))
    if answer is None:
        _check_hang_up(bench, drawn)
        tally.counts["hung up on"] += 1
        return
    told = read_answer(drawn, answer)
    if drawn.api is INCREMENTAL_ALTER_CONFIGS:
        tally.altered.update(int(result.error_code) for result in told.responses)
    tally.answered[drawn.name] += 1
    tally.counts["answered"] += 1


def _check_hang_up(bench: Bench, drawn: Drawn) -> None:
    """Only for what cannot be read: nothing is in this log that cannot be told."""
    try:
        decode_request(drawn.frame)
    except MalformedFrame:
        return
    raise Surprise(f"hung up on a sound request: {bench.unanswered}")


def check_descriptions(bench: Bench, resources: set[Resource], tally: Tally) -> None:
    """All configs, in every version alike."""
    queries = tuple(
        ResourceQuery(type=kind, name=name, keys=None) for kind, name in sorted(resources)
    )
    told: list[Any] = []
    for version in range(DESCRIBE_CONFIGS.min_version, DESCRIBE_CONFIGS.max_version + 1):
        request = DescribeConfigsRequest(resources=queries)
        _, frame = encode_request(request, correlation_id=9, client_id="f", version=version)
        drawn = Drawn(api=DESCRIBE_CONFIGS, version=version, correlation_id=9, frame=frame)
        answer = bench.ask(frame, ConnectionId(99))
        if answer is None:
            raise Surprise(f"{drawn.name} of {sorted(resources)}: {bench.unanswered}")
        results = read_answer(drawn, answer).results
        told.append([(r.resource_name, [(c.name, c.value) for c in r.configs]) for r in results])
    assert all(each == told[0] for each in told)
    tally.counts["resources described in every version"] += len(resources)


def fuzz(seed: int, numbers: range) -> Tally:
    """Raises Surprise."""
    tally = Tally()
    run_sessions("requests", seed, numbers, lambda rng: session(rng, tally))
    return tally


def told(seed: int, numbers: range) -> str:
    tally = fuzz(seed, numbers)
    parts = ", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items()))
    dearest_s, name = tally.slowest
    return f"{parts}; dearest: {dearest_s * 1000:.0f} ms of CPU for {name}"


if __name__ == "__main__":
    sys.exit(command(__doc__, SESSION, told))
