"""One slot of a night, from its choices to a row of the ledger.

A simulated run takes place in a worker process, one in containers in a process of its own (`python
-m chaos.nightly.running`), which removes its containers when it is told to end. Both die with the
night. Any failure on the way is a row too.
"""

import ctypes
import json
import os
import platform
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos.campaign.coverage import anomaly, fingerprint, struck, unlike_expected
from chaos.campaign.shrinking import made_small
from chaos.cluster.cluster_errors import ClusterError
from chaos.errors import OperatorError, UsageError
from chaos.nightly.plan import Part, Slot, slot_from
from chaos.progress import ConsoleProgress
from chaos.run.judging import PAGE, REPRO, judge_directory
from chaos.run.launch import Ran, launch
from chaos.run.plan import RunPlan
from chaos.run.plan_files import command_of, replay_line
from chaos.run.planning import plan_of
from checkers.evidence.starvation import strain
from checkers.history.sealed_run import Run, read_run_info
from checkers.history.store import MANIFEST, VERDICT, UnreadableRunError, read_run
from checkers.verdict import Judgement, Verdict
from spark_reports.ledger import LedgerRow, row_from

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_GIVES_WAY = 5  # a simulated run loses nothing by waiting: its time is virtual
_KEPT = (Verdict.INVALID, Verdict.ERROR, Verdict.UNKNOWN)
_GREEN_FILES = {"run.json", MANIFEST, VERDICT, "schedule.json", PAGE, REPRO}
_WITNESS_LIMIT = 20
_KEPT_PARTS = -4  # night-DATE/runs/KEY/NAME
_SHRUNK_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """A slot of a night that was handed to a process; the run's directory goes into `home`."""

    slot: Slot
    night: str
    commit: str
    key: str
    home: str  # an absolute path

    def as_json(self) -> dict[str, Any]:
        return {
            "slot": self.slot.as_json(),
            **{name: getattr(self, name) for name in ("night", "commit", "key", "home")},
        }


def order_from(content: Mapping[str, Any]) -> RunOrder:
    return RunOrder(**{**content, "slot": slot_from(content["slot"])})


def perform_simulated(order: RunOrder) -> dict[str, object]:
    """In a worker process. It dies with its parent, since no process reads its answer any more; a
    Ctrl-C at the terminal ends the night, not the run; and nodes in containers get a core first."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getsid(0) != os.getpid():
        os.setsid()
        os.nice(_GIVES_WAY)
    return perform(order).as_json()


def perform(order: RunOrder) -> LedgerRow:
    """Run and judge a slot, and keep the directory of a red run; never raises."""
    began_s, wall = time.monotonic(), datetime.now(UTC)
    home = Path(order.home)
    shutil.rmtree(home, ignore_errors=True)  # of a night that was killed meanwhile
    try:
        row = _tried(order, home)
    except (OperatorError, UsageError, ClusterError) as error:
        row = broken_row(order, f"refused: {str(error).partition(chr(10))[0]}", Verdict.UNKNOWN)
    except Exception as error:  # noqa: BLE001 - the next slot must have its turn
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
        row = broken_row(order, where)
    if not row.directory:
        shutil.rmtree(home, ignore_errors=True)
    return replace(
        row, real_s=time.monotonic() - began_s, began=wall.isoformat(timespec="milliseconds")[:23]
    )


def broken_row(order: RunOrder, what: str, verdict: Verdict = Verdict.ERROR) -> LedgerRow:
    """The row of a run that has no verdict of its own; an error of the harness is never good."""
    slot = order.slot
    try:
        command = command_of(plan_of(slot.choices), "")
    except UsageError:
        command = ""
    return replace(
        _blank(order, command),
        verdict=verdict,
        counts_as=verdict,
        sentence=f"{verdict.name}: {what}",
        fingerprint="" if verdict is Verdict.UNKNOWN else f"harness: {anomaly(what)}",
    )


def _blank(order: RunOrder, command: str) -> LedgerRow:
    choices = order.slot.choices
    return LedgerRow(
        key=order.key,
        night=order.night,
        began="",
        part=order.slot.part.value,
        scenario=choices.scenario,
        seed=choices.seed or 0,
        verdict=Verdict.ERROR,
        counts_as=Verdict.ERROR,
        commit=order.commit,
        target=choices.target,
        runtime=choices.runtime,
        host=platform.node(),
        side=choices.side,
        settings=" ".join(f"{name}={value}" for name, value in sorted(choices.settings.items())),
        mutation=choices.mutation,
        attempt=order.slot.attempt,
        plan=json.dumps(order.slot.as_json()),
        command=command,
    )


def _tried(order: RunOrder, home: Path) -> LedgerRow:
    """A canary is tried by one seed after another until a check named for it accuses."""
    if order.slot.part is Part.SMALL:
        return _made_small(order, home)
    row = None
    for number in range(order.slot.tries):
        shutil.rmtree(home, ignore_errors=True)
        choices = order.slot.choices
        plan = plan_of(replace(choices, seed=(choices.seed or 0) + number))
        ran = launch(plan, home, ConsoleProgress(quiet=True), page=not order.slot.is_simulated)
        if ran.interrupted:
            raise OperatorError("interrupted")
        row = _row(order, plan, ran)
        if order.slot.part is not Part.CANARY or not row.is_red:
            break
    assert row is not None, "a slot has one try at least"
    return row


def _made_small(order: RunOrder, home: Path) -> LedgerRow:
    """Where it does not fail in virtual time, the row says so."""
    plan = plan_of(order.slot.choices)
    ran = launch(plan, home, ConsoleProgress(quiet=True), page=False)
    found = fingerprint(ran.judgement, _readable(ran.directory))
    if found is None or ran.judgement.verdict is not Verdict.INVALID:
        return _row(order, plan, ran)
    smallest, again = made_small(plan, found, home, _SHRUNK_WITHIN_S)
    command = replay_line(os.path.relpath(again.directory))
    row = replace(_row(order, smallest, again), command=command)
    shutil.rmtree(ran.directory)
    return row


def _row(order: RunOrder, plan: RunPlan, ran: Ran) -> LedgerRow:
    judgement, run = ran.judgement, _readable(ran.directory)
    mismatch = plan.expected.mismatch(judgement) if plan.expected is not None else None
    found = fingerprint(judgement, run) or (unlike_expected(mismatch) if mismatch else None)
    counts_as = _counts_as(order.slot, judgement, mismatch)
    info = read_run_info(ran.directory)
    command = command_of(plan, info.run_id)
    numbers = judgement.statistics.items()
    return replace(
        _blank(order, command),
        seed=plan.seed,
        verdict=judgement.verdict,
        counts_as=counts_as,
        fingerprint=str(found) if found is not None else "",
        sentence=judgement.sentence,
        version=info.target.partition(" (")[0],
        expected=str(plan.expected) if plan.expected is not None else "",
        witness=_witness(judgement),
        checks=[
            {
                "check": each.check,
                "verdict": each.verdict.word,
                "looked_at": each.looked_at,
                "count": each.count,
            }
            for each in judgement.results
        ],
        statistics={n: float(v) for n, v in numbers if isinstance(v, int | float)},
        struck={str(cell): n for cell, n in sorted(struck(run).items())} if run else {},
        operations=int(judgement.statistics.get("operations_ok") or 0),
        faults=int(judgement.statistics.get("faults_bit") or 0),
        virtual_s=ran.duration_s if order.slot.is_simulated else 0.0,
        strain=round(strain(info.pressure), 3),
        directory=_kept(order.slot, ran.directory, counts_as),
    )


def _counts_as(slot: Slot, judgement: Judgement, mismatch: str | None) -> Verdict:
    """See `LedgerRow`. A canary that no check named for it accuses is an error of the judge."""
    if slot.part is Part.CANARY:
        accusers = {each.check for each in judgement.results if each.verdict is Verdict.INVALID}
        named = {*slot.named, *(f"invariant:{check}" for check in slot.named)}
        return Verdict.VALID if accusers & named else Verdict.ERROR
    if mismatch is None:
        return judgement.verdict
    if not mismatch:
        return Verdict.VALID
    return Verdict.INVALID if judgement.verdict is Verdict.VALID else judgement.verdict


def _witness(judgement: Judgement) -> list[dict[str, object]]:
    rows = [
        each for each in judgement.results if each.verdict is judgement.verdict and each.witness
    ]
    if not rows:
        return []
    return [
        {"t_ns": event.get("t_ns"), "what": str(event.get("what", ""))}
        for event in rows[0].witness[:_WITNESS_LIMIT]
    ]


def _kept(slot: Slot, directory: Path, counts_as: Verdict) -> str:
    """The directory, relative to the ledger's parent; "" where it is not kept.

    A red run is kept whole, a green one in containers without its logs and disks; a green simulated
    one is its seed.
    """
    if counts_as in _KEPT:
        if slot.is_simulated:
            judge_directory(directory)  # with its page
        return "/".join(directory.parts[_KEPT_PARTS:])
    if slot.is_simulated:
        return ""
    for child in directory.iterdir():
        if child.is_dir():
            shutil.rmtree(child)
        elif child.name not in _GREEN_FILES and child.suffix != ".parquet":
            child.unlink()
    return "/".join(directory.parts[_KEPT_PARTS:])


def _readable(directory: Path) -> Run | None:
    try:
        return read_run(directory)
    except UnreadableRunError:
        return None  # the judgement says why


def main() -> None:
    """Perform the order on stdin, and write its row to stdout."""
    parent = int(os.environ["KRAFT_CHAOS_NIGHT"])
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        return  # it died before that
    order = order_from(json.load(sys.stdin))
    sys.stdout.write(json.dumps(perform(order).as_json()))


def answered(text: str) -> LedgerRow:
    """What `main` wrote. Raises ValueError, KeyError, TypeError."""
    return row_from(json.loads(text))


if __name__ == "__main__":
    main()
