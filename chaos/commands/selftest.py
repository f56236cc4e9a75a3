"""`kraft-chaos selftest`: bugs are planted in the nodes, and the judge must find each of them.

Beside them runs the correct node, in the same scenarios: a judge that accuses everybody finds
everything. A bug unseen, a canary that lives, or the correct node accused, is exit 1.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.canaries import LYING_FSYNC, without_an_acknowledged_write, without_its_record
from chaos.commands.errors import OperatorError, UsageError
from chaos.commands.run import RunArguments, perform, runtime_of, sparing_load
from chaos.kill_table import Kind, Row, Trial, as_json, as_text, is_decided, trial_of
from chaos.mutations.catalogue import IN_CONTAINERS, MUTATIONS, Mutation
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM
from checkers.history.run import Run
from checkers.history.store import read_run
from checkers.suite import judge

KEPT = "selftest.json"  # in the directory of runs, where all suspects were tried
_CONCURRENCY = 20
_CORRECT_TRIES = 3  # for a run that came to nothing: it accuses nobody and proves nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestArguments:
    """The command line of `selftest`, checked. No mutations: all that the runtime shows, and the
    canaries. A scenario takes the place of the stories that show each of them best."""

    mutations: tuple[str, ...]
    tries: int | None
    seed: int
    out: Path
    as_json: bool
    runtime: str
    scenario: str = ""

    @property
    def is_whole(self) -> bool:
        """Nobody asked for less, or for something else."""
        return not self.mutations and not self.scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """What is run, again and again, until it is decided. None: as scenario or seed have it."""

    kind: Kind
    id: str
    scenario: str
    duration_s: float | None
    nodes: int | None
    named: tuple[str, ...]
    tries: int


_LYING_FSYNC = Suspect(
    kind=Kind.CANARY,
    id="fsync that lies",
    scenario=LYING_FSYNC.name,
    duration_s=LYING_FSYNC.default_duration_s,
    nodes=3,
    named=(
        "durability",
        "linearizable",
        "Q18-durable-before-counted",
        "Q11-leader-completeness",
        "Q1-monotonic-epoch",
    ),
    tries=3,
)


def selftest(arguments: SelftestArguments) -> int:
    """0 if every planted bug was found by a check named for it, and the correct node by none."""
    progress = ConsoleProgress()
    arguments = replace(arguments, runtime=runtime_of(arguments.runtime, progress.tell))
    rows = [_row(suspect, arguments, progress) for suspect in suspects(arguments)]
    if arguments.is_whole:
        rows += _damaged_records(rows)
    kept = json.dumps(as_json(rows), indent=2)
    if arguments.is_whole:
        (arguments.out / KEPT).write_text(kept + "\n", encoding="utf-8")
    sys.stdout.write((kept if arguments.as_json else as_text(rows)) + "\n")
    return 0 if all(row.holds for row in rows) else 1


def suspects(arguments: SelftestArguments) -> list[Suspect]:
    """The mutations, the canary that runs, then the correct node in each of their scenarios."""
    shown = MUTATIONS if arguments.runtime == SIM else IN_CONTAINERS
    chosen = [_shown(name, shown) for name in arguments.mutations or shown]
    planted = [_planted(mutation, arguments) for mutation in chosen]
    canaries = [_LYING_FSYNC] if arguments.is_whole else []
    return [*planted, *canaries, *_correct(planted)]


def _shown(name: str, shown: Mapping[str, Mutation]) -> Mutation:
    if name not in shown:
        raise UsageError(f"{name} shows in virtual time only\n  try: --runtime {SIM}")
    return shown[name]


def _damaged_records(rows: Sequence[Row]) -> list[Row]:
    """Canaries that need no cluster: what a valid run recorded, with an acknowledged write gone."""
    sound = [row for row in rows if row.kind is Kind.CORRECT and row.holds]
    if not sound:
        return []  # which is said, and is exit 1, already
    run = read_run(Path(sound[0].last.directory))
    damages = (
        ("write dropped from the history", "linearizable", without_an_acknowledged_write),
        ("record dropped from the disks", "durability", without_its_record),
    )
    return [_damaged(sound[0], name, check, damage(run)) for name, check, damage in damages]


def _damaged(sound: Row, name: str, check: str, run: Run) -> Row:
    began = time.monotonic()
    judgement = judge(run)
    trial = trial_of(
        judgement,
        seed=sound.last.seed,
        seconds=time.monotonic() - began,
        directory=sound.last.directory,
    )
    return Row(kind=Kind.CANARY, id=name, scenario=sound.scenario, named=(check,), trials=(trial,))


def _planted(mutation: Mutation, arguments: SelftestArguments) -> Suspect:
    elsewhere = bool(arguments.scenario)
    return Suspect(
        kind=Kind.MUTATION,
        id=mutation.id,
        scenario=arguments.scenario or mutation.scenario,
        duration_s=None if elsewhere else mutation.duration_s,
        nodes=None if elsewhere else mutation.nodes,
        named=mutation.checks,
        tries=arguments.tries or mutation.tries,
    )


def _correct(planted: Sequence[Suspect]) -> Iterator[Suspect]:
    """One for a scenario, as long as the longest of its mutations."""
    for scenario, nodes in dict.fromkeys((suspect.scenario, suspect.nodes) for suspect in planted):
        lengths = [
            suspect.duration_s
            for suspect in planted
            if (suspect.scenario, suspect.nodes) == (scenario, nodes) and suspect.duration_s
        ]
        yield Suspect(
            kind=Kind.CORRECT,
            id="correct node",
            scenario=scenario,
            duration_s=max(lengths, default=None),
            nodes=nodes,
            named=(),
            tries=_CORRECT_TRIES,
        )


def _row(suspect: Suspect, arguments: SelftestArguments, progress: ConsoleProgress) -> Row:
    trials: list[Trial] = []
    for number in range(suspect.tries):
        trial = _try(suspect, arguments, arguments.seed + number)
        trials.append(trial)
        found = ", ".join((*trial.accusers, *trial.inside)) or trial.sentence
        name = f"{suspect.id}, {suspect.scenario}"
        progress.tell(f"{name}, try {number + 1}: {found} ({trial.seconds:.1f} s)")
        if is_decided(suspect.kind, suspect.named, trial):
            break
    return Row(
        kind=suspect.kind,
        id=suspect.id,
        scenario=suspect.scenario,
        named=suspect.named,
        trials=tuple(trials),
    )


def _try(suspect: Suspect, arguments: SelftestArguments, seed: int) -> Trial:
    began = time.monotonic()
    concurrency, rate = (
        sparing_load(suspect.scenario) if arguments.runtime == SIM else (_CONCURRENCY, 0.0)
    )
    ran = perform(
        RunArguments(
            scenario=suspect.scenario,
            seed=seed,
            nodes=suspect.nodes,
            duration_s=suspect.duration_s,
            concurrency=concurrency,
            rate=rate,
            out=arguments.out,
            keep=False,
            as_json=False,
            target="node",
            runtime=arguments.runtime,
            mutation=suspect.id if suspect.kind is Kind.MUTATION else "",
        ),
        ConsoleProgress(quiet=True),
    )
    if ran.interrupted:
        raise OperatorError("interrupted; what was found so far is in the lines above")
    seconds = time.monotonic() - began
    return trial_of(ran.judgement, seed=seed, seconds=seconds, directory=str(ran.directory))
