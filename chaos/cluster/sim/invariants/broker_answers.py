"""All answers of one life of a broker, by their kind."""

from collections.abc import Callable

from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, KeptReplicas
from chaos.cluster.sim.invariants.epoch_end_answers import EpochEndAnswers, TruthOfLeaders
from chaos.cluster.sim.invariants.group_answers import GroupAnswers
from chaos.cluster.sim.invariants.log_answers import LogAnswers
from chaos.cluster.sim.invariants.rules import Heard
from node.ids import ConnectionId
from node.outbox import ResponseTo
from node.wire.group_descriptions import FindCoordinatorResponse
from node.wire.group_membership import HeartbeatResponse, JoinGroupResponse, SyncGroupResponse
from node.wire.group_offsets import OffsetCommitResponse, OffsetFetchResponse
from node.wire.offsets import (
    DeleteRecordsResponse,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
)
from node.wire.partition_fetch import PartitionsFetchResponse
from node.wire.produce import ProduceResponse
from node.wire.topic_metadata import MetadataResponse

ReadClock = Callable[[], int]  # ns


class BrokerAnswers:
    def __init__(self, watch: BrokerWatch, held: KeptReplicas, read_clock: ReadClock) -> None:
        self._leaders = TruthOfLeaders(watch, held, watch.looked)
        self._logs = LogAnswers(watch, held, self._leaders, watch.looked)
        self._bounds = EpochEndAnswers(watch, held, self._leaders, watch.looked)
        self._groups = GroupAnswers(watch, held, watch.looked)
        self._read_clock = read_clock
        self._asked: dict[ConnectionId, Heard] = {}

    def hear(self, connection: ConnectionId, asked: Heard) -> None:
        self._asked[connection] = asked
        self._groups.hear(asked)

    def forget(self, connection: ConnectionId) -> None:
        asked = self._asked.pop(connection, None)
        if asked is not None:
            self._groups.forget(asked)

    def judge(self, answer: ResponseTo) -> None:
        """Raises Broken."""
        asked = self._asked.pop(answer.connection, None)
        if asked is None:
            return
        match answer.response:
            case ProduceResponse() as told:
                self._logs.produced(told, asked, self._read_clock())
            case PartitionsFetchResponse() as told:
                self._logs.fetched(told, asked)
            case ListOffsetsResponse() as told:
                self._logs.listed(told, asked)
            case OffsetForLeaderEpochResponse() as told:
                self._bounds.ended(told, asked)
            case DeleteRecordsResponse() as told:
                self._bounds.deleted(told, asked, self._read_clock())
            case MetadataResponse() as told:
                self._leaders.described(told)
            case JoinGroupResponse() as told:
                self._groups.joined(told, asked)
            case SyncGroupResponse() as told:
                self._groups.synced(told, asked)
            case HeartbeatResponse() as told:
                self._groups.heard(told, asked)
            case OffsetCommitResponse() as told:
                self._groups.committed(told, asked)
            case OffsetFetchResponse() as told:
                self._groups.looked_up(told, asked)
            case FindCoordinatorResponse() as told:
                self._groups.found(told, asked)
            case _:
                pass
