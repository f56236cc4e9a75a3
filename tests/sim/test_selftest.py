"""The kill table in virtual time: every planted bug is found, and the correct node is valid."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.bugs.broker_catalogue import IN_BROKERS
from chaos.bugs.catalogue import IN_CONTAINERS, MUTATIONS
from chaos.cli import main
from chaos.progress import ConsoleProgress
from chaos.scenarios import CONTROLLER_SCENARIOS
from chaos.selftest.kill_table import SuspectKind, SuspectRow
from chaos.selftest.suspects import SelftestArguments, Suspect, suspects
from chaos.selftest.trying import KEPT, row_of
from checkers.verdict import Verdict
from tests.sim.known_seeds import KNOWN

# A leader that believes what followers tell it: what the others hold is seen from inside.
INSIDE_ONLY = {
    "P-DIVERGE-ACK",
    # Answers that are not true, and of which nothing comes that is seen from outside.
    *("A-DENY-LEAD", "A-OUT-OF-ORDER", "A-OUT-OF-RANGE"),
    *("G-DISOWN", "G-OLD-GENERATION", "G-UNREST"),
    *("A-EPOCH-END", "A-DELETE-EARLY", "A-REFUSE-ISR", "A-STALE-BROKER"),
}

SIMULATED_ONLY = {
    *("Q-VOTE-UNFLUSHED", "Q-PREVOTE-GREEDY", "Q-EPOCH-MIX", "Q-PURGATORY"),
    *("V-NO-EPOCH-COMMIT", "V-TWO-PENDING", "V-NO-UNDO", "V-COMMIT-ONLY"),
    *("V-LAG", "V-BAD-ENDPOINT", "Q-HWM-DOWN", "V-TOLD-OLD"),
    *("A-ACK-WRITTEN", "A-DENY-CONTROL"),
    *(one.id for one in IN_BROKERS),
} - {"P-HWM-MINISR", "P-STALE-EPOCH", "P-TRUNC-HWM", "E-NO-DETECT"}

_LONG_S = 24.0
KNOWN_BY_LENGTH = [
    pytest.param(one, marks=pytest.mark.night) if KNOWN[one].duration_s >= _LONG_S else one
    for one in MUTATIONS
]


def asked(runtime: str, *mutations: str) -> SelftestArguments:
    return SelftestArguments(
        mutations=mutations, tries=None, seed=1, out=Path(), as_json=True, runtime=runtime
    )


def tried(suspect: Suspect, arguments: SelftestArguments, seed: int) -> SuspectRow:
    return row_of(suspect, replace(arguments, seed=seed), ConsoleProgress(quiet=True))


def correct_beside_brokers() -> list[Suspect]:
    """For as long as the longest run by which a bug is known to show there."""
    found = suspects(asked("sim"))
    lengths: dict[str, float] = {}
    for one in found:
        if one.kind is SuspectKind.MUTATION:
            place = f"{one.scenario} {sorted(one.settings.items())}"
            lengths[place] = max(lengths.get(place, 0.0), KNOWN[one.id].duration_s)
    return [
        replace(one, duration_s=lengths[f"{one.scenario} {sorted(one.settings.items())}"])
        for one in found
        if one.kind is SuspectKind.CORRECT and one.scenario not in CONTROLLER_SCENARIOS
    ]


def test_every_bug_has_a_seed_that_is_known_to_show_it() -> None:
    assert list(KNOWN) == list(MUTATIONS)


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
    undecided = [it for it in found if it.expected is not Verdict.VALID]
    assert [(it.scenario, it.expected) for it in undecided] == [("raised-min-isr", Verdict.UNKNOWN)]


def test_what_shows_in_virtual_time_only_is_refused_in_containers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["selftest", "--mutation", "Q-PURGATORY", "--runtime", "docker"]) == 254
    assert "Q-PURGATORY shows only in virtual time" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutation", KNOWN_BY_LENGTH)
def test_a_bug_is_found_by_the_seed_that_is_known_to_show_it(mutation: str, tmp_path: Path) -> None:
    """Or else by those that are tried anyway: any change of the node may move what a seed shows."""
    arguments = replace(asked("sim", mutation), out=tmp_path)
    (suspect,) = (one for one in suspects(arguments) if one.kind is SuspectKind.MUTATION)
    known = KNOWN[mutation]
    shown = tried(replace(suspect, duration_s=known.duration_s, tries=1), arguments, known.seed)
    if not shown.holds:
        moved = f"{mutation} shows no more by {known}: python -m tests.sim.known_seeds {mutation}"
        warnings.warn(moved, stacklevel=1)
        shown = tried(suspect, arguments, 1)
    assert shown.holds
    assert shown.by_name or mutation in INSIDE_ONLY, "seen from inside only"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "suspect", correct_beside_brokers(), ids=lambda one: "-".join((one.scenario, *one.settings))
)
def test_the_correct_node_is_not_accused_where_bugs_of_brokers_are_found(
    suspect: Suspect, tmp_path: Path
) -> None:
    """In the stories of quorums it is not either: `test_every_story_is_told_to_a_valid_end`."""
    shown = tried(suspect, replace(asked("sim"), out=tmp_path), 1)
    assert shown.holds, shown.last.sentence


# The whole table, by the seeds and at the lengths of docs/results/planted-bugs.md.
@pytest.mark.night
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
        pytest.param("V-REFORMAT", 0, "Q19-voters-stand-for-election", marks=pytest.mark.night),
        pytest.param("V-TWO-PENDING", 4, "V2-one-change-uncommitted", marks=pytest.mark.night),
        ("V-NO-UNDO", 149, "V4-voters-of-the-log"),
    ],
)
def test_the_swarm_finds_bugs_of_voters_within_some_hundred_seeds(
    mutation: str, seed: int, check: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the seeds of `docs/results/planted-bugs.md`. Where a change of the swarm moves them, they
    are to be looked for again, by `--seed 0 --tries 200`."""
    options = ["--runtime", "sim", "--scenario", "swarm", "--duration", "8", "--tries", "1"]
    wanted = [*options, "--seed", str(seed), "--mutation", mutation, "--out", str(tmp_path)]
    assert main(["selftest", *wanted, "--json"]) == 0
    (row,) = (
        each for each in json.loads(capsys.readouterr().out)["rows"] if each["id"] == mutation
    )
    assert check in row["accused_by_named"]
