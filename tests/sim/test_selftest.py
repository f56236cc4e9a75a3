"""The kill table in virtual time: every planted bug is found, and the correct node is valid."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.mutations.catalogue import IN_CONTAINERS, MUTATIONS
from chaos.mutations.in_brokers import IN_BROKERS
from chaos.selftest.kill_table import SuspectKind
from chaos.selftest.suspects import SelftestArguments, suspects
from chaos.selftest.trying import KEPT

# A leader that believes what followers tell it: what the others hold is seen from inside.
INSIDE_ONLY = {"P-DIVERGE-ACK"}

SIMULATED_ONLY = {
    *("Q-VOTE-UNFLUSHED", "Q-PREVOTE-GREEDY", "Q-EPOCH-MIX", "Q-PURGATORY"),
    *("V-NO-EPOCH-COMMIT", "V-TWO-PENDING", "V-NO-UNDO", "V-COMMIT-ONLY"),
    *("V-LAG", "V-BAD-ENDPOINT", "Q-HWM-DOWN", "V-TOLD-OLD"),
    *(one.id for one in IN_BROKERS),
} - {"P-HWM-MINISR", "P-STALE-EPOCH", "P-TRUNC-HWM", "E-NO-DETECT"}


def asked(runtime: str, *mutations: str) -> SelftestArguments:
    return SelftestArguments(
        mutations=mutations, tries=None, seed=1, out=Path(), as_json=True, runtime=runtime
    )


def test_virtual_time_shows_all_and_containers_those_that_were_measured_there() -> None:
    planted = {
        runtime: [each.id for each in suspects(asked(runtime)) if each.kind is SuspectKind.MUTATION]
        for runtime in ("sim", "docker")
    }
    assert planted["sim"] == list(MUTATIONS)
    assert planted["docker"] == list(IN_CONTAINERS)
    assert set(MUTATIONS) - set(IN_CONTAINERS) == SIMULATED_ONLY


def test_the_correct_node_is_given_every_scenario_of_the_table() -> None:
    found = suspects(asked("sim"))
    told = [
        [(it.scenario, it.nodes, dict(it.settings)) for it in found if it.kind is kind]
        for kind in (SuspectKind.CORRECT, SuspectKind.MUTATION)
    ]
    assert all(each in told[0] for each in told[1])
    assert all(each in told[1] for each in told[0])


def test_what_shows_in_virtual_time_only_is_refused_in_containers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["selftest", "--mutation", "Q-PURGATORY", "--runtime", "docker"]) == 254
    assert "Q-PURGATORY shows in virtual time only" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(3600)  # some ten minutes of one core, and some are slower
def test_every_bug_is_found_and_the_correct_node_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["selftest", "--runtime", "sim", "--json", "--out", str(tmp_path)])
    table = json.loads(capsys.readouterr().out)
    wrong = [row for row in table["rows"] if not row["holds"]]
    assert (code, wrong) == (0, [])
    assert json.loads((tmp_path / KEPT).read_text()) == table
    rows = {row["id"]: row for row in table["rows"] if row["kind"] == "mutation"}
    assert list(rows) == list(MUTATIONS)
    for name, row in rows.items():
        assert row["accused_by_named"] or name in INSIDE_ONLY, f"{name} was seen from inside only"
        assert row["seeds"] == list(range(1, row["tries"] + 1))
    assert rows["Q-SAME-EPOCH"]["inside_named"] == ["Q17-no-leader-again"]
    assert rows["P-STALE-EPOCH"]["inside_named"] == ["P4-joined-by-this-life"]
    assert rows["P-STAY-FENCED"]["inside_named"] == ["P18-brokers-are-let-in"]
    assert rows["E-NO-DETECT"]["inside_named"] == ["E5-unclean-registration-drops"]
    either = {"Q4-elected-by-a-majority", "Q9-committed-by-majority"}  # whichever comes first
    assert either & set(rows["Q-HALF-MAJORITY"]["inside"]), "seen from inside and from outside"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("mutation", "seed", "check"),
    [
        ("V-REFORMAT", 0, "Q19-voters-stand-for-election"),
        ("V-TWO-PENDING", 29, "V2-one-change-uncommitted"),
        ("V-NO-UNDO", 31, "V4-voters-of-the-log"),
    ],
)
def test_the_swarm_finds_bugs_of_voters_within_a_hundred_seeds(
    mutation: str, seed: int, check: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the seeds of `docs/planted-bugs.md`. Where a change of the swarm moves them, they are to
    be looked for again, by `--seed 0 --tries 100`."""
    options = ["--runtime", "sim", "--scenario", "swarm", "--duration", "8", "--tries", "1"]
    wanted = [*options, "--seed", str(seed), "--mutation", mutation, "--out", str(tmp_path)]
    assert main(["selftest", *wanted, "--json"]) == 0
    (row,) = (
        each for each in json.loads(capsys.readouterr().out)["rows"] if each["id"] == mutation
    )
    assert check in row["accused_by_named"]
