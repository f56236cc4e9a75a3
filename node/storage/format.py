"""Formatting an empty disk for a node, with a directory id of its own.

Everything is durable when it returns, and meta.properties comes last, so that after a power cut at
any moment a disk is formatted or not: it never starts and then misses a file (Kafka 4.3's own tool
leaves an empty bootstrap.checkpoint after a cut within 30 s).
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from node.ids import Endpoint, Epoch, NodeId, ReplicaKey
from node.records.batch import MalformedRecord, Record
from node.records.control import ControlRecord, KRaftVersion, Voter, Voters
from node.records.metadata import (
    ELR_VERSION,
    METADATA_VERSION,
    NEWEST,
    FeatureLevelRecord,
    MetadataRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
)
from node.records.snapshot import SnapshotEncoder, SnapshotReader
from node.storage.disk import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    VOTERS_CHECKPOINT,
    AlreadyFormatted,
    CorruptFile,
    Disk,
)
from node.storage.log_directories import logs_on
from node.storage.meta import (
    MetaProperties,
    check_cluster_id,
    check_directory_id,
    encode_meta,
    load_meta,
)
from node.storage.segment import parse_segment_name

# The initial snapshots: the quorum's voters and the first metadata records.
#
# Both are snapshot files (`node.records.snapshot`) that no leader wrote, so their epoch is 0.


FormattedVoters = tuple[tuple[ReplicaKey, tuple[Endpoint, ...]], ...]
_NO_EPOCH = Epoch(0)
_NEXT_STEP = "  try: put it back from a copy of this disk, or format an empty disk"


def encode_voters(voters: FormattedVoters, *, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a quorum of voters with directory ids (kraft.version 1). Empty for a
    node that is to learn the voters from the log.
    """
    rows = tuple(Voter(key=key, endpoints=endpoints) for key, endpoints in voters)
    controls: list[ControlRecord] = [KRaftVersion(version=1)]
    if rows:
        controls.append(Voters(voters=rows))
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    return encoder.opening(controls) + encoder.closing()


def encode_static(*, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a static quorum (kraft.version 0): the voters are listed in the nodes'
    configuration, and ids alone count.
    """
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    return encoder.opening([KRaftVersion(version=0)]) + encoder.closing()


def is_static(disk: Disk) -> bool:
    """Does the 0-0 checkpoint say that the quorum is static? Raises CorruptFile."""
    if not disk.exists(VOTERS_CHECKPOINT):
        return False
    return _read_snapshot(disk, VOTERS_CHECKPOINT) == ([KRaftVersion(version=0)], [])


def encode_bootstrap(records: Sequence[MetadataRecord], *, timestamp_ms: int) -> bytes:
    """bootstrap.checkpoint: what the first active controller writes into an empty log."""
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    values = [encode_metadata(record) for record in records]
    return encoder.opening(()) + encoder.data(values) + encoder.closing()


def read_voters(disk: Disk) -> FormattedVoters:
    """The voters of the 0-0 checkpoint, with their endpoints. Raises CorruptFile."""
    if not disk.exists(VOTERS_CHECKPOINT):
        raise CorruptFile(
            f"nothing names the voters: {VOTERS_CHECKPOINT} is missing, and the"
            " configuration lists no voters\n"
            "  try: set controller.quorum.voters, if it was set when this disk was formatted, or"
            " controller.quorum.bootstrap.servers, if its node is to learn them; otherwise put the"
            " file back from a copy of this disk, or format an empty disk"
        )
    match _read_snapshot(disk, VOTERS_CHECKPOINT):
        case ([KRaftVersion(), Voters(voters=(_, *_) as voters)], []):
            return tuple((voter.key, voter.endpoints) for voter in voters)
        case ([KRaftVersion()], []):
            return ()
        case _:
            raise _corrupt(VOTERS_CHECKPOINT, "it does not hold a kraft.version and voters")


def read_bootstrap(disk: Disk) -> tuple[MetadataRecord, ...]:
    """The records of bootstrap.checkpoint, metadata.version first. Raises CorruptFile."""
    match _read_snapshot(disk, BOOTSTRAP_CHECKPOINT):
        case ([], [FeatureLevelRecord(name="metadata.version"), *_] as records):
            return tuple(records)
        case _:
            raise _corrupt(BOOTSTRAP_CHECKPOINT, "its first record does not set metadata.version")


def _read_snapshot(disk: Disk, path: str) -> tuple[list[ControlRecord], list[MetadataRecord]]:
    """The records between a snapshot's header and its footer."""
    if not disk.exists(path):
        raise CorruptFile(f"{path} is missing\n{_NEXT_STEP}")
    reader = SnapshotReader(_NO_EPOCH)
    try:
        batches = reader.feed(disk.read_all(path))
        records = [_known(each) for batch in batches for each in batch.records()]
    except ValueError as error:  # DamagedBatch and MalformedRecord
        raise _corrupt(path, str(error)) from error
    if not reader.is_complete:
        raise _corrupt(path, "it is not enclosed by a snapshot's header and footer")
    return reader.controls, records


def _known(record: Record) -> MetadataRecord:
    found = decode_metadata(record.value)
    if isinstance(found, UnknownRecord):
        raise MalformedRecord(f"{found} is unknown")  # this node would have to write it
    return found


def _corrupt(path: str, why: str) -> CorruptFile:
    return CorruptFile(f"{path} is damaged: {why}\n{_NEXT_STEP}")


def format_log_directory(
    disk: Disk,
    *,
    cluster_id: str,
    node_id: NodeId,
    voters: FormattedVoters | None,
    timestamp_ms: int,
    directory_id: UUID | None = None,
    ignore_formatted: bool = False,
    static: bool = False,
    elr: bool = False,
) -> bool:
    """Write the files that a node of a quorum starts from; False if they exist already.

    `directory_id` (KIP-856, "Log Directory Storage UUID") is the new directory's; otherwise it is
    that of the node's entry in `voters`, which is empty for a node that is to learn the voters from
    others, and None if the configuration lists the voters of the quorum; with `static` these are
    known by their ids alone (kraft.version 0); with `elr` the cluster begins with eligible leader
    replicas (KIP-966). `timestamp_ms` is the wall-clock time in the checkpoints. Raises
    AlreadyFormatted on a directory that belongs to a node (with `ignore_formatted` only if to
    another one), ValueError on invalid ids.
    """
    meta = new_identity(cluster_id, node_id, voters or (), directory_id)
    meta = replace(meta, lists_voters=voters is None and not static)
    if disk.exists(META_PROPERTIES):
        is_own = ignore_formatted and _is_same_node(load_meta(disk), meta, directory_id)
        _refuse_formatted(disk, is_own=is_own, ignore_formatted=ignore_formatted)
        return False
    _refuse_remains(disk)
    disk.make_directory(METADATA_DIRECTORY)
    if voters is not None:
        disk.replace(VOTERS_CHECKPOINT, encode_voters(voters, timestamp_ms=timestamp_ms))
    elif static:
        disk.replace(VOTERS_CHECKPOINT, encode_static(timestamp_ms=timestamp_ms))
    levels = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=NEWEST)]
    if elr:
        levels.append(FeatureLevelRecord(name=ELR_VERSION, feature_level=1))
    disk.replace(BOOTSTRAP_CHECKPOINT, encode_bootstrap(levels, timestamp_ms=timestamp_ms))
    disk.replace(META_PROPERTIES, encode_meta(meta))
    return True


def format_data_directory(disk: Disk, meta: MetaProperties) -> bool:
    """Format another directory of a broker, beside the one with the metadata log; False if it is
    formatted already, with any id. `check_directory` was called before.
    """
    if disk.exists(META_PROPERTIES):
        return False
    disk.replace(META_PROPERTIES, encode_meta(meta))
    return True


def check_directory(
    disk: Disk, cluster_id: str, node_id: NodeId, *, ignore_formatted: bool
) -> None:
    """May this node have the directory? All are checked before the first is written: one of them
    may be another node's. Raises AlreadyFormatted.
    """
    if not disk.exists(META_PROPERTIES):
        _refuse_remains(disk)
        return
    found = load_meta(disk)
    is_own = (found.cluster_id, found.node_id) == (cluster_id, node_id)
    was_interrupted = disk.names("") == [META_PROPERTIES]  # the format, after this directory
    is_left = is_own and (ignore_formatted or was_interrupted)
    _refuse_formatted(disk, is_own=is_left, ignore_formatted=ignore_formatted)


def new_identity(
    cluster_id: str, node_id: NodeId, voters: FormattedVoters, directory_id: UUID | None
) -> MetaProperties:
    """The identity for `format_log_directory`. Raises ValueError on invalid ids."""
    check_cluster_id(cluster_id)
    ids = [key.id for key, _ in voters]
    if len(set(ids)) != len(ids):
        raise ValueError(f"a node id appears twice among the voters: {ids}")
    for key, _ in voters:
        check_directory_id(key.directory)
    own = [key.directory for key, _ in voters if key.id == node_id]
    if directory_id is None and not own:
        raise ValueError(f"node {node_id} is not among the voters {ids}")
    directory = own[0] if directory_id is None else directory_id
    return MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=directory)


def _is_same_node(found: MetaProperties, meta: MetaProperties, new: UUID | None) -> bool:
    """Compares its directory id too, unless that was to be a new one."""
    return found == meta if new is None else replace(found, directory_id=new) == meta


def _refuse_formatted(disk: Disk, *, is_own: bool, ignore_formatted: bool) -> None:
    if is_own:
        return
    found = load_meta(disk)
    raise AlreadyFormatted(
        f"the log directory is formatted already: cluster {found.cluster_id},"
        f" node {found.node_id}\n"
        "  try: start the node, or give format an empty log directory"
        + ("" if ignore_formatted else "; --ignore-formatted leaves this node's own as it is")
    )


def _refuse_remains(disk: Disk) -> None:
    """Refuse logs or a vote without meta.properties: it was removed, and a format would hide that.

    What an interrupted format leaves behind is neither, and is overwritten.
    """
    segments = [
        name for name in disk.names(METADATA_DIRECTORY) if parse_segment_name(name) is not None
    ]
    replicas = logs_on(disk)
    if not (segments or replicas or disk.exists(QUORUM_STATE)):
        return
    what = f"{replicas[0]} holds" if replicas else f"{METADATA_DIRECTORY} holds"
    raise AlreadyFormatted(
        f"{what} a log or a vote, but {META_PROPERTIES} is missing\n"
        f"  try: put {META_PROPERTIES} back, or give format an empty log directory"
    )
