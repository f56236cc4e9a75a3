"""The suspects of `kraft-chaos selftest`: planted bugs, and the checks that must find them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.bugs.catalogue import IN_CONTAINERS, MUTATIONS
from chaos.bugs.planted import Mutation
from chaos.cluster.targets.named import NODE
from chaos.errors import UsageError
from chaos.run.planning import scenario_of
from chaos.scenario import SIM, Scenario
from chaos.scenarios.controls import (
    HASTY_CLIENT,
    LOST_ANSWERS,
    LYING_FSYNC,
    QUIET_BROKERS,
    RASH_CLIENT,
)
from chaos.selftest.kill_table import SuspectKind
from checkers.verdict import Verdict

_CONTROL_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestArguments:
    """The command line of `selftest`, checked. Without mutations: all that show in the runtime, and
    the controls. `scenario` replaces the scenarios that show each of them best. For a target that
    is not ours only the controls are tried."""

    mutations: tuple[str, ...]
    tries: int | None
    seed: int
    out: Path
    as_json: bool
    runtime: str
    scenario: str = ""
    duration_s: float | None = None  # length of the fault phase, in that scenario
    target: str = NODE

    @property
    def is_whole(self) -> bool:
        """Whether all suspects are tried."""
        return not self.mutations and not self.scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """What is run repeatedly until it is decided. None: as scenario or seed have it."""

    kind: SuspectKind
    id: str
    scenario: str
    duration_s: float | None
    nodes: int | None
    named: tuple[str, ...]
    tries: int
    settings: Mapping[str, str] = field(default_factory=dict)
    drawn: bool = False  # faults as they fall
    expected: Verdict = Verdict.VALID  # of a correct node


_LYING_FSYNC = Suspect(
    kind=SuspectKind.CONTROL,
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
_HASTY = ("log-durability", "log-offsets")
_RASH = ("log-polls",)


def suspects(arguments: SelftestArguments) -> list[Suspect]:
    """The mutations, the control that runs, then the correct node in each of their scenarios."""
    if arguments.target != NODE:
        return _of_brokers(arguments)
    shown = MUTATIONS if arguments.runtime == SIM else IN_CONTAINERS
    if arguments.duration_s is not None and not arguments.scenario:
        raise UsageError(
            "--duration needs --scenario, since each bug has its own scenario\n  try: --scenario "
            "swarm"
        )
    chosen = [_shown(name, shown) for name in arguments.mutations or shown]
    planted = [_planted(mutation, arguments) for mutation in chosen]
    controls = [_LYING_FSYNC] if arguments.is_whole else []
    return [*planted, *controls, *_correct(planted)]


def _shown(name: str, shown: Mapping[str, Mutation]) -> Mutation:
    if name not in shown:
        raise UsageError(f"{name} shows only in virtual time\n  try: --runtime {SIM}")
    return shown[name]


def _planted(mutation: Mutation, arguments: SelftestArguments) -> Suspect:
    elsewhere = bool(arguments.scenario)
    return Suspect(
        kind=SuspectKind.MUTATION,
        id=mutation.id,
        scenario=arguments.scenario or mutation.scenario,
        duration_s=arguments.duration_s if elsewhere else mutation.duration_s,
        nodes=None if elsewhere else mutation.nodes,
        named=mutation.checks,
        tries=arguments.tries or mutation.tries,
        settings={} if elsewhere else mutation.settings,
        drawn=elsewhere and scenario_of(arguments.scenario).trial is not None,
    )


def _correct(planted: Sequence[Suspect]) -> Iterator[Suspect]:
    """One for each scenario with its settings, as long as the longest of its mutations."""
    alike: dict[object, list[Suspect]] = {}
    for suspect in planted:
        told = (suspect.scenario, suspect.nodes, *sorted(suspect.settings.items()))
        alike.setdefault(told, []).append(suspect)
    for first, *others in alike.values():
        lengths = [each.duration_s for each in (first, *others) if each.duration_s]
        yield replace(
            first,
            kind=SuspectKind.CORRECT,
            id="correct node",
            duration_s=max(lengths, default=None),
            named=(),
            tries=1,
            expected=_expected(first),
        )


def _expected(planted: Suspect) -> Verdict:
    """Unknown where its settings make a side of which it cannot be told whether a correct node lost
    what it may lose."""
    sides = scenario_of(planted.scenario).sides
    mine = (it for it in sides if it.settings.items() <= planted.settings.items())
    is_undecided = any(side.expected.verdict is Verdict.UNKNOWN for side in mine)
    return Verdict.UNKNOWN if is_undecided else Verdict.VALID


def _of_brokers(arguments: SelftestArguments) -> list[Suspect]:
    """Truthful clients, which no check may accuse, and lying ones. Raises UsageError for mutations:
    bugs are planted only in our own node."""
    if not arguments.is_whole:
        raise UsageError(
            f"bugs are planted in our own node, not in {arguments.target}, where selftest has "
            f"controls only\n  try: kraft-chaos selftest --target {arguments.target}"
        )
    return [
        _loading(QUIET_BROKERS, arguments, SuspectKind.CORRECT),
        _loading(LOST_ANSWERS, arguments, SuspectKind.CORRECT),
        _loading(RASH_CLIENT, arguments, SuspectKind.CONTROL, _RASH),
        _loading(HASTY_CLIENT, arguments, SuspectKind.CONTROL, _HASTY),
    ]


def _loading(
    scenario: Scenario, arguments: SelftestArguments, kind: SuspectKind, named: tuple[str, ...] = ()
) -> Suspect:
    return Suspect(
        kind=kind,
        id=scenario.name.replace("-", " "),
        scenario=scenario.name,
        duration_s=scenario.default_duration_s,
        nodes=None,
        named=named,
        tries=arguments.tries or (1 if kind is SuspectKind.CORRECT else _CONTROL_TRIES),
    )
