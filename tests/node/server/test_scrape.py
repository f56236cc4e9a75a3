"""A real node that Prometheus scrapes."""

import asyncio
import socket
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from node.server.metrics import METRICS, SCRAPES, metric_name, serve_metrics
from tests.node.server.test_metrics import SAMPLE
from tests.support.ports import give_back_ports, take_ports
from tests.support.quorum_processes import (
    QuorumProcesses,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    wait_until,
)

SCRAPE = b"GET /metrics HTTP/1.1\r\n\r\n"


@contextmanager
def one_port() -> Iterator[int]:
    (port,) = take_ports(1)
    try:
        yield port
    finally:
        give_back_ports([port])


def scraped(port: int) -> dict[str, str]:
    """Each sample's value, or the word in its label."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = answer.read().decode().splitlines()
    samples = [SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    return {
        found[1]: found[2].split('"')[1] if found[2] else found[3]
        for found in samples
        if found is not None
    }


@pytest.mark.slow
def test_a_node_tells_what_describe_tells(tmp_path: Path) -> None:
    # Without no-ops, by which its log would grow between two looks.
    with one_port() as port:
        settings = f"metrics.listener=127.0.0.1:{port}\nmetadata.max.idle.interval.ms=0\n"
        with quorum_processes(tmp_path, 1, settings) as quorum:
            told = wait_until(lambda: settled(quorum, port), "a write, and all is committed")
            seen = quorum.leadership()
            assert set(told) == {metric_name(metric) for metric in METRICS}
            by_name = {metric.name: told[metric_name(metric)] for metric in METRICS}
            assert by_name["current-state"] == "leader"
            assert by_name["current-leader"] == by_name["current-vote"] == "1"
            assert int(by_name["current-epoch"]) == seen.epoch
            assert int(by_name["high-watermark"]) == seen.high_watermark
            assert float(by_name["append-records-rate"]) > 0
            assert float(by_name["commit-latency-max"]) > 0
            assert 0 <= float(by_name["poll-idle-ratio-avg"]) <= 1


def settled(quorum: QuorumProcesses, port: int) -> dict[str, str] | None:
    """What is told after a write of just now, which is measured, and the last there is."""
    quorum.write("r", 1000)
    told = scraped(port)
    measured, end, committed = (
        told[f"kafka_server_raft_metrics_{name}"]
        for name in ("commit_latency_max", "log_end_offset", "high_watermark")
    )
    return told if end == committed and measured != "NaN" else None


@pytest.mark.slow
def test_a_node_says_which_address_it_cannot_have(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        quorum = make_quorum(tmp_path, 1, f"metrics.listener=127.0.0.1:{port}\n")
        try:
            done = run_kraft_node("start", "-c", quorum.nodes[1].config)
        finally:
            give_back_ports(quorum.ports)
    assert done.returncode != 0
    assert f"listener METRICS://127.0.0.1:{port}" in done.stderr


@asynccontextmanager
async def served(patience_s: float) -> AsyncIterator[tuple[str, int]]:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    serving = asyncio.create_task(serve_metrics(listening, lambda: "told\n", patience_s))
    yield listening.getsockname()
    assert not serving.done()
    serving.cancel()
    listening.close()


def test_others_are_served_while_many_say_nothing() -> None:
    async def story() -> None:
        async with served(3600) as at:
            with ExitStack() as held:
                silent = [
                    held.enter_context(closing(socket.create_connection(at, timeout=60)))
                    for _ in range(3 * SCRAPES)
                ]
                told = await asyncio.to_thread(answer_at, at)
                assert told.endswith(b"\r\n\r\ntold\n")
                # Few are open at once: whoever was waited for longest is hung up on.
                assert await asyncio.to_thread(silent[0].recv, 1) == b""
                silent[-1].sendall(SCRAPE)
                assert (await asyncio.to_thread(silent[-1].recv, 4096)).startswith(b"HTTP/1.1 200")

    asyncio.run(story())


def test_who_says_nothing_is_hung_up_on() -> None:
    async def story() -> None:
        async with served(0.01) as at:
            with socket.create_connection(at, timeout=60) as silent:
                assert await asyncio.to_thread(silent.recv, 1) == b""

    asyncio.run(story())


def answer_at(at: tuple[str, int]) -> bytes:
    """b"" where it hangs up."""
    with socket.create_connection(at, timeout=60) as asking:
        try:
            asking.sendall(SCRAPE)
            return b"".join(iter(lambda: asking.recv(4096), b""))
        except ConnectionError:
            return b""
