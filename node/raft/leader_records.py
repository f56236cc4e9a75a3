"""The control records that a leader writes of itself, and of who votes."""

from collections.abc import Sequence

from node.ids import Now
from node.raft.local_log import LocalLog
from node.raft.replicas import Replicas
from node.raft.roles import Leader
from node.raft.voter_set import VoterSet
from node.records.control import ControlRecord, LeaderChange, encode_control


def begin_epoch(log: LocalLog, leader: Leader, voters: VoterSet, now: Now) -> None:
    """LeaderChange is the first batch of an epoch: nothing older is committed without it."""
    change = LeaderChange(
        leader=leader.leader,
        voters=log.voters.form.told(voters.keys),
        granting_voters=log.voters.form.told(leader.granting),
    )
    _append(log, [change, *log.voters.first_records(())], leader, now)


def name_voters(log: LocalLog, leader: Leader, replicas: Replicas, now: Now) -> None:
    """The first leader of a quorum, once it has met all voters (KIP-856, "Bootstrapping")."""
    if not log.voters.is_named:
        records = log.voters.first_records(replicas.met(leader))
        if records:
            _append(log, records, leader, now)


def _append(log: LocalLog, records: Sequence[ControlRecord], leader: Leader, now: Now) -> None:
    encoded = [encode_control(record) for record in records]
    log.append_as_leader(encoded, leader.epoch, now, control=True)
