"""One power cut at a moment: from a new cluster to the answers of the restarted nodes.

The cluster's directory keeps all of it: `said/` and `held/`, the disks before and after the cut,
`now/`, as they are once the nodes have answered, and `cut.json`.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path

from chaos.cluster.cluster_errors import ClusterError, DiedAtStartError
from chaos.cluster.interface import Cluster, Described, NodeId, PowerCutMode
from chaos.cluster.powers import DiskCopies
from chaos.errors import OperatorError
from chaos.labs.audit.kafka_client import KafkaClient
from chaos.labs.audit.moment import AuditedCluster, ComparedAnswer, Moment, Stage, Way, asked
from chaos.labs.audit.next_start import (
    ComparedFile,
    Difference,
    NextStart,
    compare_copies,
    is_of_the_node,
    kind_of,
    outcomes,
)
from chaos.progress import Progress
from chaos.run.starvation import MachineWatch
from checkers.disk.batches import Record, batches_of, read_records
from checkers.disk.fields import DamagedError
from checkers.disk.metadata_log import METADATA_LOG
from checkers.disk.records import decode_control, decode_metadata
from checkers.disk.segments import LogFiles
from checkers.evidence.starvation import why_in_doubt

# The metadata logs of disks, compared record by record up to their committed end.
#
# The image of a log follows from its records: as long as every committed record is at its offset,
# byte for byte, no topic, configuration, broker, voter or feature can differ. The leader reported
# the committed end just before the cut. Afterwards the newest log must have all of that, whichever
# node has it, since only a node with the newest log is elected (KIP-595).


NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadataRecord:
    """Two records are the same if they have the same epoch, key and value."""

    epoch: int
    control: bool
    record: Record

    @property
    def told(self) -> str:
        """For people: its type, and the known part of its content."""
        try:
            found = (decode_control if self.control else decode_metadata)(self.record)
        except DamagedError as error:
            return f"epoch {self.epoch}: {error}"
        words = (found.type, found.resource, found.name, found.value, found.detail)
        return f"epoch {self.epoch}: {' '.join(word for word in words if word)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadata:
    """One metadata log; below `start` there is only a snapshot."""

    start: int
    records: Mapping[int, StoredMetadataRecord]  # by offset

    @property
    def newest(self) -> tuple[int, int]:
        """Epoch and offset of its last record: the node with the highest is elected."""
        last = max(self.records, default=-1)
        return (self.records[last].epoch, last) if last >= 0 else (-1, -1)


def committed_records(said: Path, now: Path, end: int) -> list[ComparedAnswer]:
    """The number of records below `end` that are still there, and each record that differs now.

    `said` and `now` hold a copy of each disk, before the cut and after the start.
    """
    before, after = newest_of(said), newest_of(now)
    first = max(before.start, after.start)
    offsets = range(first, end)
    if not offsets:
        return []
    other = [
        each
        for each in offsets
        if each not in before.records or before.records[each] != after.records.get(each)
    ]
    there = f"all {len(offsets)}"
    kept = there if not other else f"{len(offsets) - len(other)} of {len(offsets)}"
    return [
        _answer(f"metadata records {first} to {end - 1}", there, kept),
        *(_changed(each, before, after) for each in other),
    ]


def newest_of(copies: Path) -> StoredMetadata:
    """The newest metadata log of all disks; an empty one if there is none."""
    found = [stored_metadata(path) for path in sorted(copies.glob(f"*/*/{METADATA_LOG}"))]
    nothing = StoredMetadata(start=0, records={})
    return max(found, key=lambda each: each.newest, default=nothing)


def stored_metadata(directory: Path) -> StoredMetadata:
    """Up to the first damaged batch."""
    files = LogFiles(directory)
    records: dict[int, StoredMetadataRecord] = {}
    for _, data, scanned in files.segments():
        for batch in batches_of(data, scanned):
            try:
                found = list(read_records(batch)) if batch.crc_ok else None
            except DamagedError:
                found = None
            if found is None:
                return StoredMetadata(start=files.start, records=records)
            for record in found:
                records[record.offset] = StoredMetadataRecord(
                    epoch=batch.epoch, control=batch.control, record=record
                )
    return StoredMetadata(start=files.start, records=records)


def _changed(offset: int, before: StoredMetadata, after: StoredMetadata) -> ComparedAnswer:
    was, now = before.records.get(offset), after.records.get(offset)
    told = [each.told if each else NOTHING for each in (was, now)]
    return _answer(f"metadata record {offset}", *told)


def _answer(question: str, acknowledged: str, answered: str) -> ComparedAnswer:
    return ComparedAnswer(
        question=question,
        rests_on=(METADATA_LOG,),
        acknowledged=acknowledged,
        answered=answered,
        promised=True,
    )


FOUND = "cut.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """`target`: a key of `next_start.KINDS`. `flushed`: records are synced when acknowledged."""

    moment: Moment
    target: str
    mode: PowerCutMode
    flushed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFile:
    """A file of one node's disk, its kind, and the outcome."""

    node: int
    kind: str
    file: ComparedFile
    outcome: NextStart | None  # None: the disk held the whole file


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCut:
    """`void`: why the cut shows nothing; "" if the canary proves it, and no starved machine may be
    the reason for a silent node.

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
    """Make a cluster, cut its power, and remove it afterwards.

    Raises ClusterError, and OperatorError if something was not as acknowledged before the cut.
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
        # If nothing was acknowledged, no node has run.
        asks = way.in_time and stage.expected
        committed = await stage.client.committed_end() if asks else 0
        await cluster.power_off_copying(stage.victims, plan.mode, copies, stopped=way.stopped)
    finally:
        await stage.end()
    lived_s = time.monotonic() - began
    await stage.client.close()  # not earlier: a client that closes informs the nodes
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
    """Otherwise a change might not be due to the cut."""
    for answer in answers:
        if answer.changed:
            raise OperatorError(
                f"wrong before the power cut: {answer.question} is {answer.answered}, "
                f"acknowledged was {answer.acknowledged}"
            )


async def started(cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[str, str]:
    """The last words of nodes that do not start; "" if all do. Also why the machine may be to
    blame: a node that ended by itself refused, a silent one may have got no processor time."""
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
