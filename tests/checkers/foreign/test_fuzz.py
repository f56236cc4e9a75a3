"""Random damage to good files gives a history that can be judged, or the one documented error."""

import random
from pathlib import Path

import pytest
import zstandard

from checkers.foreign import Declared, UnreadableHistoryError, judge, read_history
from checkers.history.calls import NEVER, Calls
from tests.fuzz.damaged_histories import damaged
from tests.support.foreign import ALL

ROUNDS = 300


def require_sound(calls: Calls) -> None:
    """Whatever was accepted is a history that a checker can take."""
    assert len(calls) > 0
    assert len(calls.step_from) == len(calls) + 1
    assert calls.step_from[-1] == len(calls.kind) == len(calls.key) == len(calls.value)
    assert (calls.complete > calls.invoke).all()
    times = [*calls.invoke.tolist(), *calls.complete[calls.complete != NEVER].tolist()]
    assert len(set(times)) == len(times)
    assert (calls.key < len(calls.keys)).all()
    assert (calls.value < len(calls.values)).all()
    assert (calls.line > 0).all()


@pytest.mark.parametrize("name", ALL)
def test_damage_is_found_or_harmless(tmp_path: Path, name: str) -> None:
    rng = random.Random(f"damage:{name}")
    path = tmp_path / name
    refusals = []
    for _ in range(ROUNDS):
        path.write_bytes(damaged(rng, ALL[name].encode()))
        try:
            history = read_history(path, Declared())
        except UnreadableHistoryError as error:
            refusals.append(str(error))
        else:
            if isinstance(history.calls, Calls):
                require_sound(history.calls)
            judge(history)
    assert all(said.startswith(str(path)) and said.isprintable() for said in refusals)
    assert ROUNDS // 4 < len(refusals) < ROUNDS


def test_damage_to_a_packed_file_is_always_found(tmp_path: Path) -> None:
    rng = random.Random("damage:packed")
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    path = tmp_path / "events-ops.jsonl.zst"
    good = compressor.compress(ALL["events.jsonl"].encode())
    for _ in range(ROUNDS):
        at = rng.randrange(len(good))
        path.write_bytes(good[:at] + bytes([good[at] ^ rng.randint(1, 255)]) + good[at + 1 :])
        with pytest.raises(UnreadableHistoryError):
            read_history(path, Declared())
