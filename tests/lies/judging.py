"""What the judge says of an altered run, against what it should say."""

import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from chaos.run.judging import judge_directory
from checkers.history.sealed_run import Run
from checkers.history.store import read_run
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.lies.alteration import Alteration, Target, alterations
from tests.lies.altered import Altered, Collected, NotHere

KEPT = Path("runs/lies.json")  # the figures of the last `python -m tests.lies`
_SHOWN = 160  # of a message
_SMALL = 1 << 10  # ids of topics, partitions, keys and nodes of a run are below it


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`wrong` is what the judge should have said and did not; "" where it was right."""

    alteration: Alteration
    verdict: str
    said: str
    wrong: str


def outcome_of(alteration: Alteration, bases: Path, seed: int, place: Path) -> Outcome:
    """Alters, seals and judges. `bases` has the recorded runs, `place` room for the altered one."""
    directory = place / "altered"
    shutil.rmtree(directory, ignore_errors=True)
    base = bases / alteration.base
    try:
        judgement = _judged(alteration, base, random.Random(f"{seed}:{alteration.id}"), directory)
    except (NotHere, LookupError, StopIteration, ValueError) as error:  # nothing to choose from
        why = f"it could not be told: {error!r}"
        return Outcome(alteration=alteration, verdict="-", said=why, wrong=why)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    wrong = _unseen(alteration, judgement) if alteration.is_lie else _minded(alteration, judgement)
    wrong = wrong or _packed(judgement)
    return Outcome(
        alteration=alteration, verdict=judgement.verdict.word, said=_said(judgement), wrong=wrong
    )


def _judged(alteration: Alteration, base: Path, rng: random.Random, directory: Path) -> Judgement:
    untraced = alteration.target is Target.UNTRACED
    if alteration.on_disk:
        files = Collected(base, directory)
        if untraced:
            files.untrace()
        alteration.alter(files, rng)  # type: ignore[arg-type]
        files.close()
    else:
        run = Altered(_base(base))
        if untraced:
            run.untrace()
        alteration.alter(run, rng)  # type: ignore[arg-type]
        run.write(directory)
    return judge_directory(directory, page=False)


@lru_cache(maxsize=2)
def _base(directory: Path) -> Run:
    return read_run(directory)


def _unseen(alteration: Alteration, judgement: Judgement) -> str:
    """Which check did not say what it had to."""
    rows = {row.check: row for row in judgement.results}
    for check in alteration.checks:
        row = rows.get(check)
        if row is None:
            return f"{check} does not judge this run"
        if row.verdict not in alteration.want:
            wanted = " or ".join(each.word for each in alteration.want)
            return f"{check} says {row.verdict.word}, not {wanted}: {row.message[:_SHOWN]}"
    return ""


def _minded(alteration: Alteration, judgement: Judgement) -> str:
    """What was held against a run that broke nothing."""
    rows = {row.check for row in judgement.results}
    strange = [check for check in alteration.checks if check not in rows]
    if strange:
        return f"{strange[0]} does not judge this run"
    return "" if judgement.verdict is Verdict.VALID else _said(judgement)


def _packed(judgement: Judgement) -> str:
    """A pair that kernels hold in one number, and that a message does not take apart."""
    for row in judgement.results:
        for number in map(int, re.findall(r"\d{10,19}", row.message)):
            if 0 < number >> 32 < _SMALL and number & 0xFFFFFFFF < _SMALL:
                return f"{row.check} shows the packed number {number}: {row.message[:_SHOWN]}"
    return ""


def _said(judgement: Judgement) -> str:
    bad = [row for row in judgement.results if row.verdict is not Verdict.VALID]
    return "; ".join(map(_line, bad[:4])) or judgement.sentence[:_SHOWN]


def _line(row: CheckResult) -> str:
    return f"{row.verdict.word} {row.check}: {row.message[:_SHOWN]}"


def outcomes_of(
    chosen: Sequence[Alteration], bases: Path, seed: int, jobs: int
) -> Iterator[Outcome]:
    """All of them. Those of one base go to one process, which reads it once."""
    by_base = sorted(chosen, key=lambda each: each.base)
    batches = [[each.id for each in group] for _, group in groupby(by_base, lambda e: e.base)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for batch in pool.map(partial(_judge_all, bases, seed), batches):
            yield from batch


def _judge_all(bases: Path, seed: int, ids: Sequence[str]) -> list[Outcome]:
    by_id = {each.id: each for each in alterations()}
    with tempfile.TemporaryDirectory() as room:
        return [outcome_of(by_id[each], bases, seed, Path(room)) for each in ids]


def figures(outcomes: list[Outcome]) -> Mapping[str, int]:
    """Counted by what they are: lies and legal ones, and those that were judged wrongly."""
    lies = [each for each in outcomes if each.alteration.is_lie]
    legal = [each for each in outcomes if not each.alteration.is_lie]
    return {
        "alterations": len(outcomes),
        "runs": len({each.alteration.base for each in outcomes}),
        "lies": len(lies),
        "lies_not_seen": sum(bool(each.wrong) for each in lies),
        "legal": len(legal),
        "legal_accused": sum(bool(each.wrong) for each in legal),
    }
