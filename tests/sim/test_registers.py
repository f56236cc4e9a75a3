"""Everything that clients do to registers, against the real node in virtual time."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from chaos.conditions import Conditions
from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.scenarios import SCENARIOS
from checkers.history.events import ACCEPTED, REFUSED
from checkers.history.store import read_run
from checkers.verdict import Verdict
from workloads.clients.register_client import Wrong
from workloads.workload import RegisterOptions

RICH = RegisterOptions(
    concurrency=8,
    rate=200.0,
    delete_share=0.15,
    wrong_share=0.25,
    wide_share=0.2,
    several_share=0.3,
    retry_share=0.9,
    repeat_share=0.02,
)
ROLLING = Conditions(segment_bytes=4096)


def test_all_that_clients_do_is_judged_valid_of_a_correct_node(tmp_path: Path) -> None:
    plan = RunPlan(
        scenario=SCENARIOS["power-off"],
        seed=4,
        nodes=3,
        duration_s=14.0,
        load=RICH,
        conditions=ROLLING,
        runtime="sim",
    )
    ran = launch(plan, tmp_path, ConsoleProgress(quiet=True), page=False)
    assert ran.judgement.verdict is Verdict.VALID, ran.judgement.sentence
    run = read_run(ran.directory)
    ops = run.tables["ops"].to_pylist()
    errors = [str(row["error"]) for row in ops]
    assert {each.removeprefix(REFUSED).split(" (")[0] for each in errors if REFUSED in each} == {
        wrong.value for wrong in Wrong
    }
    assert not [each for each in errors if each.startswith(ACCEPTED)]
    kinds = Counter((row["f"], row["outcome"]) for row in ops)
    assert min(kinds["delete", "ok"], kinds["write", "ok"], kinds["read", "ok"]) > 50
    written = Counter((row["key"], row["value"]) for row in ops if row["f"] == "write")
    assert max(written.values()) > 1
    segments = set(run.tables["log_batches"]["segment"].to_pylist())
    assert len(segments) > 5
    assert max(run.tables["log_batches"]["size"].to_pylist()) > 2 * 4096


def test_a_wrong_request_alone_is_refused_whole(tmp_path: Path) -> None:
    """Several of one request: those that are wrong are refused, the others happen."""
    plan = RunPlan(
        scenario=SCENARIOS["baseline"],
        seed=5,
        nodes=1,
        duration_s=5.0,
        load=replace(RICH, several_share=1.0, wide_share=0.0),
        runtime="sim",
    )
    ran = launch(plan, tmp_path, ConsoleProgress(quiet=True), page=False)
    assert ran.judgement.verdict is Verdict.VALID, ran.judgement.sentence
    rows = [row for row in read_run(ran.directory).tables["ops"].to_pylist() if row["f"] != "read"]
    outcomes: dict[int, set[str]] = {}
    for row in rows:
        outcomes.setdefault(row["request"], set()).add(row["outcome"])
    assert {"ok", "fail"} in outcomes.values()
