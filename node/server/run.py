"""`kraft-node start`: from a formatted directory to a serving node, and its shutdown.

Whatever may be refused is done before the first socket opens: identity, lock, recovery of the log.
From then on there are two ends: clean (`Stop`), or at once (`outcome.die`).
"""

import asyncio

# Python would import these two when a voter's name is first resolved: perhaps without descriptors.
import concurrent.futures.thread  # noqa: F401
import encodings.idna  # noqa: F401
import errno
import fcntl
import gc
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from node.config import NodeConfig
from node.effects import ShutdownRequested, Stop, Trace, TraceValue
from node.ids import METADATA_LOG, Endpoint, Now
from node.server.directories import (
    check_apart,
    log_directories,
    metadata_directory,
    new_directory_id,
)
from node.server.listener import (
    BACKLOG,
    accept_from,
    bind,
    descriptors_beside,
    take_all_descriptors,
)
from node.server.metrics import Meter, exposition, serve_metrics
from node.server.outcome import Refusal, die, last_stop
from node.server.output import NoticeKind, Notices, Outlet, TraceWriter, as_text
from node.server.peer_links import PeerLinks, TcpDial
from node.server.real_disk import RealDisk
from node.server.recovered import (
    AnyNode,
    Recovered,
    broker_on,
    combined_on,
    node_on,
    recover,
    recover_replicas,
    start_lines,
    stop_line,
)
from node.server.shell import Shell, read_clocks
from node.server.tcp import Connections
from node.storage.log_directories import LogDirectories
from node.wire import load_codecs
from node.wire.apis import APIS, BY_REQUEST

LOCK_FILE = ".lock"
# The interval of the check for silent connections.
IDLE_LOOK_S = 1.0
# A starting node has more urgent work than to load codecs; all are there after some ten seconds.
LOAD_AFTER_S = 2.0
LOAD_PAUSE_S = 0.02
STDOUT, STDERR = 1, 2


def serve(config: NodeConfig) -> int:
    """Run until the node stops; returns its exit code. Raises Refusal, StorageError or OSError
    before.
    """
    disks = _disks(config)
    take_all_descriptors()
    locks = [lock_directory(disk.root) for disk in disks.values()]
    config = replace(config, metadata_log_dir=metadata_directory(config, disks))
    found = recover(config, disks[config.log_dir], new_directory_id())
    replicas = None
    if config.role is not None:
        directories = log_directories(config, found.meta, disks, new_directory_id)
        replicas = recover_replicas(config.role, directories)
    sys.stderr = as_text(Outlet(STDERR, lambda _: None))
    try:
        stop = asyncio.run(_run(config, found, replicas))
    finally:
        for lock in locks:
            os.close(lock)
    return stop.code


def _disks(config: NodeConfig) -> Mapping[str, RealDisk]:
    """Raises Refusal."""
    disks = {path: RealDisk(Path(path)) for path in config.directories}
    for path, disk in disks.items():
        if not disk.root.is_dir():
            raise Refusal(
                what="the log directory does not exist",
                where=path,
                next_step="mount its disk; or, if the node is new: kraft-node format -t CLUSTER_ID"
                " -c FILE --initial-controllers ...",
            )
    check_apart(config)
    return disks


def lock_directory(directory: Path) -> int:
    """Two processes would overwrite each other's log. The descriptor holds the lock."""
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Refusal(
            what="the log directory is used by another process",
            where=str(directory / LOCK_FILE),
            next_step=f"find it with: fuser {directory / LOCK_FILE}",
        ) from error
    return descriptor


async def _run(config: NodeConfig, found: Recovered, replicas: LogDirectories | None) -> Stop:
    loop = asyncio.get_running_loop()
    name = str(config.node_id)
    loop.set_exception_handler(partial(_on_exception, name))
    stopped: asyncio.Future[Stop] = loop.create_future()
    incarnation = uuid4()
    meter = Meter(read_clocks())
    notices = Notices(partial(_say, name), time.monotonic_ns)
    listen = partial(_hear, name, meter, notices)
    told = Outlet(STDOUT, partial(_say, name))
    traces = TraceWriter(found.disk_key, incarnation, told.write, listen=listen)
    for line in start_lines(found):
        traces.add(line, read_clocks())
    node = _node(config, found, replicas, incarnation)
    shell = Shell(
        node=node,
        logs={METADATA_LOG: found.log},
        replicas=replicas,
        elections=found.elections,
        traces=traces,
        meter=meter,
        stop=partial(end, stopped),
        open_listeners=lambda opened: open_listeners(opened.names),
    )
    inner = config.inner_listeners
    connections = Connections(
        shell.feed, time.monotonic_ns, loop.call_soon, config.limits, inner, notices
    )
    dial = TcpDial(config.timeouts.request_ms / 1000)
    peers = PeerLinks(shell.feed, dial)
    listening = _listen(config, _descriptors(found, replicas))
    scraped = _listen_at(config.metrics) if config.metrics is not None else []
    tasks: list[asyncio.Task[None]] = []

    def begin(service: Coroutine[Any, Any, None]) -> None:
        tasks.append(loop.create_task(service))
        tasks[-1].add_done_callback(partial(_on_end, name))

    def open_listeners(names: frozenset[str]) -> None:
        for listener, at in listening:
            if listener in names:
                at.listen(BACKLOG)
                begin(accept_from(at, listener, connections, descriptors))
        _say(name, f"serving on {_list(each for each in config.listeners if each.name in names)}")

    descriptors = partial(_descriptors, found, replicas)
    for at in scraped:
        begin(serve_metrics(at, partial(_metrics, node, meter)))
    begin(_close_idle(connections))
    begin(_load_codecs(config))
    _stop_on_signals(shell, config, partial(end, stopped))
    shell.start(connections, peers)
    open_now = frozenset(at.name for at in config.listeners) - config.opened_later
    if open_now:
        open_listeners(open_now)
    stop = await stopped
    close(name, tasks, [*scraped, *(at for _, at in listening)])
    traces.add(stop_line(stop), read_clocks())
    traces.flush()
    told.finish()
    sys.stderr.write(f"kraft-node {name}: stopped, {stop.reason}\n")
    return stop


def close(
    name: str, tasks: Iterable["asyncio.Task[None]"], listening: Iterable[socket.socket]
) -> None:
    """The node has stopped: what that breaks off is no failure of it. A client that connects at
    this moment is accepted for a task that is cancelled (asyncio's InvalidStateError).
    """
    asyncio.get_running_loop().set_exception_handler(partial(_tell_late, name))
    for task in tasks:
        task.cancel()
    for at in listening:
        at.close()


def _tell_late(name: str, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    what = context.get("exception") or context["message"]
    sys.stderr.write(f"kraft-node {name}: broken off as it ended: {what!r}\n")


def _node(
    config: NodeConfig, found: Recovered, replicas: LogDirectories | None, incarnation: UUID
) -> AnyNode:
    if config.role is None or replicas is None:
        return node_on(found, config, random.Random(), incarnation)
    begin = combined_on if config.is_controller else broker_on
    return begin(found, replicas, config, config.role, random.Random(), incarnation)


def _listen(config: NodeConfig, left: int) -> list[tuple[str, socket.socket]]:
    """Each listener's name and socket; `left` are the descriptors for connections. Raises
    Refusal.
    """
    if left < 1:
        raise Refusal(
            what=f"there are {1 - left} file descriptors too few to accept a single connection",
            where="the limit of open files (RLIMIT_NOFILE)",
            next_step="ulimit -n 1024, or more; then start the node again",
        )
    return [
        (endpoint.name, at)
        for endpoint in config.listeners
        for at in _listen_at(endpoint, is_open=endpoint.name not in config.opened_later)
    ]


def _listen_at(endpoint: Endpoint, *, is_open: bool = True) -> list[socket.socket]:
    """Raises Refusal."""
    try:
        return bind(endpoint, is_open=is_open)
    except OSError as error:
        raise Refusal(
            what=f"cannot listen: {error.strerror or error}",
            where=f"listener {endpoint.name}://{endpoint.host}:{endpoint.port}",
            next_step=_where_else(endpoint, error),
        ) from error


def _where_else(endpoint: Endpoint, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"stop what listens there; find it with: ss -ltnp 'sport = :{endpoint.port}'"
    return "set listeners to an address and port that this node may use; list them with: ip address"


def _metrics(node: AnyNode, meter: Meter) -> str:
    mono_ns = read_clocks().mono_ns
    return exposition({**node.core.gauges(mono_ns), **meter.measured(mono_ns)})


def _descriptors(found: Recovered, replicas: LogDirectories | None) -> int:
    """The descriptors for connections: each segment of the metadata log, each replica's log and the
    lock of each further log directory holds one.
    """
    of_replicas = 0 if replicas is None else replicas.files() + len(replicas.directories) - 1
    return descriptors_beside(len(found.log.segments) + of_replicas)


async def _close_idle(connections: Connections) -> None:
    while True:
        await asyncio.sleep(IDLE_LOOK_S)
        connections.close_idle()


async def _load_codecs(config: NodeConfig) -> None:
    """Load all of them, soon: later only reserved descriptors may be left for their modules, and a
    request that needs one would wait for it. That takes a second of a processor, which a starting
    node does not let its cluster wait for. A controller reads no partition's records.
    """
    await asyncio.sleep(LOAD_AFTER_S)
    for _ in load_codecs(APIS if config.role is None else BY_REQUEST.values()):
        await asyncio.sleep(LOAD_PAUSE_S)
    gc.freeze()  # they stay: no collection need look at them again


def _on_end(name: str, task: "asyncio.Task[None]") -> None:
    """If a listener ends, the node would no longer be reachable by it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        die(name, error)


def end(stopped: asyncio.Future[Stop], stop: Stop) -> None:
    """By the first of these: the node may be done as its time runs out."""
    if not stopped.done():
        stopped.set_result(stop)


def _stop_on_signals(shell: Shell, config: NodeConfig, stop: Callable[[Stop], None]) -> None:
    """SIGTERM and SIGINT, even if a shell passed SIGINT on ignored."""
    loop = asyncio.get_running_loop()
    within_s, last = last_stop(config)

    def request(received: signal.Signals) -> None:
        sys.stderr.write(f"kraft-node: {received.name}, shutting down\n")
        shell.feed(ShutdownRequested())
        loop.call_later(within_s, stop, last)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, request, number)


def _on_exception(name: str, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Any unexpected exception ends the node."""
    die(name, context.get("exception") or RuntimeError(context["message"]))


def _hear(name: str, meter: Meter, notices: Notices, trace: Trace, now: Now) -> None:
    meter.on_trace(trace, now)
    if trace.event == "n.oversized":
        line = f"hung up on what is {trace.fields['reason']}: it is to ask for less at once"
        notices.add(NoticeKind.TOO_LARGE, line)
    _tell(name, trace)


def _tell(name: str, trace: Trace) -> None:
    """What an operator should know of a trace."""
    match trace.event:
        case "q.unfit":
            text = _unfit(trace.fields["offset"], trace.fields["record"])
        case "n.reindexed":
            segment, reason = trace.fields["segment"], trace.fields["reason"]
            text = f"the indexes of {segment} were made anew, and nothing was lost: {reason}"
        case "n.rotten":
            text = (
                f"{trace.fields['log']} is not served where it is damaged: {trace.fields['reason']}"
            )
        case "b.unregistered":
            text = (
                "an operator unregistered this broker: it leads nothing and is in no ISR; stop it,"
                " or start it anew to have it registered again"
            )
        case "b.following":
            text = _following(
                trace.fields["leader"], trace.fields["partitions"], trace.fields["trouble"]
            )
        case "b.asking":
            text = _asking(
                trace.fields["controller"], trace.fields["asked"], trace.fields["trouble"]
            )
        case _:
            return
    _say(name, text)


def _say(name: str, line: str) -> None:
    sys.stderr.write(f"kraft-node {name}: {line}\n")


def _unfit(offset: TraceValue, record: TraceValue) -> str:
    if offset == -1:
        return "what it could not replay is no longer in its log: it may stand for election"
    return (
        f"the log holds a {record} at offset {offset}, which this node cannot replay:"
        " it follows and votes, and does not stand for election"
    )


def _following(leader: TraceValue, partitions: TraceValue, trouble: TraceValue) -> str:
    if not trouble:
        return f"follows node {leader} again, which leads {partitions} of its partitions"
    return (
        f"cannot follow node {leader}, which leads {partitions} of its partitions: {trouble}."
        f" It tries again; see whether node {leader} runs, and what it says on stderr"
    )


def _asking(controller: TraceValue, asked: TraceValue, trouble: TraceValue) -> str:
    if not trouble:
        return f"the active controller at {controller} answers again"
    return (
        f"the active controller at {controller} does not answer {asked}: {trouble}. It is asked"
        " again; see whether it runs, and what it says on stderr"
    )


def _list(endpoints: Iterable[Endpoint]) -> str:
    return ", ".join(f"{e.name}://{e.host}:{e.port}" for e in endpoints)
