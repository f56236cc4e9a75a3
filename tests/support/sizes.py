"""The smallest, a middle and the largest cluster that a scenario takes, and how one asks for it."""

from chaos.cluster.targets.mixed import MIXED, SIZE
from chaos.run.planning import Choices, takes_kafka
from chaos.run.runtimes import DOCKER
from chaos.scenario import SIM, Scenario


def sizes_of(scenario: Scenario) -> tuple[int, ...]:
    """Voters of a quorum, or brokers; three of them where it takes so many. The middle one of a
    quorum that may have 1 to 7 voters is even: half of it is no majority."""
    if scenario.of_both:
        return (SIZE,)
    taken = scenario.takes.brokers if scenario.is_of_brokers else scenario.takes.voters
    sizes = [size for size in taken if size]
    return tuple(dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1])))


def choices_at(scenario: Scenario, size: int) -> Choices:
    """In virtual time, where the scenario can be run in it."""
    if scenario.of_both:
        return Choices(scenario=scenario.name, seed=1, target=MIXED, runtime=DOCKER)
    if takes_kafka(scenario):
        return Choices(scenario=scenario.name, seed=1, target="kafka", nodes=size, runtime=DOCKER)
    return Choices(scenario=scenario.name, seed=1, nodes=size, runtime=SIM)
