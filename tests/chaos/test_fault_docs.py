"""`docs/reference/faults.md` is generated; `pytest --rewrite` writes it anew."""

import pytest

from chaos.cluster.docker.clusters import SwitchableDockerCluster
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.nemesis.abilities import PROTOCOLS
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds import KINDS
from chaos.nemesis.manual import LABELS, manual, paragraphs
from tests.chaos.test_kinds import ONE_EACH
from tests.support.generated_page import hold_page


def test_the_page_says_what_the_kinds_say(pytestconfig: pytest.Config) -> None:
    hold_page(pytestconfig, "faults.md", "tests/chaos/test_fault_docs.py", manual())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_says_its_steps_its_evidence_and_its_limits(kind: type[Fault]) -> None:
    labels = [each.partition(":")[0] for each in paragraphs(kind)]
    assert tuple(label for label in labels if label in LABELS) == LABELS
    assert labels[0] not in LABELS


def can(cluster: type, fault: Fault) -> bool:
    """Whether clusters of this class have all that a fault needs."""
    methods = {name for need in fault.needs for name in vars(PROTOCOLS[need])}
    return all(hasattr(cluster, name) for name in methods if not name.startswith("_"))


@pytest.mark.parametrize("fault", ONE_EACH, ids=lambda fault: f"{fault.kind} {fault.victim}")
def test_a_kind_says_where_there_is_none_of_it(fault: Fault) -> None:
    limits = next(each for each in paragraphs(type(fault)) if each.startswith("Limits:"))
    assert ("In containers only" in limits) is not can(SimCluster, fault)
    assert ("In simulated clusters only" in limits) is not can(SwitchableDockerCluster, fault)
