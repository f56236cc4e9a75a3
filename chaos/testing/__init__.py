"""The public API for tests and scripts of one's own, in few nouns.

    Cluster                nodes in containers, hurt by calls; a context manager
    leader, isr_member, controller_leader, link ...   whom a fault hits
    run_scenario           runs a scenario; its Run has a Verdict, and a CheckResult of each check

`docs/how-to/clusters-in-tests.md` and `docs/how-to/pytest.md` show each in use;
`chaos.testing.plugin` has the same as fixtures of pytest. In an installed wheel the package is
`kraft_chaos.chaos.testing`.

Names are imported when they are first asked for: pytest imports the plug-in in every session.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.cluster.cluster_errors import ClusterError as ClusterError
    from chaos.cluster.interface import Link as Link
    from chaos.cluster.interface import NodeStatus as NodeStatus
    from chaos.errors import OperatorError as OperatorError
    from chaos.errors import UsageError as UsageError
    from chaos.nemesis.fault import Fault as Fault
    from chaos.setup.shell import SetupError as SetupError
    from chaos.testing.cluster import LastingFault as LastingFault
    from chaos.testing.cluster import LibraryCluster as Cluster
    from chaos.testing.cluster import NoEffectError as NoEffectError
    from chaos.testing.faults import any_broker as any_broker
    from chaos.testing.faults import controller_follower as controller_follower
    from chaos.testing.faults import controller_leader as controller_leader
    from chaos.testing.faults import isr_member as isr_member
    from chaos.testing.faults import leader as leader
    from chaos.testing.faults import link as link
    from chaos.testing.runs import JudgedRun as Run
    from chaos.testing.runs import run_scenario as run_scenario
    from checkers.verdict import CheckResult as CheckResult
    from checkers.verdict import Verdict as Verdict

# By the module of each, relative to this one.
_HOMES = {
    "..cluster.cluster_errors": ("ClusterError",),
    "..cluster.interface": ("Link", "NodeStatus"),
    "..errors": ("OperatorError", "UsageError"),
    "..nemesis.fault": ("Fault",),
    "..setup.shell": ("SetupError",),
    ".cluster": ("Cluster", "LastingFault", "NoEffectError"),
    ".faults": (
        "any_broker",
        "controller_follower",
        "controller_leader",
        "isr_member",
        "leader",
        "link",
    ),
    ".runs": ("CheckResult", "Run", "Verdict", "run_scenario"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
# The harness has types of those names.
_INSIDE = {"Cluster": "LibraryCluster", "Run": "JudgedRun"}
__all__ = [
    "CheckResult",
    "Cluster",
    "ClusterError",
    "Fault",
    "LastingFault",
    "Link",
    "NoEffectError",
    "NodeStatus",
    "OperatorError",
    "Run",
    "SetupError",
    "UsageError",
    "Verdict",
    "any_broker",
    "controller_follower",
    "controller_leader",
    "isr_member",
    "leader",
    "link",
    "run_scenario",
]

if not TYPE_CHECKING:  # it would hide misspelt names from a type checker

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__} has no {name}")
        return getattr(import_module(_HOME_OF[name], __name__), _INSIDE.get(name, name))
