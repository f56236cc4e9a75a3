"""Metrics in Prometheus' format, the page about them, and the answers to those who ask."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.server.metrics import METRICS, as_markdown, exposition, metric_name, response_to
from tests.support.generated_page import hold_page

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z_]+="[^"\\\n]*"\})? (NaN|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)')


def test_the_page_says_what_the_metrics_are(pytestconfig: pytest.Config) -> None:
    hold_page(pytestconfig, "metrics.md", "tests/node/server/test_metrics.py", as_markdown())


def test_a_metric_has_help_type_and_one_sample() -> None:
    values: dict[str, float | str] = {
        "current-state": "follower",
        "commit-latency-avg": float("nan"),
        "log-end-epoch": 3,
    }
    assert exposition(values).splitlines()[:3] == [
        "# HELP kafka_server_raft_metrics_current_state current-state (KIP-595): leader, follower,"
        " candidate, prospective, prospective-voted, observer, unattached or unattached-voted;"
        " unattached too of a leader that resigned.",
        "# TYPE kafka_server_raft_metrics_current_state gauge",
        'kafka_server_raft_metrics_current_state{current_state="follower"} 1',
    ]
    samples = [line for line in exposition(values).splitlines() if not line.startswith("#")]
    assert samples[1:] == [
        "kafka_server_raft_metrics_log_end_epoch 3",
        "kafka_server_raft_metrics_commit_latency_avg NaN",
    ]


@given(st.floats(allow_infinity=False))
def test_every_number_is_one_that_prometheus_reads(value: float) -> None:
    line = exposition({"poll-idle-ratio-avg": value}).splitlines()[-1]
    assert SAMPLE.fullmatch(line), line


def test_no_two_metrics_have_one_name() -> None:
    assert len({metric_name(metric) for metric in METRICS}) == len(METRICS)


def test_what_nobody_described_is_not_told() -> None:
    with pytest.raises(AssertionError, match="not all among the metrics"):
        exposition({"current-lieder": 1})


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /metrics HTTP/1.1", b"200 OK"),
        (b"GET /metrics?name[]=x HTTP/1.0", b"200 OK"),
        (b"HEAD /metrics HTTP/1.1", b"200 OK"),
        (b"GET /metricsx HTTP/1.1", b"404 Not Found"),
        (b"GET / HTTP/1.1", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed"),
        (b"GET /metrics", b"400 Bad Request"),
        (b"GET  /metrics HTTP/1.1", b"400 Bad Request"),
        (b"", b"400 Bad Request"),
    ],
)
def test_who_asks_is_told_or_refused(request_line: bytes, status: bytes) -> None:
    answer = response_to(request_line + b"\r\nHost: here\r\n\r\n", lambda: "told\n")
    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    is_told = status == b"200 OK"
    if request_line.startswith(b"HEAD"):
        assert body == b""
    else:
        assert f"\r\nContent-Length: {len(body)}\r\n".encode() in head
        assert (body == b"told\n") == is_told


@given(st.binary())
def test_whatever_is_sent_has_an_answer(head: bytes) -> None:
    assert re.match(rb"HTTP/1\.1 [24]0\d ", response_to(head, lambda: ""))


def test_a_request_that_is_cut_off_is_refused() -> None:
    whole = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"
    for size in range(len(whole)):
        assert response_to(whole[:size], lambda: "").startswith(b"HTTP/1.1 400 ")
