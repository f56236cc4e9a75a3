"""The directories that a node's properties file names.

Kafka has the metadata log in metadata.log.dir, or else in the first of log.dirs, and does not start
if they are named in another order. Here it is in the directory that holds it, unless
metadata.log.dir names another.

A directory is the node's by its meta.properties, which `format` makes. As in Kafka no start makes
it (`KafkaRaftServer.initializeLogDirs`): a disk that is not mounted would be taken for a new one.
"""

from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path
from uuid import UUID, uuid4

from node.config import NodeConfig
from node.ids import uuid_text
from node.server.outcome import Refusal
from node.storage.disk import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    CorruptFile,
    Disk,
)
from node.storage.log_directories import LogDirectory
from node.storage.meta import MetaProperties, read_meta, save_meta

# A directory id for a disk without one.


def new_directory_id() -> UUID:
    """A random id, drawn as by Kafka: its text never begins with a dash, which commands would take
    for an option.
    """
    while uuid_text(drawn := uuid4()).startswith("-"):
        pass
    return drawn


Disks = Mapping[str, Disk]  # by the paths of `NodeConfig.directories`


def check_apart(config: NodeConfig) -> None:
    """No directory may be another one, or lie within it: what is in a log directory is taken for a
    replica's log. Raises Refusal.
    """
    found = [(path, Path(path).resolve()) for path in config.directories]
    for (one, inner), (other, outer) in permutations(found, 2):
        if inner.is_relative_to(outer):
            related = "are one and the same" if inner == outer else "lie one within the other"
            raise Refusal(
                what=f"two of the log directories {related}: {one} and {other}",
                where="log.dirs and metadata.log.dir",
                next_step="name directories there that lie beside each other, each once; then:"
                " kraft-node format --help",
            )


def metadata_directory(config: NodeConfig, disks: Disks) -> str:
    """The directory that holds, or is to hold, the metadata log. Raises Refusal."""
    holders = [path for path in config.directories if disks[path].exists(METADATA_DIRECTORY)]
    if config.metadata_log_dir is not None:
        chosen = config.metadata_log_dir
    elif holders:
        chosen = holders[0]
    else:
        unformatted = (path for path in config.log_dirs if not _is_formatted(disks[path]))
        chosen = next(unformatted, config.log_dirs[0])
    for other in holders:
        if other != chosen:
            raise Refusal(
                what=f"there is a metadata log in {other}, and the metadata log is in {chosen}",
                where=f"{other}/{METADATA_DIRECTORY}",
                next_step="set metadata.log.dir to the directory with the newer one, and move the"
                " other away; compare them with: kraft-node dump-log DIRECTORY",
            )
    disk = disks[chosen]
    if not holders and _is_formatted(disk) and not disk.exists(BOOTSTRAP_CHECKPOINT):
        raise Refusal(
            what="none of the directories has the metadata log",
            where=", ".join(config.directories),
            next_step="add the one that has it to log.dirs, or an empty one, and then:"
            f" kraft-node format -t CLUSTER_ID {_leaving(config)}",
        )
    return chosen


def log_directories(
    config: NodeConfig, own: MetaProperties, disks: Disks, draw_id: Callable[[], UUID]
) -> tuple[LogDirectory, ...]:
    """A broker's directories for replicas; `own` is of the one with the metadata log. A directory
    without an id, because its meta.properties is older than these, gets a new one (KIP-856, "Log
    Directory Storage UUID"). Raises Refusal, or CorruptFile.
    """
    found: dict[str, MetaProperties] = {config.log_dir: own}
    for path in config.directories:
        if path == config.log_dir:
            continue
        meta = found[path] = _meta(config, own, path, disks[path], draw_id())
        for other, known in found.items():
            if other != path and known.directory_id == meta.directory_id:
                raise Refusal(
                    what=f"two log directories have the same directory.id: {other} and {path}",
                    where=f"{path}/{META_PROPERTIES}",
                    next_step="one is a copy of the other: take the older one out of log.dirs;"
                    " or empty it, and then:"
                    f" kraft-node format -t {own.cluster_id} {_leaving(config)}",
                )
    return tuple(
        LogDirectory(path=path, id=found[path].directory_id, disk=disks[path])
        for path in config.log_dirs
    )


def _meta(
    config: NodeConfig, own: MetaProperties, path: str, disk: Disk, drawn: UUID
) -> MetaProperties:
    where = f"{path}/{META_PROPERTIES}"
    if not _is_formatted(disk):
        raise Refusal(
            what=f"one of the log directories is not formatted: it holds no {META_PROPERTIES}",
            where=where,
            next_step="mount its disk, or put the file back; or take it out of log.dirs; or, if it"
            f" is new and empty: kraft-node format -t {own.cluster_id} {_leaving(config)}",
        )
    try:
        meta = read_meta(disk, drawn)
    except CorruptFile as error:
        raise CorruptFile(f"in {path}: {error}") from error
    if (meta.cluster_id, meta.node_id) != (own.cluster_id, own.node_id):
        raise Refusal(
            what=f"this directory is of node {meta.node_id} in cluster {meta.cluster_id}, and"
            f" {config.log_dir} is of node {own.node_id} in cluster {own.cluster_id}",
            where=where,
            next_step=f"set log.dirs to directories of node {config.node_id}; or add an empty one,"
            f" and then: kraft-node format -t {own.cluster_id} {_leaving(config)}",
        )
    if meta.directory_id == drawn:
        save_meta(disk, meta)
    return meta


def _is_formatted(disk: Disk) -> bool:
    return disk.exists(META_PROPERTIES)


def _leaving(config: NodeConfig) -> str:
    """For directories that stay formatted as they are."""
    voters = "" if config.quorum_voters else " --no-initial-controllers"
    return f"-c FILE --ignore-formatted{voters}"
