"""The plug-in of pytest: the fixtures `chaos_run` and `kraft_cluster`, their markers, seeds, what
failed tests leave.

pytest imports this in every session, so the harness is imported only where a test asks for it.

The cluster that the tests of a session use one after another.
"""

import hashlib
import random
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from chaos.testing.cluster import LibraryCluster

if TYPE_CHECKING:
    from chaos.testing import Cluster, Run


class Pool:
    """At most one cluster at a time. A test gets the one before it, if it asks for the same and
    that one is as it was when it came up; a new one otherwise."""

    def __init__(self) -> None:
        self._cluster: LibraryCluster | None = None
        self._options: Mapping[str, Any] = {}
        self._ending = ExitStack()

    def take(self, options: Mapping[str, Any], evidence: Path, *, fresh: bool) -> LibraryCluster:
        """`evidence` is where it leaves logs and disks if it does not come up. Raises as Cluster
        does."""
        if self._cluster is not None and not fresh and self._options == options:
            return self._cluster
        another = LibraryCluster(**options, evidence=evidence)
        self.drop()
        self._cluster = self._ending.enter_context(another)
        self._options = dict(options)
        return self._cluster

    def give_back(self, *, passed: bool) -> None:
        """After a test; a failed one leaves nothing to the next. Raises NoEffectError as a fault
        does that is healed now."""
        try:
            if not passed or self._cluster is None or not self._cluster.reset():
                self.drop()
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Remove the cluster, if there is one."""
        self._cluster = None
        self._ending.close()


_SEED = pytest.StashKey[int]()
_RUNS = pytest.StashKey["list[Run]"]()
_CLUSTER = pytest.StashKey["_Used"]()
_FAILED = pytest.StashKey[bool]()
_WORKER_SEED = "chaos_seed"
_LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class _Used:
    """The cluster of a test."""

    cluster: "Cluster"
    seed: int
    evidence: Path

    def kept(self) -> str:
        """What was done to it; its logs and disks are where the text says."""
        from chaos.testing import ClusterError

        try:
            self.cluster.collect(self.evidence)
            where = f"logs and disks: {self.evidence}"
        except (ClusterError, OSError) as error:
            where = f"no logs and disks: {error}"
        return "\n".join([*self.cluster.events, where])


class RunScenario(Protocol):
    """The type of the fixture `chaos_run`."""

    def __call__(self, scenario: str = "", **options: Any) -> "Run":
        """Run a scenario; `options` are those of `run_scenario`, over those of the test's marker.
        Without a seed it is drawn from the session's seed and the test's name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kraft-chaos")
    group.addoption(
        "--chaos-seed",
        type=int,
        metavar="N",
        help="the seed from which each test's seed is drawn (default: random, and printed)",
    )
    group.addoption(
        "--chaos-out",
        type=Path,
        default=Path("runs/tests"),
        metavar="DIR",
        help="where runs of failed tests are kept (default runs/tests)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "chaos(**options): options of the runs of this test, as of chaos.testing.run_scenario: "
        "runtime, target, nodes, duration_s, settings, seed",
    )
    config.addinivalue_line(
        "markers",
        "kraft(**options): the cluster of this test, as of chaos.testing.Cluster: target, nodes, "
        "brokers, settings, seed; fresh=True for one that no other test has used",
    )
    asked: int | None = config.getoption("--chaos-seed")
    if asked is None:
        given = getattr(config, "workerinput", {}).get(_WORKER_SEED)
        asked = random.SystemRandom().randrange(_LARGEST) if given is None else int(given)
    config.stash[_SEED] = asked


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers of pytest-xdist draw from one seed."""
    node.workerinput[_WORKER_SEED] = node.config.stash[_SEED]


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.stash[_SEED]
    return f"chaos: seed {seed}; the same runs again: --chaos-seed {seed}"


@pytest.fixture
def chaos_run(request: pytest.FixtureRequest) -> Iterator[RunScenario]:
    """Runs scenarios. What a failed test ran is kept, with its page; other runs are removed."""
    from chaos.testing import run_scenario

    test, config = request.node, request.config
    runs: list[Run] = test.stash.setdefault(_RUNS, [])
    marker = test.get_closest_marker("chaos")
    drawn = random.Random(f"{config.stash[_SEED]}:{test.nodeid}")
    out: Path = config.getoption("--chaos-out")

    def run(scenario: str = "", **options: Any) -> "Run":
        chosen = {**(marker.kwargs if marker else {}), **options}
        chosen.setdefault("seed", drawn.randrange(_LARGEST))
        runs.append(run_scenario(scenario, out=out / _plain(test.nodeid), **chosen))
        return runs[-1]

    yield run
    if not test.stash.get(_FAILED, True):
        for each in runs:
            shutil.rmtree(each.directory, ignore_errors=True)
        shutil.rmtree(out / _plain(test.nodeid), ignore_errors=True)


@pytest.fixture(scope="session")
def _kraft_pool() -> Iterator["Pool"]:
    from chaos.testing.plugin import Pool

    pool = Pool()
    yield pool
    pool.drop()


@pytest.fixture
def kraft_cluster(request: pytest.FixtureRequest, _kraft_pool: "Pool") -> Iterator["Cluster"]:
    """A cluster in containers, all of whose nodes run; tests of a session that ask for the same
    share it, one after another. Without an engine the test fails. A failed test's logs and disks
    are kept."""
    from chaos.testing import (
        ClusterError,
        NoEffectError,
        OperatorError,
        SetupError,
        UsageError,
    )

    test, config = request.node, request.config
    marker = test.get_closest_marker("kraft")
    options = dict(marker.kwargs) if marker else {}
    seed, fresh = options.pop("seed", None), options.pop("fresh", False)
    if seed is None:
        seed = random.Random(f"{config.stash[_SEED]}:{test.nodeid}").randrange(_LARGEST)
    evidence = config.getoption("--chaos-out") / _plain(test.nodeid) / "cluster"
    try:
        cluster = _kraft_pool.take(options, evidence, fresh=fresh)
    except (ClusterError, OperatorError, SetupError, UsageError) as error:
        told = [str(error), *getattr(error, "__notes__", ())]
        pytest.fail("\n".join(told), pytrace=False)
    cluster.draw_from(seed)
    test.stash[_CLUSTER] = _Used(cluster, seed, evidence)
    yield cluster
    try:
        _kraft_pool.give_back(passed=not test.stash.get(_FAILED, True))
    except NoEffectError as error:
        pytest.fail(str(error), pytrace=False)


def _plain(nodeid: str) -> str:
    """A test's name as a directory's. Names that differ in what a directory cannot have are told
    apart by a digest: the one removes what it ran, and the other keeps it."""
    digest = hashlib.sha256(nodeid.encode()).hexdigest()[:6]
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in nodeid) + f"-{digest}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a failed test leaves, on the terminal and in JUnit's XML: the page of each of its runs,
    logs and disks of its cluster."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
        if report.failed:
            for run in item.stash.get(_RUNS, []):
                report.sections.append((f"chaos run, seed {run.seed}", str(run)))
                item.user_properties.append(("chaos_page", str(run.page)))
            if used := item.stash.get(_CLUSTER, None):
                report.sections.append((f"kraft cluster, seed {used.seed}", used.kept()))
                item.user_properties.append(("chaos_evidence", str(used.evidence)))
    return report
