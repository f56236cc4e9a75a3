"""A small share of `python -m tests.fuzz.broker_requests`, and proof that it can tell a lie."""

from typing import get_args

import pytest

from node.broker.requests.produce import ProduceRequests
from node.records import batch
from node.storage import partition_recovery
from node.storage.segment import scan_batches
from node.wire.apis import BROKER_APIS, ForwardedRequest
from tests.fuzz.broker_requests import SESSION, fuzz
from tests.fuzz.sessions import Surprise

SESSIONS = range(80)  # in 50 a version of a rare request may not come up


def test_a_broker_outlives_requests_at_every_limit() -> None:
    tally = fuzz(seed=1, numbers=SESSIONS)
    served = {
        f"{api.name} {version}"
        for api in BROKER_APIS
        if api.request not in get_args(ForwardedRequest)
        for version in range(api.min_version, api.max_version + 1)
    }
    assert served <= set(tally.answered)
    assert {api.name for api in BROKER_APIS} <= {each.split()[0] for each in tally.answered}
    assert tally.counts.total() + tally.given_up.total() > 0.9 * SESSION * len(SESSIONS)
    # Deep enough: records are in logs, and groups have members.
    assert tally.appended > 200
    assert tally.done["SyncGroup"] > 0
    for name in ("Produce", "Fetch", "DeleteRecords", "JoinGroup", "OffsetCommit", "ListOffsets"):
        assert tally.done[name] > 5, name


def test_what_is_due_for_ever_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProduceRequests, "deadline_ns", lambda _: 0)
    with pytest.raises(Surprise, match="due for ever"):
        fuzz(seed=1, numbers=range(1))


def test_answers_that_cannot_be_written_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_int64", lambda value: value)
    with pytest.raises(Surprise, match="hung up on a sound request"):
        fuzz(seed=1, numbers=range(400, 450))


def test_logs_that_are_opened_otherwise_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        partition_recovery, "scan_batches", lambda file: list(scan_batches(file))[:-1]
    )
    with pytest.raises(Surprise, match="reads others"):
        fuzz(seed=1, numbers=range(1))
