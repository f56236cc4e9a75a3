"""toxiproxy's counters, as it writes them."""

from chaos.cluster.docker.toxiproxy_api import Counters, Stream, parse
from chaos.cluster.fault_evidence import Passage

TEXT = """\
# HELP toxiproxy_proxy_received_bytes_total Number of bytes received by proxies.
# TYPE toxiproxy_proxy_received_bytes_total counter
toxiproxy_proxy_received_bytes_total{direction="downstream",listener="198.18.0.18:9102",proxy="link-1-2",upstream="198.18.0.35:9102"} 1000
toxiproxy_proxy_received_bytes_total{direction="upstream",listener="198.18.0.18:9102",proxy="link-1-2",upstream="198.18.0.35:9102"} 1.5e+06
toxiproxy_proxy_sent_bytes_total{direction="downstream",listener="198.18.0.18:9102",proxy="link-1-2",upstream="198.18.0.35:9102"} 1000
toxiproxy_proxy_sent_bytes_total{direction="upstream",listener="198.18.0.18:9102",proxy="link-1-2",upstream="198.18.0.35:9102"} 1000
go_gc_duration_seconds{quantile="0"} 0.1
"""  # noqa: E501 - lines of the server


def test_bytes_are_told_by_proxy_and_stream() -> None:
    counters = parse(TEXT)
    assert counters.of("link-1-2", Stream.UPSTREAM) == Passage(1_500_000, 1000)
    assert counters.of("link-1-2", Stream.DOWNSTREAM).swallowed == 0
    assert counters.of("link-2-1", Stream.UPSTREAM) == Passage()


def test_differences_count_from_a_moment_on() -> None:
    assert (Passage(10, 7) - Passage(4, 4)).swallowed == 3


def test_counters_can_be_remembered() -> None:
    counters = parse(TEXT)
    assert Counters.from_json(counters.as_json()) == counters
