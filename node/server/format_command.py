"""`kraft-node format`: formats empty directories for a node.

The voters are named by the properties file or by an option, not by both.
"""

import os
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from node.config import NodeConfig
from node.ids import Endpoint, ReplicaKey, uuid_text
from node.records.metadata import ELR_VERSION
from node.server.directories import check_apart, metadata_directory, new_directory_id
from node.server.outcome import WRONG_USAGE, Refusal
from node.server.real_disk import RealDisk
from node.storage.disk import AlreadyFormatted, Disk
from node.storage.format import (
    FormattedVoters,
    check_directory,
    format_data_directory,
    format_log_directory,
    new_identity,
)
from node.storage.meta import MetaProperties

STATIC_QUORUM = "kraft.version=0"
ELIGIBLE_LEADERS = f"{ELR_VERSION}=1"


def format_disk(options: Namespace, config: NodeConfig) -> str:
    """Format; returns a line for each directory. Raises Refusal, StorageError or OSError."""
    _check_voters(options, config)
    new = None if options.initial_controllers else new_directory_id()
    voters = None if config.quorum_voters else _first_voters(options, config, new)
    try:
        own = new_identity(options.cluster_id, config.node_id, voters or (), new)
    except ValueError as error:
        raise Refusal(
            what=str(error),
            where=f"--cluster-id and the voters, for node.id={config.node_id}",
            next_step="kraft-node format --help",
            code=WRONG_USAGE,
        ) from error
    check_apart(config)
    disks = {path: RealDisk(Path(path)) for path in config.directories}
    for disk in disks.values():
        make_durably(disk.root)
    home = metadata_directory(config, disks)
    for path, disk in disks.items():
        _check(options, config, path, disk)
    # The directory of the metadata log comes last: without it no node starts from the others.
    own = replace(own, lists_voters=voters is None and not _is_static(options))
    done = [_format_beside(own, disks[path]) for path in disks if path != home]
    written = format_log_directory(
        disks[home],
        cluster_id=options.cluster_id,
        node_id=config.node_id,
        voters=voters,
        timestamp_ms=time.time_ns() // 1_000_000,
        directory_id=new,
        ignore_formatted=options.ignore_formatted,
        static=_is_static(options),
        elr=ELIGIBLE_LEADERS in options.feature,
    )
    return "\n".join([*done, _done(disks[home], new, written=written)])


def _check(options: Namespace, config: NodeConfig, path: str, disk: Disk) -> None:
    try:
        check_directory(
            disk, options.cluster_id, config.node_id, ignore_formatted=options.ignore_formatted
        )
    except AlreadyFormatted as error:
        if len(config.directories) == 1:
            raise
        raise AlreadyFormatted(f"in {path}: {error}") from error


def _format_beside(own: MetaProperties, disk: RealDisk) -> str:
    """`own`: of the node; all its directories are formatted for the same kind of quorum."""
    meta = replace(own, directory_id=new_directory_id())
    return _done(disk, meta.directory_id, written=format_data_directory(disk, meta))


def _done(disk: RealDisk, new: UUID | None, *, written: bool) -> str:
    if not written:
        return f"{disk.root}: was formatted already"
    return f"{disk.root}: formatted" + ("" if new is None else f", directory id {uuid_text(new)}")


def _is_static(options: Namespace) -> bool:
    return STATIC_QUORUM in options.feature


def _check_voters(options: Namespace, config: NodeConfig) -> None:
    """The voters are named by the file or by an option. Raises Refusal."""
    chosen = options.initial_controllers or options.standalone or options.no_initial_controllers
    if _is_static(options) and not config.quorum_voters:
        raise Refusal(
            what=f"the file lists no voters, of which {STATIC_QUORUM} knows the ids",
            where=str(options.config),
            next_step="set controller.quorum.voters, the same in every node's file; then:"
            " kraft-node format -t CLUSTER_ID -c FILE",
            code=WRONG_USAGE,
        )
    if options.standalone and not config.is_controller:
        raise Refusal(
            what="a node that is no controller is no voter: --standalone cannot be given",
            where=str(options.config),
            next_step="add controller to process.roles; or:"
            " kraft-node format -t CLUSTER_ID -c FILE --no-initial-controllers",
            code=WRONG_USAGE,
        )
    if bool(chosen) != bool(config.quorum_voters):
        return
    options_ = "--initial-controllers, --standalone or --no-initial-controllers"
    what = f"nothing names the voters: the file lists no voters, and none of {options_} is given"
    step = "set controller.quorum.voters in every node's file; or kraft-node format --help"
    if chosen:
        what = f"the file lists the voters: none of {options_} can be given as well"
        step = "leave the option out, or take controller.quorum.voters out of every node's file"
    raise Refusal(what=what, where=str(options.config), next_step=step, code=WRONG_USAGE)


def _first_voters(options: Namespace, config: NodeConfig, new: UUID | None) -> FormattedVoters:
    """The voters of a new quorum; none if there is one already."""
    if new is not None:
        own = (ReplicaKey(config.node_id, new), config.advertised[:1])
        return (own,) if options.standalone else ()
    listener = config.controller_listener
    return tuple(
        (key, (Endpoint(name=listener, host=host, port=port),))
        for key, host, port in options.initial_controllers
    )


def make_durably(directory: Path) -> None:
    """Make a directory and its parents, so that each entry survives a power cut."""
    if directory.is_dir():
        return
    make_durably(directory.parent)
    directory.mkdir()
    descriptor = os.open(directory.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
