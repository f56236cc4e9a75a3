"""What a night runs, in its order, and each run of it as a slot.

Few combinations in which every pair of values that can be combined occurs.

Greedy (as AETG, Cohen et al. 1997), over the combinations that are possible, since many are not: a
scenario of Apache Kafka runs on no other target. Every pair of a possible combination is covered.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations, product
from typing import Any

from chaos.bugs.catalogue import IN_CONTAINERS, MUTATIONS
from chaos.bugs.planted import Mutation
from chaos.cluster.targets.named import NODE, is_kafka, is_mixed
from chaos.cluster.targets.own_brokers import ROLES
from chaos.errors import UsageError
from chaos.nightly.settings import NightSettings, own_scenarios
from chaos.releases import KAFKA, made_of
from chaos.run.plan_files import plan_as_json
from chaos.run.planning import Choices, plan_of, scenario_of, sparing_load
from chaos.run.runtimes import DOCKER
from chaos.run.scenario_file import ScenarioFile
from chaos.scenario import SIM, Scenario, Side
from chaos.scenarios import SCENARIOS
from chaos.scenarios.swarm import SWARM
from chaos.scenarios.swarm_brokers import SWARM_BROKERS
from checkers.history.sealed_run import run_key
from spark_reports.ledger import MADE_SMALL, RED_BEFORE, REPEAT, TRIAGE, LedgerRow, red_rows

ValuePair = tuple[tuple[int, str], tuple[int, str]]


def pairs_of(row: Sequence[str]) -> frozenset[ValuePair]:
    return frozenset(combinations(enumerate(row), 2))


def pairwise(rows: Sequence[Sequence[str]]) -> list[int]:
    """The places of rows that have all pairs of all rows; those with most new pairs first."""
    pairs = [pairs_of(row) for row in rows]
    left = set[ValuePair]().union(*pairs)
    chosen: list[int] = []
    gains = [len(each) for each in pairs]  # never too low: a gain only falls
    while left:
        best, most = -1, 0
        for place in sorted(range(len(rows)), key=lambda place: -gains[place]):
            if gains[place] <= most:
                break
            gains[place] = len(pairs[place] & left)
            if gains[place] > most:
                best, most = place, gains[place]
        chosen.append(best)
        left -= pairs[best]
    return chosen


_EXPLORED = (SWARM.name, SWARM_BROKERS.name)
_SEEDS_A_NIGHT = 1_000_000
REPEATS = 2  # of each group of new reds
_OTHER_SEEDS = 3


class Part(StrEnum):
    """A part of the night, in order."""

    CANARY = "canary"
    STORY = "story"
    RED = RED_BEFORE
    MATRIX = "matrix"
    REPEAT = REPEAT  # of tonight's new reds
    TRIAGE = TRIAGE  # other seeds and other targets of them
    SMALL = MADE_SMALL
    EXPLORE = "exploration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One planned run. `attempt` tells repetitions of one plan apart; a canary has up to `tries`
    seeds to be accused by one of the checks in `named`."""

    part: Part
    choices: Choices
    attempt: int = 0
    named: tuple[str, ...] = ()
    tries: int = 1

    @property
    def is_simulated(self) -> bool:
        return self.choices.runtime == SIM

    def key(self, night: str, commit: str) -> str:
        """See `run_key`."""
        choices = self.choices
        return run_key(
            plan=plan_as_json(plan_of(choices)),
            commit=commit,
            target=choices.target,
            mutation=choices.mutation,
            when=f"{night} {self.attempt}",
        )

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return content

    def in_words(self) -> str:
        choices = self.choices
        told = [
            f"--seed {choices.seed}",
            f"--target {choices.target}",
            *(f"--set {name}={value}" for name, value in choices.settings.items()),
            f"--runtime {choices.runtime}",
            *([f"--mutation {choices.mutation}"] if choices.mutation else []),
        ]
        return f"{self.part:<12} {choices.scenario} {' '.join(told)}"


def slot_from(content: Mapping[str, Any]) -> Slot:
    """From `as_json`."""
    chores = content["choices"]["chores"]
    file = content["choices"].get("file")  # an older night's have none
    choices = {
        **content["choices"],
        "chores": None if chores is None else tuple(chores),
        "file": None if file is None else ScenarioFile(**file),
    }
    return Slot(
        part=Part(content["part"]),
        choices=Choices(**choices),
        attempt=content["attempt"],
        named=tuple(content["named"]),
        tries=content["tries"],
    )


def commit_now() -> str:
    return made_of(this_machine=False).get("commit", "")


def first_seed(night: str) -> int:
    """Of the seeds that this night draws: no other night draws them."""
    return int(night.replace("-", "")) * _SEEDS_A_NIGHT


def slots_of(settings: NightSettings, night: str, before: Sequence[LedgerRow]) -> list[Slot]:
    """All but the exploration. `before`: the rows of the nights of which the reds are run again.
    Each plan occurs once."""
    planned = [
        *_canaries(settings),
        *_stories(settings, first_seed(night)),
        *_reds(settings, before),
        *_matrix(settings, first_seed(night)),
    ]
    known: dict[str, Slot] = {}
    for slot in planned:
        known.setdefault(slot.key(night, ""), slot)
    return list(known.values())


def exploration(settings: NightSettings, night: str, runtime: str, number: int) -> Slot | None:
    """The slot of this number; None if no swarm takes one of the targets. Not every seed's cluster
    is possible (`is_possible`)."""
    swarms = _swarms(settings, runtime)
    if not swarms:
        return None
    seed = first_seed(night) + _SEEDS_A_NIGHT // 2 + number
    scenario, target = swarms[number % len(swarms)]
    return Slot(part=Part.EXPLORE, choices=_choices(settings, scenario, seed, target, runtime))


@cache
def _swarms(settings: NightSettings, runtime: str) -> list[tuple[str, str]]:
    """Each with each target that it takes."""
    explored = (*_EXPLORED, *_own(settings))
    pairs = product(explored, _targets(settings, runtime))
    return [
        (scenario, target)
        for scenario, target in pairs
        if is_possible(_choices(settings, scenario, 0, target, runtime))
    ]


def repeats(slot: Slot) -> Iterator[Slot]:
    """More tries of a slot that was red. A simulated run is its seed's, so others are tried."""
    for attempt in range(1, REPEATS + 1):
        seed = (slot.choices.seed or 0) + (attempt if slot.is_simulated else 0)
        yield replace(
            slot, part=Part.REPEAT, attempt=attempt, choices=replace(slot.choices, seed=seed)
        )


def triage(
    settings: NightSettings, slot: Slot, targets: Collection[str], *, may_shrink: bool
) -> Iterator[Slot]:
    """What tells more of a new red: other seeds of it, the same seed on the other `targets` and in
    the other runtime; and, with `may_shrink`, the search for the least that fails alike."""
    choices = slot.choices
    first = (choices.seed or 0) + REPEATS + 1
    for seed in range(first, first + _OTHER_SEEDS):
        yield replace(slot, part=Part.TRIAGE, choices=replace(choices, seed=seed))
    places = [(SIM, NODE)] + [(DOCKER, target) for target in sorted(targets)]
    for runtime, target in places:
        if runtime not in runtimes(settings) or (runtime, target) == (
            choices.runtime,
            choices.target,
        ):
            continue
        if (moved := _elsewhere(settings, choices, runtime, target)) is not None:
            yield Slot(part=Part.TRIAGE, choices=moved)
    virtual = choices if slot.is_simulated else _elsewhere(settings, choices, SIM, NODE)
    if may_shrink and choices.target == NODE and virtual is not None:
        yield Slot(part=Part.SMALL, choices=virtual, attempt=REPEATS + 1)


def _elsewhere(
    settings: NightSettings, choices: Choices, runtime: str, target: str
) -> Choices | None:
    """The same on another target, with what is expected there; None where it cannot be had."""
    if choices.mutation or (runtime == SIM and target != NODE):
        return None
    scenario = scenario_of(choices.scenario, choices.file)
    side = scenario.side_with(target, choices.settings) if choices.side else None
    if (choices.side and side is None) or not _is_told_of(scenario, target):
        return None
    moved = replace(
        _choices(settings, choices.scenario, choices.seed or 0, target, runtime),
        settings=choices.settings,
        side=side.name if side is not None else "",
        topic_client=choices.topic_client,
        chores=choices.chores,
    )
    return moved if is_possible(moved) else None


def runtimes(settings: NightSettings) -> tuple[str, ...]:
    return (SIM,) if settings.runtime == SIM else (SIM, DOCKER)


def _targets(settings: NightSettings, runtime: str) -> tuple[str, ...]:
    """In virtual time our own node alone can run."""
    return (NODE,) if runtime == SIM else settings.targets


def _choices(
    settings: NightSettings, scenario: str, seed: int, target: str, runtime: str
) -> Choices:
    file = own_scenarios(settings.files).get(scenario)
    concurrency, rate = sparing_load(scenario, file) if runtime == SIM else (None, 0.0)
    draws = scenario_of(scenario, file).script is None
    return Choices(
        scenario=scenario,
        file=file,
        seed=seed,
        # A seed draws quorums that only virtual time has.
        nodes=3 + 2 * (seed % 2) if scenario == SWARM.name and runtime == DOCKER else None,
        target=target,
        runtime=runtime,
        concurrency=concurrency,
        rate=rate,
        duration_s=settings.duration_s if draws and runtime == SIM else None,
    )


def is_possible(choices: Choices) -> bool:
    """Whether there is a plan of them."""
    try:
        plan_of(choices)
    except UsageError:
        return False
    return True


def _canaries(settings: NightSettings) -> Iterator[Slot]:
    """First the shortest of each family of bugs, then the next shortest: in virtual time, and one
    in containers."""
    yield from (_canary(each, SIM) for each in _by_length(MUTATIONS)[: settings.canaries])
    if DOCKER in runtimes(settings) and NODE in settings.targets and settings.canaries:
        yield _canary(_by_length(IN_CONTAINERS)[0], DOCKER)


def _by_length(known: Mapping[str, Mutation]) -> list[Mutation]:
    families: dict[str, int] = {}
    ranked = []
    for each in sorted(known.values(), key=lambda each: (each.duration_s * each.tries, each.id)):
        family = each.id.partition("-")[0]
        families[family] = rank = families.get(family, -1) + 1
        ranked.append((rank, each.duration_s * each.tries, each.id))
    return [known[name] for _, _, name in sorted(ranked)]


def _canary(mutation: Mutation, runtime: str) -> Slot:
    concurrency, rate = sparing_load(mutation.scenario) if runtime == SIM else (None, 0.0)
    choices = Choices(
        scenario=mutation.scenario,
        seed=1,
        nodes=mutation.nodes,
        duration_s=mutation.duration_s,
        concurrency=concurrency,
        rate=rate,
        settings=mutation.settings,
        runtime=runtime,
        mutation=mutation.id,
    )
    return Slot(part=Part.CANARY, choices=choices, named=mutation.checks, tries=mutation.tries)


def _scenarios(settings: NightSettings) -> list[Scenario]:
    own = own_scenarios(settings.files)
    named = settings.scenarios or (*SCENARIOS, *own)
    return [scenario_of(name, own.get(name)) for name in named if name not in settings.without]


def _own(settings: NightSettings) -> list[str]:
    """The names of the team's own scenarios that a seed may draw anew each night."""
    return [name for name in own_scenarios(settings.files) if name not in settings.without]


def _stories(settings: NightSettings, seed: int) -> Iterator[Slot]:
    """Each side of each scenario, on each target that it is told of."""
    for scenario, runtime in product(_scenarios(settings), runtimes(settings)):
        for side, target in product(scenario.sides, _targets(settings, runtime)):
            if side.release and not is_kafka(target):
                continue  # a release of Apache Kafka, whichever of them is asked for
            if not _is_told_of(scenario, target):
                continue
            slot = _story(settings, scenario, side, seed, target, runtime)
            if is_possible(slot.choices):
                yield slot


def _is_told_of(scenario: Scenario, target: str) -> bool:
    """What a side shows is told of our own node or of Apache Kafka; of a cluster that has both only
    where the scenario is made for one."""
    return scenario.of_both or not (scenario.sides and is_mixed(target))


def _story(
    settings: NightSettings, scenario: Scenario, side: Side, seed: int, target: str, runtime: str
) -> Slot:
    told = side.on(target)
    where = f"{KAFKA}:{side.release}" if side.release else target
    choices = replace(
        _choices(settings, scenario.name, seed, where, runtime),
        settings={name: str(value) for name, value in told.settings.items()},
        mutation=told.mutation,
        topic_client=told.topic_client,
        chores=told.chores,
        side=told.name,
        duration_s=None,
    )
    return Slot(part=Part.STORY, choices=choices)


def _reds(settings: NightSettings, before: Sequence[LedgerRow]) -> Iterator[Slot]:
    """The newest and worst of each group of earlier red runs, by the plan in its row."""
    seen: set[tuple[str, str]] = set()
    newest = sorted(
        red_rows(before), key=lambda row: (row.night, row.counts_as.value, row.key), reverse=True
    )
    for row in newest:
        group = (row.scenario, row.fingerprint)
        content = json.loads(row.plan or "{}")
        if group in seen or not content.get("choices"):
            continue
        slot = replace(slot_from(content), part=Part.RED, attempt=0)
        if slot.choices.runtime in runtimes(settings) and is_possible(slot.choices):
            seen.add(group)
            yield slot


def _matrix(settings: NightSettings, seed: int) -> Iterator[Slot]:
    """Every pair of target, runtime, roles, scenario and settings that can be combined."""
    rows: list[tuple[str, ...]] = []
    made: list[Choices] = []
    for runtime in runtimes(settings):
        each = (_targets(settings, runtime), settings.roles, settings.settings)
        for target, roles, asked in product(*each):
            for scenario in _scenarios(settings):
                if not _is_told_of(scenario, target):
                    continue
                choices = _choices(settings, scenario.name, seed, target, runtime)
                chosen = _asked(asked) | ({ROLES: roles} if roles else {})
                side = scenario.side_with(target, chosen) if chosen else None
                choices = replace(choices, settings=chosen, side=side.name if side else "")
                if is_possible(choices) and not (chosen and not scenario.is_of_brokers):
                    rows.append((runtime, target, roles, asked, scenario.name))
                    made.append(choices)
    for place in pairwise(rows):
        yield Slot(part=Part.MATRIX, choices=made[place])


def _asked(text: str) -> dict[str, str]:
    """`a=b c=d`."""
    return dict(word.partition("=")[::2] for word in text.split())
