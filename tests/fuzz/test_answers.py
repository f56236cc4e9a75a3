"""A small share of `python -m tests.fuzz.answers`, and proof that it can tell a lie."""

import pytest

from node.ids import Epoch, LogPosition
from node.raft import fetch_follower
from node.raft.fetch_follower import Fetched
from node.raft.roles import LAST_EPOCH
from node.records.batch import Batch
from tests.fuzz.answers import fuzz
from tests.fuzz.sessions import Surprise

SESSIONS = range(70)


def test_a_voter_outlives_what_the_others_answer() -> None:
    counts = fuzz(seed=1, numbers=SESSIONS)
    assert counts["answers to Fetch"] > 1000
    assert counts["answers to Vote"] > 100
    assert counts["answers to BeginQuorumEpoch"] > 10
    assert counts["batches in the log"] > 100
    assert counts["logs that only others can replay"] > 0


def test_batches_of_any_epoch_in_the_log_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sound_batches = fetch_follower.sound_batches

    def take_any(data: bytes, end: LogPosition, _epoch: Epoch) -> Fetched:
        return sound_batches(data, LogPosition(Epoch(-1), end.offset), LAST_EPOCH)

    monkeypatch.setattr(fetch_follower, "sound_batches", take_any)
    with pytest.raises(Surprise, match="an epoch that goes down"):
        fuzz(seed=1, numbers=SESSIONS)


def test_records_that_nobody_can_replay_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def take_anything(_batch: Batch) -> None:
        pass

    monkeypatch.setattr(fetch_follower, "check_contents", take_anything)
    with pytest.raises(Surprise, match=r"MalformedRecord|DamagedBatch|DamagedError"):
        fuzz(seed=1, numbers=SESSIONS)
