"""A small share of `python -m tests.fuzz.requests`, and proof that it can tell a lie."""

import re

import pytest

from node import limits
from node.controller import config_definitions, writes
from node.wire.apis import APIS
from tests.fuzz.requests import SESSION, fuzz
from tests.fuzz.sessions import Surprise

SESSIONS = range(75)
WRITTEN = {
    "Config",
    "FeatureLevel",
    "Topic",
    "RemoveTopic",
    "Partition",
    "PartitionChange",
    "RegisterBroker",
    "BrokerRegistrationChange",
    "UnregisterBroker",
    "RegisterController",
    "ProducerIds",
}


def test_the_node_outlives_requests_at_every_limit() -> None:
    tally = fuzz(seed=1, numbers=SESSIONS)
    served = {
        f"{api.name} {version}"
        for api in APIS
        for version in range(api.min_version, api.max_version + 1)
    }
    assert set(tally.answered) == served
    assert tally.counts["answered"] + tally.counts["hung up on"] == SESSION * len(SESSIONS)
    # A voter hears nothing from the node meanwhile, and waits for two seconds.
    assert tally.slowest[0] < 2.0
    # Deep enough: configs were written and refused, and there is something to describe.
    assert {0, 40, 42} <= set(tally.altered)
    assert tally.counts["resources described in every version"] > 100
    assert tally.written.keys() >= WRITTEN


def test_a_key_that_nobody_bounds_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CONFIG_KEY_BYTES", 1 << 30)
    monkeypatch.setattr(writes, "_check_strings", lambda _records: None)
    with pytest.raises(Surprise, match=r"string of|argument out of range|format requires"):
        fuzz(seed=1, numbers=SESSIONS)


def test_a_value_that_older_versions_cannot_tell_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_STRING_BYTES", 1 << 30)
    with pytest.raises(Surprise, match=r"string of|argument out of range|format requires"):
        fuzz(seed=1, numbers=SESSIONS)


def test_a_pattern_that_ends_the_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiles(expression: str) -> bool:
        try:
            return bool(re.compile(expression))
        except re.error:
            return False

    monkeypatch.setattr(config_definitions, "_compiles", compiles)
    with pytest.raises(Surprise, match=r"OverflowError|RecursionError|ValueError|FutureWarning"):
        fuzz(seed=1, numbers=SESSIONS)
