"""What a night runs, in which order; settings; and that it goes on where it was."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from chaos.errors import OperatorError, UsageError
from chaos.nightly.carry_out import Conductor
from chaos.nightly.night import LEDGER, NightFiles, begin, hold, last_night, new_night, trim
from chaos.nightly.plan import (
    Part,
    exploration,
    is_possible,
    repeats,
    slot_from,
    slots_of,
    triage,
)
from chaos.nightly.running import RunOrder, broken_row, order_from, perform
from chaos.nightly.settings import NightSettings, budget_s, read_settings, settings_from
from chaos.progress import ConsoleProgress
from chaos.run.planning import Choices, plan_of
from chaos.run.runtimes import DOCKER
from chaos.scenario import SIM
from chaos.scenarios import SCENARIOS
from checkers.verdict import Verdict
from spark_reports.ledger import LedgerRow, read_nights, write_part
from tests.chaos.nightly.rows import CANARY, green
from tests.chaos.nightly.rows import red as red_row

NIGHT = "2026-11-28"
SMALL = NightSettings(
    runtime=SIM, scenarios=("last-replica-standing", "partition-leader"), canaries=1
)


@pytest.fixture
def night(tmp_path: Path) -> NightFiles:
    found = new_night(tmp_path, NIGHT, "commit", SMALL)
    begin(found)
    return found


def conductor_of(night: NightFiles) -> Conductor:
    return Conductor(night, ConsoleProgress(quiet=True))


def row_for(order: RunOrder, *, red: str = "") -> LedgerRow:
    """As the run would have left it."""
    row = broken_row(order, "x", Verdict.VALID)
    if not red:
        return replace(row, fingerprint="")
    return replace(row, verdict=Verdict.INVALID, counts_as=Verdict.INVALID, fingerprint=red)


def test_the_parts_of_a_night_are_in_order_and_each_plan_occurs_once() -> None:
    slots = slots_of(SMALL, NIGHT, ())
    parts = [slot.part for slot in slots]
    assert list(dict.fromkeys(parts)) == [Part.CANARY, Part.STORY, Part.MATRIX]
    assert [slot.choices.side for slot in slots if slot.part is Part.STORY] == ["elr=off", "elr=on"]
    keys = [slot.key(NIGHT, "") for slot in slots]
    assert len(set(keys)) == len(keys)
    assert all(plan_of(slot.choices).runtime == SIM for slot in slots)


def test_the_whole_catalogue_can_be_planned_for_every_target() -> None:
    """Each slot has a plan, in each runtime; Apache Kafka is never simulated."""
    wide = NightSettings(targets=("node", "kafka", "mixed"))
    slots = slots_of(wide, NIGHT, ())
    targets = {(slot.choices.target.partition(":")[0], slot.choices.runtime) for slot in slots}
    assert targets == {
        *(("node", runtime) for runtime in ("sim", "docker")),
        ("kafka", "docker"),
        ("mixed", "docker"),
    }
    matrix = {slot.choices.scenario for slot in slots if slot.part is Part.MATRIX}
    assert {"partition-leader", "mixed-quorum", "last-replica-standing"} <= matrix
    fresh = [
        exploration(wide, NIGHT, runtime, n) for runtime in ("sim", "docker") for n in range(6)
    ]
    assert all(slot is not None and is_possible(slot.choices) for slot in fresh)
    assert len({slot.key(NIGHT, "") for slot in fresh if slot is not None}) == 12


def test_sides_are_run_on_the_targets_that_they_are_told_of() -> None:
    """A cluster of both implementations has no side of one of them."""
    for slot in slots_of(NightSettings(targets=("node", "kafka", "mixed")), NIGHT, ()):
        if slot.choices.target == "mixed" and slot.choices.side:
            assert SCENARIOS[slot.choices.scenario].of_both, slot.in_words()


def test_a_slot_comes_back_from_its_json() -> None:
    for slot in slots_of(NightSettings(targets=("node", "kafka")), NIGHT, ()):
        again = slot_from(json.loads(json.dumps(slot.as_json())))
        assert again.key(NIGHT, "c") == slot.key(NIGHT, "c")
        assert again.as_json() == slot.as_json()


def test_scenarios_of_own_files_are_in_the_matrix_and_get_fresh_seeds_each_night(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[random]\nfaults = ["kill", "pause"]\n')
    asked = {"runtime": "sim", "files": [str(file)], "canaries": 0}
    settings = settings_from({**asked, "scenarios": ["mine"]})
    (slot,) = slots_of(settings, NIGHT, ())
    assert (slot.part, slot.choices.scenario) == (Part.MATRIX, "mine")
    again = slot_from(json.loads(json.dumps(slot.as_json())))
    file.unlink()
    assert again == slot, "it has the text of the file"
    assert {window.fault.kind for window in plan_of(again.choices).drawn().windows} == {
        "kill",
        "pause",
    }
    drawn = [exploration(settings, NIGHT, SIM, number) for number in range(3)]
    assert [each.choices.scenario for each in drawn if each] == ["swarm", "swarm-brokers", "mine"]
    assert not any(
        each.choices.scenario == "mine"
        for each in slots_of(settings_from({**asked, "without": ["mine"]}), NIGHT, ())
    )


def test_the_same_plan_has_another_key_in_another_night_commit_and_attempt() -> None:
    (first, *_) = slots_of(SMALL, NIGHT, ())
    others = [first.key("2026-11-29", "c"), first.key(NIGHT, "d")]
    others.append(replace(first, attempt=1).key(NIGHT, "c"))
    assert len({first.key(NIGHT, "c"), *others}) == 4


def test_the_reds_of_the_last_night_come_before_the_matrix(night: NightFiles) -> None:
    conductor = conductor_of(night)
    orders = conductor.orders(SIM)
    taken = [next(orders) for _ in range(4)]
    for order, red in zip(taken, ("", "", "", "Q1: it broke"), strict=True):
        conductor.land(row_for(order, red=red))
    night.publish()
    (before,) = read_nights(night.out / LEDGER)
    following = slots_of(SMALL, "2026-11-29", before.rows)
    (again,) = (slot for slot in following if slot.part is Part.RED)
    assert again.choices == taken[3].slot.choices
    parts = list(dict.fromkeys(slot.part for slot in following))
    assert parts == [Part.CANARY, Part.STORY, Part.RED, Part.MATRIX]


def test_the_reds_of_a_week_are_run_again_once_each_the_newest_first(tmp_path: Path) -> None:
    (slot, *_) = slots_of(SMALL, NIGHT, ())
    for day, found in ((10, "Q1: old"), (21, "Q2: a week"), (27, "Q1: old"), (28, "Q3: new")):
        date = f"2026-11-{day}"
        seeded = replace(slot, part=Part.MATRIX, choices=replace(slot.choices, seed=day))
        row = red_row("k", found, night=date, plan=json.dumps(seeded.as_json()))
        write_part(tmp_path / LEDGER, date, date, [row])
    for day in (22, 23, 24, 25, 26):
        write_part(tmp_path / LEDGER, f"2026-11-{day}", "x", [green("g")])
    again = new_night(tmp_path, "2026-11-29", "c", SMALL)
    assert [slot.choices.seed for slot in again.slots if slot.part is Part.RED] == [28, 27]


def test_a_new_red_is_tried_again_at_once_and_a_known_one_is_not(night: NightFiles) -> None:
    conductor = Conductor(
        night, ConsoleProgress(quiet=True), [("last-replica-standing", "Q2: known")]
    )
    orders = conductor.orders(SIM)
    assert [next(orders).slot.part for _ in range(2)] == [Part.CANARY, Part.STORY]
    order = next(orders)
    conductor.land(row_for(order, red="Q2: known"))
    conductor.land(row_for(order, red="Q1: it broke"))
    again = [next(orders).slot for _ in range(6)]
    assert [slot.part for slot in again] == [Part.REPEAT] * 2 + [Part.TRIAGE] * 3 + [Part.MATRIX]
    seed = order.slot.choices.seed or 0
    assert [slot.choices.seed for slot in again[:5]] == [seed + n for n in range(1, 6)]


def test_a_new_red_is_tried_on_other_targets_in_the_other_runtime_and_made_small() -> None:
    settings = NightSettings(targets=("node", "kafka"), scenarios=("power-off",), canaries=0)
    (slot, *_) = (
        each
        for each in slots_of(settings, NIGHT, ())
        if not each.is_simulated and each.choices.target == "node" and not each.choices.settings
    )
    found = list(triage(settings, slot, {"node", "kafka", "mixed"}, may_shrink=True))
    told = [(each.part, each.choices.runtime, each.choices.target) for each in found]
    assert told == [
        *[(Part.TRIAGE, DOCKER, "node")] * 3,
        (Part.TRIAGE, SIM, "node"),
        (Part.TRIAGE, DOCKER, "mixed"),
        (Part.SMALL, SIM, "node"),
    ]
    assert all(is_possible(each.choices) for each in found)
    keys = {each.key(NIGHT, "") for each in (slot, *repeats(slot), *found)}
    assert len(keys) == 3 + len(found)


def test_what_is_expected_goes_with_a_red_to_another_target_or_it_stays() -> None:
    """A side of a scenario has its own expectation on each target."""
    wide = NightSettings(targets=("node", "kafka", "mixed"))
    moved = 0
    for slot in slots_of(wide, NIGHT, ()):
        for each in triage(wide, slot, {"node", "kafka", "mixed"}, may_shrink=True):
            plan = plan_of(each.choices)
            assert bool(plan.expected) == bool(plan_of(slot.choices).expected)
            moved += each.choices.target != slot.choices.target
    assert moved > 50


def test_a_night_that_is_red_all_over_looks_into_few_groups(night: NightFiles) -> None:
    conductor = conductor_of(night)
    orders = conductor.orders(SIM)
    taken = [next(orders) for _ in range(2)]
    for number in range(40):
        conductor.land(row_for(taken[1], red=f"Q{number}: it broke"))
    following = [next(orders).slot.part for _ in range(200)]
    assert Part.EXPLORE in following
    assert following.count(Part.TRIAGE) <= 5 * 5
    assert following.count(Part.REPEAT) >= 2


def test_one_more_run_goes_on_where_the_packing_lets_it(night: NightFiles) -> None:
    conductor = conductor_of(night)
    conductor.packing.most_contained = 1  # as if there were containers
    conductor.packing.simulated = 1
    first, second = conductor.orders(SIM), conductor.orders(SIM)
    next(first)
    waiting = Thread(target=next, args=(second,))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    first.close()
    waiting.join(30)
    assert not waiting.is_alive()


def test_a_night_goes_on_where_it_was_and_runs_nothing_twice(night: NightFiles) -> None:
    """Whatever was under way when it died is run again; also repeats and fresh seeds."""
    conductor = conductor_of(night)
    orders = conductor.orders(SIM)
    many = len(night.slots) + 11  # what is told more of a new red, and fresh seeds
    keys = []
    for number in range(many):
        order = next(orders)
        keys.append(order.key)
        Path(order.home).mkdir()
        if number % 3:
            conductor.land(row_for(order, red="Q1: it broke" if number == 4 else ""))
    resumed = last_night(night.out)
    assert resumed == night
    resumed.clear()
    done = {row.key for row in resumed.rows()}
    assert {path.name for path in resumed.runs.iterdir()} == done
    again = conductor_of(resumed)
    orders = again.orders(SIM)
    while {row.key for row in resumed.rows()} < set(keys):
        order = next(orders)
        assert order.key in keys
        assert order.key not in done
        again.land(row_for(order))
    for _ in range(2):
        resumed.publish()
    (found,) = read_nights(night.out / LEDGER)
    assert sorted(row.key for row in found.rows) == sorted(keys)


def test_a_night_ends_with_its_budget_its_number_of_runs_or_when_it_is_stopped(
    night: NightFiles,
) -> None:
    for settings in (replace(SMALL, runs=3), replace(SMALL, budget_s=0)):
        limited = replace(night, settings=settings)
        assert len(list(conductor_of(limited).orders(SIM))) == settings.runs
    conductor = conductor_of(night)
    orders = conductor.orders(SIM)
    next(orders)
    conductor.stop()
    assert list(orders) == []


def test_two_nights_of_one_date_are_apart(night: NightFiles) -> None:
    second = new_night(night.out, NIGHT, "commit", SMALL)
    assert (second.date, second.name) == (NIGHT, f"{NIGHT}-2")
    assert {slot.key(second.name, "") for slot in second.slots}.isdisjoint(
        slot.key(night.name, "") for slot in night.slots
    )


def test_there_is_no_night_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no night has begun here"):
        last_night(tmp_path)


def test_a_run_that_is_refused_or_fails_is_a_row(tmp_path: Path) -> None:
    refused = Choices(scenario="partition-leader", seed=1, target="kafka", runtime=SIM)
    slot = replace(slots_of(SMALL, NIGHT, ())[0], choices=refused)
    order = RunOrder(slot=slot, night=NIGHT, commit="c", key="k", home=str(tmp_path / "k"))
    assert order_from(json.loads(json.dumps(order.as_json()))).as_json() == order.as_json()
    row = perform(order)
    assert row.counts_as in (Verdict.UNKNOWN, Verdict.ERROR)
    assert (row.key, row.directory, row.scenario) == ("k", "", "partition-leader")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("45s", 45)]
)
def test_a_budget_is_a_time(text: str, seconds: int) -> None:
    assert budget_s(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "-1h", "0m", "1.5h", "2 h"])
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        budget_s(text)


def test_the_command_line_comes_before_the_file_and_the_file_before_the_defaults(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kraft-chaos.toml"
    path.write_text('[nightly]\nbudget = "30m"\ntargets = ["kafka"]\ncanaries = 7\n')
    found = read_settings(path, {"canaries": 2, "runs": None})
    assert found == NightSettings(budget_s=1800, targets=("kafka",), canaries=2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[nightly]\nbugdet = '2h'", "no entry 'bugdet'"),
        ("[nightly]\ntargets = 'kafka'", "targets cannot be 'kafka'"),
        ("[nightly]\ncanaries = true", "canaries cannot be True"),
        ("[nightly]\nkeep_nights = 1.5", "keep_nights cannot be 1.5"),
        ("[nightly]\nwithout = ['nothing']", "names the scenario 'nothing'"),
        ("[nightly]\nfiles = ['no/where.toml']", "--scenario-file: No such file"),
        ("[nightly", "kraft-chaos.toml: "),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "kraft-chaos.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=why.replace("[", r"\[")):
        read_settings(path, {})


def test_a_canary_row_knows_itself() -> None:
    assert CANARY.is_canary
    assert not replace(CANARY, side="bug=on").is_canary


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x00" * 40, b'{"key": "a"}', b"null"])
def test_a_row_that_was_cut_is_an_error_that_names_it(night: NightFiles, content: bytes) -> None:
    damaged = night.directory / "rows" / "a.json"
    damaged.write_bytes(content)
    with pytest.raises(OperatorError, match=f"{damaged}: not the row of a run: "):
        conductor_of(night)
    with pytest.raises(OperatorError, match="nightly --resume"):
        night.publish()


def test_green_runs_of_old_nights_are_removed_and_red_ones_are_kept(tmp_path: Path) -> None:
    homes = {}
    for number, date in enumerate(("2026-11-26", "2026-11-27", "2026-11-27", "2026-11-28")):
        night = new_night(tmp_path, date, "commit", SMALL)
        begin(night)
        orders = conductor_of(night).orders(SIM)
        for red in ("", "Q1: it broke", ""):
            order = next(orders)
            Path(order.home).mkdir()
            night.land(row_for(order, red=red))
            homes[number, order.key] = (Path(order.home), red)
    (night.directory.with_name("night-2026-11-25")).mkdir()
    damaged = night.directory.with_name("night-2026-11-24")
    damaged.mkdir()
    (damaged / "night.json").write_text("{")
    assert trim(tmp_path, 3) == []
    removed = trim(tmp_path, 1)
    green = [home for (number, _), (home, red) in homes.items() if number < 3 and not red]
    assert sorted(removed) == sorted(green)
    for (number, _), (home, red) in homes.items():
        assert home.exists() == (number == 3 or bool(red))
    assert trim(tmp_path, 1) == []
    assert len([*tmp_path.glob("night-2026-11-27*/rows/*.json")]) == 6


def test_a_night_is_worked_on_by_one_process_and_what_its_killed_one_left_is_waited_for(
    night: NightFiles,
) -> None:
    told: list[str] = []
    came = Event()

    def resume() -> None:
        with hold(night, told.append):
            came.set()

    with hold(night, told.append) as lock:
        assert told == []
        run = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
    resumed = Thread(target=resume)
    resumed.start()
    assert not came.wait(0.5)
    assert told == [f"waiting: another process is at work on the night of {NIGHT}"]
    run.kill()
    run.wait()
    resumed.join(30)
    assert came.is_set()
