"""A metadata log of records that our controller decided, on disks, as the judge reads it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from checkers.disk import read_disks
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import Run
from node.ids import Epoch, NodeId, Offset, ReplicaKey
from node.records.batch import encode_batch
from node.records.control import LeaderChange, encode_control
from node.records.metadata import MetadataRecord, encode_metadata
from node.storage.meta import MetaProperties, encode_meta
from tests.support.kafka_runs import Cluster

NODE = NodeId(1)
KEY = ReplicaKey(NODE)
EPOCH = Epoch(1)


def run_of(
    batches: Sequence[Sequence[MetadataRecord]], ends: Sequence[tuple[str, int]], *, level: int
) -> Run:
    """One voter's log: a batch for each decision. `ends`: by which fault, of which broker each of
    its lives but the last ended, in order."""
    cluster = Cluster()
    for at, (kind, broker) in enumerate(ends):
        cluster.ended(kind, broker, at)
    run = cluster.run(
        target="node",
        roles={"1": "broker,controller"},
        nodes=1,
        settings={},
        gives=(
            Kind.METADATA_LOGS,
            Kind.FAULTS,
            Kind.TRACES,
        ),  # nobody wrote down what was asked for
        # Nobody heals anything: what is promised of a cluster that is whole again is not judged.
        stuck="brokers do what they like to the end",
    )
    with TemporaryDirectory() as home:
        _write(Path(home), _log(batches, level))
        return replace(run, tables={**run.tables, **read_disks(Path(home))})


def _log(batches: Sequence[Sequence[MetadataRecord]], level: int) -> bytes:
    elected = LeaderChange(leader=NODE, voters=(KEY,), granting_voters=(KEY,))
    head = encode_batch(
        [encode_control(elected)],
        base_offset=Offset(0),
        leader_epoch=EPOCH,
        timestamp_ms=0,
        control=True,
    )
    log, end = [head], 1
    for batch in filter(None, batches):
        values = [(None, encode_metadata(record, level)) for record in batch]
        log.append(
            encode_batch(values, base_offset=Offset(end), leader_epoch=EPOCH, timestamp_ms=0)
        )
        end += len(batch)
    return b"".join(log)


def _write(home: Path, log: bytes) -> None:
    directory = home / f"node-{NODE}" / "kraft"
    (directory / "__cluster_metadata-0").mkdir(parents=True)
    meta = MetaProperties(cluster_id="cluster", node_id=NODE, directory_id=UUID(int=1 << 64))
    (directory / "meta.properties").write_bytes(encode_meta(meta))
    (directory / "__cluster_metadata-0" / f"{0:020}.log").write_bytes(log)
