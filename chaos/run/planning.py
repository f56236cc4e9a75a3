"""From a user's choices to a plan, or the reason why there is none; `chaos.run.plan_files` is the
way back."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from chaos.cluster.interface import NodeId
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import (
    BROKERS,
    KAFKA,
    MIXED,
    NODE,
    has_brokers,
    is_kafka,
    is_mixed,
    layout,
    left_to_no_seed,
)
from chaos.cluster.targets.own_brokers import COMBINED, CONTROLLERS, ROLES
from chaos.errors import OperatorError, UsageError, like
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.script import Begin, End, Script, Until
from chaos.nemesis.victims import OF_BROKERS, OneNode
from chaos.run.packages import SCENARIOS as OF_PACKAGES
from chaos.run.packages import offered, own_checks, own_faults
from chaos.run.plan import RunPlan
from chaos.run.runtimes import DOCKER, RUNTIMES
from chaos.run.scenario_file import ScenarioFile, installed_file, scenarios_in
from chaos.scenario import SCENARIO_SETTINGS, SIM, OnKafka, Scenario, Trial
from chaos.scenarios import SCENARIOS
from chaos.scenarios.controls import CONTROLS
from workloads.append import AppendOptions
from workloads.clients.library_clients import RAW
from workloads.workload import Load, Servers
from workloads.workload_kinds import kind_of

# Which scripts a cluster with combined nodes can run.
#
# A fault of such a broker is one of the quorum too. So a script cannot cut brokers off from the
# controllers only, or from the brokers only; and one that waits for an active controller needs a
# majority meanwhile, for which there may be controllers beside the brokers.


def why_not_combined(script: Script, voters: int) -> str:
    """Why such a cluster cannot run the script, and what to do; "" where it can."""
    parts = [fault for fault in script.faults if isinstance(fault, NetworkPartition)]
    if any(fault.peers is not OtherSide.ALL for fault in parts):
        return (
            "it cuts brokers off from the controllers and not from each other, or the other way"
            " round, and with roles=combined both are the same nodes\n"
            "  try: without --set roles=combined"
        )
    gone = _most_gone(script)
    if voters - gone < voters // 2 + 1:
        return (
            f"it waits for the controllers while {gone} of {voters} of them are cut off or down:"
            f" no majority is left\n  try: --set controllers={2 * gone + 1}, which adds"
            " controllers beside the brokers"
        )
    return ""


def _most_gone(script: Script) -> int:
    """Named nodes, out of the quorum while the script waits for something."""
    lasting: dict[str, Fault] = {}
    most = 0
    for step in script.steps:
        match step:
            case Begin(name=name, fault=fault):
                lasting[name] = fault
            case End(name=name):
                del lasting[name]
            case Until():
                most = max(most, len(_gone(lasting)))
    return most


def _gone(lasting: Mapping[str, Fault]) -> set[int]:
    return {
        fault.victim.node
        for fault in lasting.values()
        if isinstance(fault.victim, OneNode) and (fault.harm.cuts or fault.harm.halts)
    }


_NODES = 3
_OWN_NODES = (3, 5)  # in containers; a shrunk failure may be replayed with any number
# Clients without a limit are as fast as the cluster; a simulated one is fast in virtual time, and
# each of its operations costs real time.
_UNASKED_RATES = {SIM: 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """A user's choices. None, 0 or "": as in the scenario, or drawn by its seed."""

    scenario: str
    file: ScenarioFile | None = None  # that has the scenario, where it is a user's own
    seed: int | None = None
    nodes: int | None = None
    duration_s: float | None = None
    concurrency: int | None = None
    rate: float = 0.0
    target: str = NODE
    settings: Mapping[str, str] = field(default_factory=dict)
    runtime: str = ""  # containers
    falls_back: bool = False  # to virtual time, without containers and without a named runtime
    mutation: str = ""
    client: str = RAW
    topic_client: str = RAW
    chores: tuple[str, ...] | None = None
    side: str = ""
    app: str = ""
    keep: bool = False
    keep_on_failure: bool = False
    stop_at_first: bool = False
    pcap: bool = False


def plan_of(choices: Choices) -> RunPlan:
    """The plan of these choices on that runtime; a swarm's seed decides the rest. Raises
    UsageError."""
    own_faults()  # its scenario may name them
    if choices.file is None:
        choices = replace(choices, file=installed_file(choices.scenario))
    scenario = scenario_of(choices.scenario, choices.file)
    _require_fitting(scenario, choices)
    seed = choices.seed if choices.seed is not None else random.SystemRandom().randrange(10**6)
    usual = _usual(scenario, choices.target)
    plan = RunPlan(
        scenario=scenario,
        seed=seed,
        nodes=choices.nodes or _NODES,
        duration_s=choices.duration_s or usual.duration_s or scenario.default_duration_s,
        load=_load(scenario, choices),
        conditions=scenario.conditions,
        target=choices.target,
        settings=_settings(scenario, choices),
        client=choices.client,
        topic_client=choices.topic_client,
        side=choices.side,
        app=choices.app,
        runtime=choices.runtime,
        keep=choices.keep,
        keep_on_failure=choices.keep_on_failure,
        stop_at_first=choices.stop_at_first,
        pcap=choices.pcap,
        mutation=choices.mutation,
        file=choices.file,
    )
    if scenario.trial is not None:
        left = left_to_no_seed(plan.target, of_brokers=scenario.is_of_brokers)
        plan = replace(plan, settings={**left, **plan.settings})
        nodes = choices.nodes if plan.target == NODE else plan.nodes
        trial = scenario.trial(seed, choices.duration_s, nodes, plan.settings)
        plan = _of_trial(plan, trial, choices)
    require_possible(plan)
    _require_kept(plan)
    _require_own_app(plan)
    own_checks()  # one that cannot judge the run is told before it starts
    return plan


def require_possible(plan: RunPlan) -> None:
    """Raises UsageError for a cluster that cannot be had, or that the plan cannot run on."""
    if plan.runtime != SIM:
        _require_quorum(plan.target, plan.nodes, plan.target_settings)
    _require_made(plan.target, plan.nodes, plan.target_settings, plan.mutation)
    _require_taken(plan)
    _require_apart(plan)
    _require_victims(plan)


def _usual(scenario: Scenario, target: str) -> OnKafka:
    """The scenario's defaults for the target's settings."""
    return scenario.on_kafka if is_kafka(target) else OnKafka()


def _require_fitting(scenario: Scenario, choices: Choices) -> None:
    """Raises UsageError for settings that do not fit the scenario, and for a target or clients that
    do not fit its load."""
    for name in sorted(SCENARIO_SETTINGS.keys() & choices.settings.keys()):
        _require_setting(scenario, name, choices.settings[name])
    kind = kind_of(scenario.load)
    settings = _settings(scenario, choices)
    if scenario.is_of_brokers and scenario.trial is not None:
        settings = {BROKERS: str(_NODES), **settings}  # the seed decides the number
    if scenario.of_both and not is_mixed(choices.target):
        raise UsageError(
            f"{scenario.name} needs a mixed quorum of our nodes and Apache Kafka's\n"
            f"  try: --target {MIXED}"
        )
    if scenario.is_of_brokers and not has_brokers(choices.target, settings):
        some = (
            f"--set {BROKERS}=3, or --target {KAFKA}"
            if is_mixed(choices.target)
            else f"--target {KAFKA}, and --nodes for how many"
        )
        raise UsageError(
            f"{scenario.name} needs brokers, and {choices.target} has none\n  try: {some}"
        )
    if scenario.trial is not None and is_mixed(choices.target):
        raise UsageError(
            f"{scenario.name} does not support a mixed quorum of our nodes and Apache Kafka's\n"
            f"  try: kraft-chaos run mixed-quorum --target {MIXED}"
        )
    if choices.target == NODE and has_brokers(NODE, settings):
        _require_of_own_brokers(scenario, choices)
    _require_transactional(scenario, choices.client)
    chosen = (
        ("client", choices.client, kind.libraries),
        ("topic-client", choices.topic_client, kind.topic_clients),
    )
    for flag, client, known in chosen:
        if client not in known:
            raise UsageError(
                f"--{flag} {client}: {scenario.name} has the load {kind.name}, with clients "
                f"{', '.join(known)}\n  try: one of {', '.join(_with_clients(flag, client))}"
            )


def _settings(scenario: Scenario, choices: Choices) -> Mapping[str, str]:
    """The scenario's settings and the requested ones; a scenario of brokers gets some where the
    target has none by default."""
    ours = scenario.is_of_brokers and choices.target == NODE
    count = choices.nodes or (_NODES if scenario.trial is None else None)
    brokers = {BROKERS: str(count)} if ours and count is not None else {}
    usual = _usual(scenario, choices.target).settings
    return {**brokers, **scenario.settings, **usual, **choices.settings}


def _uses_transactions(load: AppendOptions) -> bool:
    return load.transactional or "transforming" in load.chores


def _require_of_own_brokers(scenario: Scenario, choices: Choices) -> None:
    """Our own brokers serve logs; no library can reach simulated ones."""
    load, of_kafka = scenario.load, f"\n  try: --target {KAFKA}"
    if isinstance(load, AppendOptions) and _uses_transactions(load):
        raise UsageError(
            f"{scenario.name} uses transactions, which our own brokers refuse{of_kafka}"
        )
    if Ability.MOVE_REPLICAS in scenario.needs:
        raise UsageError(
            f"{scenario.name} moves replicas between log directories, which our own brokers do not"
            f" support{of_kafka}"
        )
    require_reachable(choices.runtime, choices.client, choices.topic_client)


def _require_transactional(scenario: Scenario, client: str) -> None:
    load = scenario.load
    if isinstance(load, AppendOptions) and load.transactional and client != RAW:
        raise UsageError(
            f"--client {client}: {scenario.name} needs transactions that are left open, and only "
            f"our own clients leave some\n  try: without --client"
        )


def _require_setting(scenario: Scenario, name: str, value: str) -> None:
    setting = SCENARIO_SETTINGS[name]
    if value not in list(setting.values):
        raise UsageError(f"--set {name}={value}: the value must be {' or '.join(setting.values)}")
    if not setting.fits(scenario):
        able = [each.name for each in SCENARIOS.values() if setting.fits(each)]
        raise UsageError(
            f"--set {name}={value}: {scenario.name} {setting.unfit}\n"
            f"  try: one of {', '.join(able)}"
        )


def _with_clients(flag: str, client: str) -> list[str]:
    """The scenarios that this client can load."""
    found = []
    for scenario in SCENARIOS.values():
        kind = kind_of(scenario.load)
        if client in (kind.libraries if flag == "client" else kind.topic_clients):
            found.append(scenario.name)
    return found


def _load(scenario: Scenario, choices: Choices) -> Load:
    """The scenario's load, with the user's overrides."""
    unasked = 0.0 if scenario.load.rate else _UNASKED_RATES.get(choices.runtime, 0.0)
    load = scenario.load.adjusted(
        concurrency=choices.concurrency,
        rate=choices.rate or unasked,
        settings=_settings(scenario, choices),
    )
    if choices.chores is None:
        return load
    assert isinstance(load, AppendOptions), f"{scenario.name}: clients of registers have no chores"
    return replace(load, chores=choices.chores)


def _of_trial(plan: RunPlan, trial: Trial, choices: Choices) -> RunPlan:
    """As the seed decides, or the user instead."""
    settings = {**trial.settings, **plan.settings}
    return replace(
        plan,
        nodes=trial.nodes,
        duration_s=trial.schedule.duration_s,
        schedule=trial.schedule,
        load=trial.load.adjusted(
            concurrency=choices.concurrency, rate=choices.rate, settings=settings
        ),
        conditions=trial.conditions,
        settings=settings,
    )


def require_layout(target: str, nodes: int, settings: Mapping[str, str]) -> None:
    """Raises UsageError for a number of nodes that containers do not support."""
    _require_quorum(target, nodes, settings)
    _require_made(target, nodes, settings)


def _require_quorum(target: str, nodes: int, settings: Mapping[str, str]) -> None:
    """With brokers, the settings have the number of controllers. In virtual time a seed may draw
    any number."""
    if target == NODE and not has_brokers(target, settings) and nodes not in _OWN_NODES:
        raise UsageError(f"--nodes {nodes}: a quorum of our own nodes has 3 or 5\n  try: --nodes 3")


def _require_made(target: str, nodes: int, settings: Mapping[str, str], mutation: str = "") -> None:
    try:
        layout(target, nodes, settings, mutation=mutation)
    except SettingError as error:
        raise UsageError(f"{error}\n  try: kraft-chaos run --help") from error


def _require_taken(plan: RunPlan) -> None:
    """Raises UsageError for a cluster that does not fit the scenario."""
    made, count = layout(plan.target, plan.nodes, plan.target_settings)
    takes = plan.scenario.takes
    roles = [made.roles(NodeId(number)) for number in range(1, count + 1)]
    why = takes.why_not(roles, made.settings)
    if not why:
        return
    alone = plan.target == NODE and not any(each.is_broker for each in roles)
    voters = _NODES if _NODES in takes.voters else takes.voters[0]
    steps = {
        "voter": f"--nodes {voters}" if alone else f"--set {CONTROLLERS}={voters}",
        "broker": f"--set {BROKERS}={takes.brokers[0]}",
    }
    step = next((step for what, step in steps.items() if f" {what}" in why), "without that setting")
    raise UsageError(f"{plan.scenario.name}: {why}\n  try: {step}")


def _require_victims(plan: RunPlan) -> None:
    """Raises UsageError for a fault whose victim, or other side, this cluster cannot have."""
    made, count = layout(plan.target, plan.nodes, plan.target_settings)
    nodes = range(1, count + 1)
    has_brokers = any(made.roles(NodeId(node)).is_broker for node in nodes)
    for fault in plan.faults:
        victim = fault.victim
        if isinstance(victim, OneNode) and victim.node not in nodes:
            why = f"there is no node {victim.node}; nodes: {', '.join(map(str, nodes))}"
        elif isinstance(victim, OF_BROKERS) and not has_brokers:
            why = f"there is no {victim}: this cluster has no brokers"
        elif _other_side(fault) is OtherSide.BROKERS and not has_brokers:
            why = "there are no links to brokers: this cluster has none"
        else:
            continue
        where = f"{plan.file.name}{plan.file.line_of(victim)}: " if plan.file is not None else ""
        more = f"--set {BROKERS}=3" if "brokers" in why else "one of these, or --nodes"
        raise UsageError(f"{where}{plan.scenario.name}: {fault.kind}: {why}\n  try: {more}")


def _require_own_app(plan: RunPlan) -> None:
    """Raises UsageError where an application could not reach brokers."""
    if plan.app and plan.runtime == SIM:
        raise UsageError(
            f"--app: an application cannot reach a simulated cluster\n  try: --runtime {DOCKER}"
        )
    if plan.app and plan.workload.servers is not Servers.BROKERS:
        raise UsageError(
            f"--app: {plan.scenario.name} has no clients of brokers\n"
            "  try: kraft-chaos run power-off-brokers"
        )


def _require_kept(plan: RunPlan) -> None:
    """Raises UsageError for what is to be had of a simulated cluster, and is not there."""
    asked = (
        ("--keep-on-failure", plan.keep_on_failure),
        ("--stop-at-first", plan.stop_at_first),
        ("--pcap", plan.pcap),
    )
    for flag, is_asked in asked:
        if is_asked and plan.runtime == SIM:
            raise UsageError(
                f"{flag}: nothing of a simulated cluster stays, and its seed repeats all of it\n"
                f"  try: --runtime {DOCKER}, or kraft-chaos shrink RUN"
            )


def _other_side(fault: Fault) -> OtherSide:
    return fault.peers if isinstance(fault, NetworkPartition) else OtherSide.ALL


def _require_apart(plan: RunPlan) -> None:
    """Raises UsageError for a script that combined nodes cannot run."""
    script = plan.scenario.script_with(plan.target_settings)
    if script is None or plan.target_settings.get(ROLES) != COMBINED:
        return
    made, count = layout(plan.target, plan.nodes, plan.target_settings)
    roles = [made.roles(NodeId(number)) for number in range(1, count + 1)]
    why = why_not_combined(script, sum(each.is_controller for each in roles))
    if why:
        raise UsageError(f"{plan.scenario.name} with {ROLES}={COMBINED}: {why}")


def runtime_of(
    asked: str, tell: Callable[[str], None], target: str = NODE, *, falls_back: bool = False
) -> str:
    """The requested runtime; else containers. Without them, and with `falls_back`, virtual time,
    after a message. Raises UsageError, and OperatorError without containers."""
    if asked == SIM and target != NODE:
        raise UsageError(
            f"--runtime {SIM} --target {target}: only our own node can be simulated\n"
            f"  try: --runtime {DOCKER}"
        )
    if asked:
        return asked
    why = RUNTIMES[DOCKER].why_not()
    if not why:
        return DOCKER
    if target != NODE:
        raise OperatorError(
            f"no containers here ({why}), and {target} runs only in containers\n"
            "  try: kraft-chaos doctor\n  without it: --target node"
        )
    if not falls_back:
        raise OperatorError(
            f"no containers here ({why})\n"
            f"  try: kraft-chaos doctor\n  in virtual time: --runtime {SIM}"
        )
    tell(f"no containers here ({why}): running in virtual time, as with --runtime {SIM}")
    return SIM


def require_reachable(runtime: str, *clients: str) -> None:
    """Raises UsageError for a library with a simulated cluster: libraries use real sockets and
    time."""
    for client in clients:
        if client != RAW and runtime == SIM:
            raise UsageError(
                f"{client} cannot reach a simulated cluster\n  try: --runtime {DOCKER}"
            )


def takes_kafka(scenario: Scenario) -> bool:
    """Whether a scenario of brokers needs what our own brokers do not have."""
    return not _can_run(scenario, NODE)


def runs_on_kafka(scenario: Scenario) -> bool:
    """Whether Apache Kafka has all that a scenario needs: brokers, and no feature that only our own
    node has."""
    return scenario.is_of_brokers and _can_run(scenario, KAFKA)


def _can_run(scenario: Scenario, target: str) -> bool:
    try:
        plan_of(Choices(scenario=scenario.name, seed=0, target=target, runtime=DOCKER))
    except UsageError:
        return False
    return True


def scenario_of(name: str, file: ScenarioFile | None = None) -> Scenario:
    """One of ours, of a user's file, or of an installed package; with the name "" the only one of
    the file. Raises UsageError, which names the known ones."""
    if file is not None:
        return _own_scenario(name, file)
    if name in CONTROLS:  # not among the scenarios: most of them accuse any node
        return CONTROLS[name]
    if name not in SCENARIOS:
        if (of_package := installed_file(name)) is not None:
            return _own_scenario(name, of_package)
        told = like(name, [*SCENARIOS, *offered(OF_PACKAGES)])
        raise UsageError(f"unknown scenario {name!r}; {told}\n  try: kraft-chaos list")
    return SCENARIOS[name]


def _own_scenario(name: str, file: ScenarioFile) -> Scenario:
    try:
        found = scenarios_in(file)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not name and len(found) == 1:
        (name,) = found
    if name not in found:
        raise UsageError(
            f"{file.name} has no scenario {name!r}\n  try: one of {', '.join(sorted(found))}"
        )
    if name in SCENARIOS or name in CONTROLS:
        raise UsageError(f"{file.name}: {name} is one of ours\n  try: another name")
    return found[name]


def sparing_load(scenario: str, file: ScenarioFile | None = None) -> tuple[int | None, float]:
    """Clients and their rate in campaigns of simulated runs, where each operation costs real time:
    just enough to judge. (None, 0.0) where the seed draws the load, or the scenario needs its own.
    Raises UsageError."""
    asked = scenario_of(scenario, file)
    return (None, 0.0) if asked.needs_its_load or asked.trial is not None else (5, 50.0)
