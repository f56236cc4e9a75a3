"""A quorum of three real processes under many clients at once, good and bad.

Requests of every API and version, with fields at their limits (`tests.fuzz.drawing`), are sent to
all three by clients of all kinds (`tests.fuzz.callers`): some take every answer, some a few bytes
at a time, some none, some break off within a frame, some only connect. Beside them one behaves
(`tests.fuzz.steady`), and its p99 stays near to what it was before. Every answer is read by kio and
the harness's clients; who is hung up on sent what cannot be read; the leader leads on in its
epoch, though some vote, and fetch in the name of voters; the memory of each process stays below a
limit.

Then others pretend to be voters where voters talk to each other. Whoever may send Vote,
BeginQuorumEpoch and EndQuorumEpoch there moves leaders: in Kafka, too, where nobody is
authenticated. So the leader may change; processes live, answers are read, and the quorum serves
again. Two things these false peers leave alone, because Kafka has nothing against them either: they
do not fetch in the name of a voter, which would count as that voter's promise to hold what it has
not got, and they do not use up the epochs.

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
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Protocol, TypeVar

from node.config import QuorumTimeouts
from tests.fuzz.aftermath import check_described, check_logs, check_one_leader_an_epoch
from tests.fuzz.callers import Exchange, NoAnswer, is_readable
from tests.fuzz.drawing import read_answer
from tests.fuzz.sessions import Surprise
from tests.fuzz.steady import REGISTER, Register, Steady, Waits
from tests.fuzz.storm import Leadership, Storm, draw, draw_of_false_peers
from tests.support.quorum_processes import QuorumProcesses, quorum_processes

FALSE_PEERS_SHARE = 0.1  # of all requests
QUIET_OPERATIONS = 100
# The p99 of the client that behaves: so many times what it was, or this, whichever is more.
TIMES = 10
FLOOR_S = 0.5
# Of a process, at its highest: an idle one has 35 MiB, and all clients may hold 64.
MEMORY_LIMIT_BYTES = 128 * 1024 * 1024

Brought = TypeVar("Brought")  # processes, brought up


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


def check_leadership(before: Leadership, after: Leadership, *phases: Waits) -> None:
    """On a machine that keeps its processes or its disk waiting, leaders lose their office at any
    time: where timers or syncs took half of a fetch time-out, nothing is said. Raises Surprise."""
    late_s = max(waits.latest for waits in phases)
    if late_s >= QuorumTimeouts().fetch_ms / 2000:
        return
    told = f"{before} -> {after}; timers late by {late_s} s"
    if refusals := [waits.refusal for waits in phases if waits.refusal]:
        raise Surprise(f"a client that behaves was refused {refusals}: {told}")
    if after != before:
        raise Surprise(f"clients moved the leader: {told}")


class Living(Protocol):
    @property
    def id(self) -> int: ...

    @property
    def process(self) -> Popen[bytes] | None: ...

    @property
    def errors(self) -> str: ...


def check_processes(
    nodes: Iterable[Living],
    pids: Sequence[int],
    report: Report,
    most_bytes: int = MEMORY_LIMIT_BYTES,
) -> None:
    """All live, and none has taken more memory than it may. Raises Surprise."""
    for node, pid in zip(nodes, pids, strict=True):
        if node.process is None or node.process.poll() is not None or node.process.pid != pid:
            raise Surprise(f"node {node.id} died: {node.errors[-2000:]}")
        report.memory_bytes = max(report.memory_bytes, highest_memory(pid))
    if report.memory_bytes > most_bytes:
        raise Surprise(f"a node took {report.memory_bytes:,} bytes of memory")


def highest_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmHWM of process {pid}")


def leadership(quorum: QuorumProcesses) -> Leadership:
    told = quorum.leadership()
    keys = tuple(sorted(voter.key for voter in told.voters))
    return Leadership(quorum.cluster_id, told.leader, told.epoch, keys)


# --- the whole ---


def fuzz(quorum: QuorumProcesses, seed: int, count: int) -> Report:
    """Raises Surprise. The nodes are stopped and started in the end."""
    report, rng = Report(), random.Random(seed)
    pids = [node.process.pid for node in quorum.nodes.values() if node.process is not None]
    register = _clients(quorum, rng, int(count * (1 - FALSE_PEERS_SHARE)), report)
    check_processes(quorum.nodes.values(), pids, report)
    _false_peers(quorum, rng, int(count * FALSE_PEERS_SHARE), report)
    check_processes(quorum.nodes.values(), pids, report)
    report.counts["requests"] = count
    _check_stored(quorum, register, report)
    return report


def _clients(quorum: QuorumProcesses, rng: random.Random, count: int, report: Report) -> Register:
    quorum.write(REGISTER, 1000)
    before = leadership(quorum)
    requests = draw(rng, before, count)
    leader = quorum.nodes[before.leader]
    register = Register()
    steady = Steady(leader.outer, leader.directory / "synced", register)
    report.quiet = asyncio.run(steady.work(lambda done: done < QUIET_OPERATIONS))

    async def storm() -> tuple[Waits, list[Exchange]]:
        ports = [node.outer for node in quorum.nodes.values()]
        return await Storm(ports, rng).beside(steady, requests)

    report.loaded, exchanges = asyncio.run(storm())
    check_exchanges(exchanges, report)
    check_waits(report.quiet, report.loaded)
    check_leadership(before, leadership(quorum), report.quiet, report.loaded)
    return register


def _false_peers(quorum: QuorumProcesses, rng: random.Random, count: int, report: Report) -> None:
    before = leadership(quorum)
    requests = draw_of_false_peers(rng, before, count)

    async def storm() -> list[Exchange]:
        return await Storm([node.inner for node in quorum.nodes.values()], rng).rage(requests)

    check_exchanges(asyncio.run(storm()), report)
    quorum.write("after the false peers", 1000)
    report.counts["epochs that false peers brought about"] = leadership(quorum).epoch - before.epoch


def _check_stored(quorum: QuorumProcesses, register: Register, report: Report) -> None:
    for node in quorum.nodes.values():
        code = node.terminate()
        if code != 0:
            raise Surprise(f"node {node.id} ended with {code}: {node.errors[-2000:]}")
    check_one_leader_an_epoch(quorum)
    stored = check_logs(quorum)
    told = int(stored[16, REGISTER]["interval.ms"])
    if told not in (register.value, register.tried):
        raise Surprise(f"{register.value} was acknowledged, {told} is stored")
    report.counts["resources stored"] = len(stored)
    quorum.start()
    check_described(quorum, stored)


def command(
    description: str | None,
    count: int,
    bring_up: Callable[[Path], AbstractContextManager[Brought]],
    fuzz: Callable[[Brought, int, int], Report],
) -> int:
    """The exit code; `count` requests unless it is told another number."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count, help="requests")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="kraft-fuzz-") as directory,
        bring_up(Path(directory)) as brought,
    ):
        try:
            report = fuzz(brought, options.seed, options.count)
        except (Surprise, NoAnswer) as surprise:
            print(f"seed {options.seed}: {surprise}", file=sys.stderr)
            return 1
    print(f"seed {options.seed}: {report.line()}; {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(command(__doc__, 20_000, partial(quorum_processes, count=3), fuzz))
