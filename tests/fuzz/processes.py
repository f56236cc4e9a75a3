"""A quorum of three real processes under many clients at once, good and bad.

Requests of every API and version, with fields at their limits (`tests.fuzz.drawing`), are sent to
all three by clients of all kinds (`tests.fuzz.callers`): some take every answer, some a few bytes
at a time, some none, some break off within a frame, some only connect. Beside them one behaves
(`tests.fuzz.steady`), and its p99 stays near to what it was before. Every answer is read by kio and
the harness's clients; who is hung up on sent what cannot be read; the leader leads on in its
epoch; the memory of each process stays below a limit.

Then strangers pretend to be voters. Whoever may send Vote, BeginQuorumEpoch and EndQuorumEpoch
moves leaders: in Kafka, too, where nobody is authenticated. So the leader may change; processes
live, answers are read, and the quorum serves again. Two things these strangers leave alone, because
Kafka has nothing against them either: they do not fetch in the name of a voter, which would count
as that voter's promise to hold what it has not got, and they do not use up the epochs.

Afterwards (`tests.fuzz.aftermath`) no epoch had two leaders, the three logs are one, the judge and
`dump-log` read it, and processes that were started again describe what it holds in every version.

    python -m tests.fuzz.processes --count 20000 --seed 1
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from node.config import QuorumTimeouts
from node.ids import ReplicaKey
from node.wire import MalformedFrame, decode_request
from node.wire.apis import BY_REQUEST, Request
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.fetch import FetchRequest
from node.wire.quorum_epoch import BeginQuorumEpochRequest, EndQuorumEpochRequest
from node.wire.vote import VoteRequest
from tests.fuzz.aftermath import (
    Surprise,
    check_described,
    check_logs,
    check_one_leader_an_epoch,
)
from tests.fuzz.callers import (
    Exchange,
    NoAnswer,
    breaks_off,
    is_readable,
    takes_all,
    takes_little,
    takes_nothing,
)
from tests.fuzz.drawing import LIKELY, Draw, Drawn, draw_request, one_of, read_answer
from tests.fuzz.steady import REGISTER, Steady, Waits
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    quorum_processes,
)

# Of all requests; the rest goes to those who take every answer.
UNTAKEN_SHARE = 0.1  # to each kind that does not
STRANGERS_SHARE = 0.1
# Connections of each kind, to each node.
TAKING = 10
NOT_TAKING = 2
QUIET_OPERATIONS = 100
# The p99 of the client that behaves: so many times what it was, or this, whichever is more.
TIMES = 10
FLOOR_S = 0.5
# Of a process, at its highest: an idle one has 35 MiB, and all clients may hold 64.
MEMORY_LIMIT_BYTES = 128 * 1024 * 1024
# Epochs above the present one that strangers speak of; more would use them up.
EPOCHS_AHEAD = 20

MOVES_LEADERS = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest)


@dataclass(frozen=True, slots=True)
class Leadership:
    cluster_id: str
    leader: int
    epoch: int
    voters: tuple[ReplicaKey, ...]


@dataclass
class Report:
    counts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)  # by API and version
    quiet: Waits = field(default_factory=Waits)
    loaded: Waits = field(default_factory=Waits)
    memory_bytes: int = 0

    def line(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return (
            f"{counts}; p99 {self.quiet.p99 * 1000:.0f} ms quiet, {self.loaded.p99 * 1000:.0f} ms"
            f" beside them (timers late by {self.loaded.latest * 1000:.0f} ms at most); at most"
            f" {self.memory_bytes / 2**20:.0f} MiB a process"
        )


# --- what is sent ---


def draw(rng: random.Random, of: Leadership, count: int) -> list[Drawn]:
    """For clients: no request that moves leaders, unless it is of another cluster."""
    likely = {**LIKELY, "cluster_id": one_of(of.cluster_id, of.cluster_id, None, "another")}
    likely |= _epochs(of, 0)

    def harmless(request: Request) -> bool:
        if isinstance(request, MOVES_LEADERS):
            return request.cluster_id not in (None, of.cluster_id)
        return not _promises(request, of)

    return _some(count, lambda at: draw_request(rng, at, likely), harmless)


def draw_of_strangers(rng: random.Random, of: Leadership, count: int) -> list[Drawn]:
    """Requests of the quorum, by names of voters and of others."""
    apis = [BY_REQUEST[kind] for kind in (*MOVES_LEADERS, FetchRequest)]
    ids = one_of(*[key.id for key in of.voters] * 2, 7, -1)
    directories = one_of(*[key.directory for key in of.voters], UUID(int=7), UUID(int=0))
    likely = {**LIKELY, "cluster_id": one_of(of.cluster_id, of.cluster_id, None)}
    for name in ("replica_id", "voter_id", "leader_id", "candidate_id"):
        likely[name] = ids
    for name in ("replica", "voter", "candidate"):
        likely[f"{name}_directory_id"] = directories
    likely |= _epochs(of, EPOCHS_AHEAD)

    def bounded(request: Request) -> bool:
        ahead = getattr(request, "epoch", 0) - of.epoch
        return ahead <= EPOCHS_AHEAD and not _promises(request, of)

    return _some(count, lambda at: draw_request(rng, at, likely, apis), bounded)


def _epochs(of: Leadership, ahead: int) -> dict[str, Draw]:
    def near(rng: random.Random) -> int:
        return rng.randint(max(of.epoch - 1, 0), of.epoch + ahead)

    return dict.fromkeys(("leader_epoch", "replica_epoch", "current_leader_epoch"), near)


def _promises(request: Request, of: Leadership) -> bool:
    """Would a leader take this for what one of the voters holds?"""
    return isinstance(request, FetchRequest) and request.replica in of.voters


def _some(
    count: int, drawn: Callable[[int], Drawn], allowed: Callable[[Request], bool]
) -> list[Drawn]:
    found: list[Drawn] = []
    while len(found) < count:
        candidate = drawn(len(found))
        try:
            _, request = decode_request(candidate.frame)
        except MalformedFrame:
            found.append(candidate)
            continue
        if allowed(request):
            found.append(candidate)
    return found


# --- the storm ---


def _shares(requests: Sequence[Drawn], count: int) -> Iterator[Sequence[Drawn]]:
    for first in range(count):
        yield requests[first::count]


class Storm:
    """Of clients on all nodes, for as long as those that take their answers have something to
    ask."""

    def __init__(self, quorum: QuorumProcesses, rng: random.Random) -> None:
        self._ports = [node.outer for node in quorum.nodes.values()]
        self._rng = rng
        self._end = asyncio.Event()

    async def rage(self, requests: Sequence[Drawn]) -> list[Exchange]:
        """What those were told who take answers, a few bytes at a time or all."""
        part = int(len(requests) * UNTAKEN_SHARE)
        slow, deaf, torn = (requests[n * part : (n + 1) * part] for n in range(3))
        rest = requests[3 * part :]
        many, few = TAKING * len(self._ports), NOT_TAKING * len(self._ports)
        async with asyncio.TaskGroup() as tasks:
            slowly = [
                tasks.create_task(takes_little(self._port(n), share, self._end))
                for n, share in enumerate(_shares(slow, few))
            ]
            for n, share in enumerate(_shares(deaf, few)):
                tasks.create_task(takes_nothing(self._port(n), share, self._end))
                tasks.create_task(takes_nothing(self._port(n), (), self._end))
            ending = [
                tasks.create_task(takes_all(self._port(n), share, self._rng))
                for n, share in enumerate(_shares(rest, many))
            ]
            breaking = [
                tasks.create_task(breaks_off(self._port(n), share, self._rng))
                for n, share in enumerate(_shares(torn, few))
            ]
            await asyncio.gather(*ending, *breaking)
            self._end.set()
        whole = [exchange for task in ending for exchange in task.result()]
        return whole + [task.result() for task in slowly]

    async def beside(
        self, steady: Steady, requests: Sequence[Drawn]
    ) -> tuple[Waits, list[Exchange]]:
        """And what somebody waited who behaves, meanwhile."""
        raging = asyncio.create_task(self.rage(requests))
        waits = await steady.work(lambda _: not raging.done())
        return waits, await raging

    def _port(self, number: int) -> int:
        return self._ports[number % len(self._ports)]


# --- judging ---


def check_exchanges(exchanges: Sequence[Exchange], report: Report) -> None:
    """Raises Surprise."""
    for exchange in exchanges:
        for drawn, answer in zip(exchange.sent, exchange.answers, strict=False):
            try:
                read_answer(drawn, answer)
            except Exception as error:
                shown = f"{drawn.frame.hex()[:2000]} -> {answer.hex()[:2000]}"
                raise Surprise(f"the answer to {drawn.name}: {error!r}; {shown}") from error
            report.answered[drawn.name] += 1
        if exchange.hung_up:
            if all(is_readable(drawn) for drawn in exchange.unanswered):
                raise Surprise(f"hung up on {[each.name for each in exchange.unanswered[:8]]}")
            report.counts["hang-ups"] += 1
    report.counts["answers"] = report.answered.total()


def check_waits(quiet: Waits, loaded: Waits) -> None:
    """Raises Surprise."""
    allowed_s = max(FLOOR_S, TIMES * quiet.p99) + loaded.latest
    if loaded.p99 > allowed_s:
        raise Surprise(
            f"a client that behaves has a p99 of {loaded.p99:.3f} s, quiet {quiet.p99:.3f} s,"
            f" timers late by {loaded.latest:.3f} s; allowed are {allowed_s:.3f} s"
        )


def check_leadership(before: Leadership, after: Leadership, late_s: float) -> None:
    """On a machine that keeps its processes waiting, leaders lose their office at any time: where
    timers were late by half of a fetch time-out, nothing is said. Raises Surprise."""
    if after != before and late_s < QuorumTimeouts().fetch_ms / 2000:
        raise Surprise(f"clients moved the leader: {before} -> {after}; timers late by {late_s} s")


def check_processes(quorum: QuorumProcesses, pids: Sequence[int], report: Report) -> None:
    """All live, and none has taken more memory than it may. Raises Surprise."""
    for node, pid in zip(quorum.nodes.values(), pids, strict=True):
        if node.process is None or node.process.poll() is not None or node.process.pid != pid:
            raise Surprise(f"node {node.id} died: {node.errors[-2000:]}")
        report.memory_bytes = max(report.memory_bytes, highest_memory(pid))
    if report.memory_bytes > MEMORY_LIMIT_BYTES:
        raise Surprise(f"a node took {report.memory_bytes:,} bytes of memory")


def highest_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmHWM of process {pid}")


def leadership(quorum: QuorumProcesses) -> Leadership:
    def look(leader: NodeProcess) -> DescribeQuorumResponse:
        with leader.client() as client:
            answer = client.ask(DescribeQuorumRequest())
        assert isinstance(answer, DescribeQuorumResponse)
        return answer

    told = quorum.under_one_leader(look)
    keys = tuple(sorted(voter.key for voter in told.voters))
    return Leadership(quorum.cluster_id, told.leader, told.epoch, keys)


# --- the whole ---


def fuzz(quorum: QuorumProcesses, seed: int, count: int) -> Report:
    """Raises Surprise. The nodes are stopped and started in the end."""
    report, rng = Report(), random.Random(seed)
    pids = [node.process.pid for node in quorum.nodes.values() if node.process is not None]
    steady = _clients(quorum, rng, int(count * (1 - STRANGERS_SHARE)), report)
    check_processes(quorum, pids, report)
    _strangers(quorum, rng, int(count * STRANGERS_SHARE), report)
    check_processes(quorum, pids, report)
    report.counts["requests"] = count
    _check_stored(quorum, steady.value, report)
    return report


def _clients(quorum: QuorumProcesses, rng: random.Random, count: int, report: Report) -> Steady:
    quorum.write(REGISTER, 1000)
    before = leadership(quorum)
    requests = draw(rng, before, count)
    steady = Steady(quorum.nodes[before.leader].outer)
    report.quiet = asyncio.run(steady.work(lambda done: done < QUIET_OPERATIONS))

    async def storm() -> tuple[Waits, list[Exchange]]:
        return await Storm(quorum, rng).beside(steady, requests)

    report.loaded, exchanges = asyncio.run(storm())
    check_exchanges(exchanges, report)
    check_waits(report.quiet, report.loaded)
    check_leadership(before, leadership(quorum), report.loaded.latest)
    return steady


def _strangers(quorum: QuorumProcesses, rng: random.Random, count: int, report: Report) -> None:
    before = leadership(quorum)
    requests = draw_of_strangers(rng, before, count)

    async def storm() -> list[Exchange]:
        return await Storm(quorum, rng).rage(requests)

    check_exchanges(asyncio.run(storm()), report)
    quorum.write("after the strangers", 1000)
    report.counts["epochs that strangers brought about"] = leadership(quorum).epoch - before.epoch


def _check_stored(quorum: QuorumProcesses, steady: int, report: Report) -> None:
    for node in quorum.nodes.values():
        code = node.terminate()
        if code != 0:
            raise Surprise(f"node {node.id} ended with {code}: {node.errors[-2000:]}")
    check_one_leader_an_epoch(quorum)
    stored = check_logs(quorum)
    told = stored[REGISTER]["interval.ms"]
    if told != str(steady):
        raise Surprise(f"{steady} was acknowledged, {told} is stored")
    report.counts["resources stored"] = len(stored)
    quorum.start()
    check_described(quorum, stored)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="requests")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="kraft-fuzz-") as directory,
        quorum_processes(Path(directory), 3) as quorum,
    ):
        try:
            report = fuzz(quorum, options.seed, options.count)
        except (Surprise, NoAnswer) as surprise:
            print(f"seed {options.seed}: {surprise}", file=sys.stderr)
            return 1
    print(f"seed {options.seed}: {report.line()}; {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
