"""One power cut at a moment: from a new cluster to the answers of the nodes that started again.

The cluster's directory keeps all of it: `said/` and `held/`, the disks before and after the cut,
`now/`, as they are once the nodes have answered, and `cut.json`.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path

from chaos.audit.copies import ComparedFile, compare_copies
from chaos.audit.file_kinds import is_of_the_node, kind_of
from chaos.audit.kafka_client import KafkaClient
from chaos.audit.metadata_images import committed_records
from chaos.audit.moment import AuditedCluster, Moment, Stage, Way
from chaos.audit.next_start import Difference, NextStart, outcomes
from chaos.audit.questions import ComparedAnswer, asked
from chaos.cluster.cluster_errors import ClusterError, DiedAtStartError
from chaos.cluster.interface import Cluster, Described, NodeId, PowerCutMode
from chaos.cluster.powers import DiskCopies
from chaos.operator_errors import OperatorError
from chaos.progress import Progress
from chaos.starvation import MachineWatch
from checkers.run.recovery import why_in_doubt

FOUND = "cut.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """`target`: a key of `file_kinds.KINDS`. `flushed`: records are synced when acknowledged."""

    moment: Moment
    target: str
    mode: PowerCutMode
    flushed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFile:
    """A file of one node's disk, what it is, and what became of it."""

    node: int
    kind: str
    file: ComparedFile
    outcome: NextStart | None  # None: the disk held what it said


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCut:
    """`void`: why the cut shows nothing; "" where the canary proves it, and no starved machine may
    be why a node was not heard of.

    `lived_s`: from the making of the disks to the cut; no byte waited longer for its sync.
    """

    moment: str
    directory: str  # its name, beside the page
    files: Sequence[ObservedFile]
    answers: Sequence[ComparedAnswer]
    refusal: str
    void: str
    lived_s: float

    @property
    def differences(self) -> Sequence[ObservedFile]:
        return [each for each in self.files if each.file.differs]


async def cut_once(
    plan: CutPlan, cluster: AuditedCluster, directory: Path, progress: Progress
) -> ObservedCut:
    """On a cluster that is not there yet, and is gone afterwards.

    Raises ClusterError, and OperatorError where something was not as acknowledged before the cut.
    """
    began = time.monotonic()
    try:
        progress.status(f"{plan.moment.name}: creating the cluster")
        await cluster.create()
        return await _cut(plan, cluster, directory, progress, began)
    finally:
        await cluster.destroy()


def never_cut(plan: CutPlan, directory: Path, why: str) -> ObservedCut:
    """The moment was not reached, or the nodes were not cut then."""
    return ObservedCut(
        moment=plan.moment.name,
        directory=directory.name,
        files=[],
        answers=[],
        refusal="",
        void=why,
        lived_s=0.0,
    )


async def _cut(
    plan: CutPlan, cluster: AuditedCluster, directory: Path, progress: Progress, began: float
) -> ObservedCut:
    way = plan.moment.ways[plan.target]
    copies = DiskCopies(said=directory / "said", held=directory / "held")
    stage = Stage(
        cluster=cluster,
        client=KafkaClient(cluster),
        victims=_victims(cluster, way),
        scratch=directory / "scratch",
        flushed=plan.flushed,
    )
    progress.status(f"{plan.moment.name}: on the way there")
    try:
        await way.reach(stage)
        _require_kept(await asked([each for each in stage.expected if each.now]))
        progress.status(f"{plan.moment.name}: cutting the power")
        # Where nothing was acknowledged, no node has run.
        asks = way.in_time and stage.expected
        committed = await stage.client.committed_end() if asks else 0
        await cluster.power_off_copying(stage.victims, plan.mode, copies, stopped=way.stopped)
    finally:
        await stage.end()
    lived_s = time.monotonic() - began
    await stage.client.close()  # not before: a client that leaves says so to the nodes
    progress.status(f"{plan.moment.name}: starting from what the disk holds")
    refusal, doubt = await started(cluster, stage.victims)
    answers = [] if refusal else await asked(stage.expected)
    await stage.client.close()
    await cluster.copy_disks(stage.victims, directory / "now")
    if not refusal:
        answers += committed_records(copies.said, directory / "now", committed)
    observed = ObservedCut(
        moment=plan.moment.name,
        directory=directory.name,
        files=_observed(plan.target, copies, directory / "now", answers, refusal),
        answers=answers,
        refusal=refusal,
        void=doubt or await _void(cluster, stage.victims),
        lived_s=round(lived_s, 1),
    )
    text = json.dumps(asdict(observed), indent=2)
    (directory / FOUND).write_text(f"{text}\n", encoding="utf-8")
    return observed


def _victims(cluster: AuditedCluster, way: Way) -> Sequence[NodeId]:
    if not way.controllers_only:
        return cluster.nodes
    assert isinstance(cluster, Described)
    return [node for node, roles in cluster.roles.items() if not roles.is_broker]


def _require_kept(answers: Sequence[ComparedAnswer]) -> None:
    """Else a change after the cut would not be the cut's."""
    for answer in answers:
        if answer.changed:
            raise OperatorError(
                f"before the cut already: {answer.question} is {answer.answered}, "
                f"acknowledged was {answer.acknowledged}"
            )


async def started(cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[str, str]:
    """Of those that do not start, the last words; "" where all do. And why the machine may be to
    blame: a node that ended by itself refused, one that was not heard of may not have been let run.
    """
    machine = MachineWatch()
    watching = asyncio.create_task(machine.watch())
    try:
        starts = (cluster.start(node) for node in nodes)
        ends = await asyncio.gather(*starts, return_exceptions=True)
    finally:
        watching.cancel()
    failed = [end for end in ends if end is not None]
    for end in failed:
        if not isinstance(end, ClusterError):
            raise end
    unheard = failed and not any(isinstance(end, DiedAtStartError) for end in failed)
    doubt = why_in_doubt(machine.figures(inf)) if unheard else ""
    return "\n".join(map(str, failed)), doubt


async def _void(cluster: AuditedCluster, nodes: Sequence[NodeId]) -> str:
    told = {node: await cluster.power_evidence(node) for node in nodes}
    return "; ".join(f"node {node}: {each.what}" for node, each in told.items() if not each.bit)


def _observed(
    target: str, copies: DiskCopies, now: Path, answers: Sequence[ComparedAnswer], refusal: str
) -> Sequence[ObservedFile]:
    files = [
        (disk.name, each)
        for disk in sorted(copies.said.iterdir())
        for each in compare_copies(disk, copies.held / disk.name)
        if is_of_the_node(each.path)
    ]
    differences = [
        Difference(
            node=_node_of(disk),
            file=each,
            kind=kind_of(each.path, target),
            now_as_held=_now_as_held(copies.held / disk / each.path, now / disk / each.path),
        )
        for disk, each in files
        if each.differs
    ]
    became = outcomes(differences, answers, refusal)
    return [
        ObservedFile(
            node=_node_of(disk),
            kind=kind_of(each.path, target).name,
            file=each,
            outcome=became.get((_node_of(disk), each.path)),
        )
        for disk, each in files
    ]


def _node_of(disk: str) -> int:
    return int(disk.rpartition("-")[2])


def _now_as_held(held: Path, now: Path) -> bool:
    if not now.is_file():
        return True
    return held.is_file() and held.read_bytes().rstrip(b"\0") == now.read_bytes().rstrip(b"\0")
