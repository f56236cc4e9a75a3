"""What a storm finds, and one that is short."""

import subprocess
import sys

import pytest

from tests.fuzz.sessions import Surprise
from tests.fuzz.storms import Written, check_stored
from tests.support.quorum_processes import ROOT

# Two producers, one of which writes to two partitions.
SAID = {"0-0": (0, 0), "0-1": (1, 0), "0-2": (0, 1), "1-0": (3, 7)}
WRITTEN = Written(acknowledged=SAID)
KEPT = {key: [at] for key, at in SAID.items()}


def test_what_was_kept_is_no_surprise() -> None:
    check_stored(WRITTEN, KEPT)
    check_stored(WRITTEN, KEPT | {"0-3": [(0, 2)]})  # not acknowledged, and there


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ({**KEPT, "1-0": [(3, 8)]}, "1 records are elsewhere"),
        ({key: at for key, at in KEPT.items() if key != "0-2"}, "LOST: 1 acknowledged"),
        ({**KEPT, "0-1": [(1, 0), (1, 4)]}, "1 records are there twice"),
        ({**KEPT, "0-7": [(0, 5)], "0-9": [(0, 4)]}, "producer 0 is out of order in partition 0"),
    ],
)
def test_what_was_not_is_one(stored: dict[str, list[tuple[int, int]]], why: str) -> None:
    with pytest.raises(Surprise, match=why):
        check_stored(WRITTEN, stored)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("layout", ["separate", "combined"])
def test_a_short_storm_loses_nothing(layout: str) -> None:
    words = ("--layout", layout, "--storms", "1", "--seconds", "3")
    command = [sys.executable, "-m", "tests.fuzz.storms", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 storms: " in done.stdout
    assert "0 lost, 0 accused" in done.stdout
