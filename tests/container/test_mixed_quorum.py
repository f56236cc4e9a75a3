"""Our nodes and controllers of Apache Kafka in one quorum, and a broker of Apache Kafka beside it.

Who leads is chance: a run in which one side never did is void, and done again with another seed.
So is one in which another test synced the machine between the overwriting of a canary and the cut.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from tests.support.readme import MIXED, command_of

TRIES = 3
LED, CREATED = "each-side-led", "each-side-created-topics"
NO_COMPLAINT = "no-complaint-in-logs"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session", autouse=True)
def _images() -> None:
    prepare(print, NEWEST, of_both=True)


def rows_of(
    out: Path, capsys: pytest.CaptureFixture[str], asked: list[str], first_seed: int = 1
) -> dict[str, dict[str, Any]]:
    """Of a valid run, by check."""
    for seed in range(first_seed, first_seed + TRIES):
        capsys.readouterr()
        main([*asked, "--seed", str(seed), "--json", "--out", str(out)])
        verdict = json.loads(capsys.readouterr().out)
        rows = {row["check"]: row for row in verdict["results"]}
        if verdict["verdict"] != "void":
            assert verdict["verdict"] == "valid", verdict["sentence"]
            return rows
    raise AssertionError(f"none of {TRIES} runs says anything; the last: {verdict['sentence']}")


@pytest.mark.longest
def test_each_side_leads_what_the_other_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command of the README."""
    *asked, option, seed = command_of(MIXED)
    assert option == "--seed"
    rows = rows_of(tmp_path, capsys, asked, int(seed))
    assert rows["faults-bit"]["looked_at"] > 0
    assert rows[LED]["looked_at"] > 1
    assert rows[NO_COMPLAINT]["looked_at"] > 3  # processes
    assert rows["M1-metadata-logs-agree"]["looked_at"] > 0
    assert rows["durability"]["looked_at"] > 100


@pytest.mark.night
@pytest.mark.longest
def test_a_broker_of_apache_kafka_is_served_by_either_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["run", "mixed-broker", "--target", "mixed", "--duration", "40"]
    rows = rows_of(tmp_path, capsys, asked)
    assert rows[LED]["looked_at"] > 1
    assert rows[NO_COMPLAINT]["looked_at"] > 4
    assert rows["log-durability"]["looked_at"] > 100
    assert rows["M6-acknowledged-topics-committed"]["looked_at"] > 3
    assert rows[CREATED]["looked_at"] > 3
