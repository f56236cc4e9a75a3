"""Judges a controller's acknowledgements: the records are in the metadata log, and committed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from chaos.cluster.sim.invariants.rules import Broken, Looked
from chaos.cluster.sim.invariants.view import ControllerView
from node.controller.image import Partition, PartitionKey
from node.errors import ErrorCode
from node.ids import NodeId, Offset
from node.records.batch import split_batches
from node.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnknownRecord,
    decode_metadata,
)
from node.storage.view import LogView
from node.wire.alter_partition import AlterPartitionResponse
from node.wire.api_versions import UpdateFeaturesRequest, UpdateFeaturesResponse
from node.wire.configs import AlterConfigsRequest, AlterConfigsResponse
from node.wire.produce import AllocateProducerIdsResponse
from node.wire.reassignments import AlterReassignmentsRequest, AlterReassignmentsResponse
from node.wire.registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsResponse,
)

# Records of the metadata log, read from the log itself: those written since a request arrived.


_READ_BYTES = 1 << 20


def written_between(
    log: LogView, start: Offset, end: Offset
) -> Iterator[MetadataRecord | UnknownRecord]:
    """Records of whole batches, from the log's start at the earliest."""
    offset = max(start, log.start())
    while offset < end:
        for batch in split_batches(log.read(offset, _READ_BYTES)):
            offset = batch.header.next_offset
            if batch.header.is_control or offset > end:
                continue
            for value in batch.values():
                yield decode_metadata(value)


_SET, _DELETE = 0, 1  # of one configuration entry


class AskedWrite(NamedTuple):
    """The step of this life in which the request arrived, and where the log ended then."""

    request: object
    step: int
    log_end: Offset


class AcknowledgedWrites:
    """Acknowledgements of one life of a controller. `rules`: by type of answer; they raise Broken.
    What changed since the request may have changed before the answer or after it: both are
    right."""

    def __init__(self, node: NodeId, view: ControllerView, looked: Looked) -> None:
        self._node = node
        self._view = view
        self._looked = looked
        self.rules: Mapping[type, Callable[[Any, AskedWrite], None]] = {
            AlterConfigsResponse: self._altered,
            CreateTopicsResponse: self._created,
            CreatePartitionsResponse: self._grown,
            AlterReassignmentsResponse: self._reassigned,
            DeleteTopicsResponse: self._deleted,
            UpdateFeaturesResponse: self._finalized,
            AllocateProducerIdsResponse: self._allocated,
            BrokerRegistrationResponse: self._registered,
            AlterPartitionResponse: self._isr_told,
        }

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Broken(rule, f"n{self._node} {what}")

    def _written(self, heard: AskedWrite) -> Iterator[object]:
        """Committed since the request arrived: in the log after that, and applied."""
        return iter(written_between(self._view.log, heard.log_end, self._view.applied))

    def _altered(self, told: AlterConfigsResponse, heard: AskedWrite) -> None:
        request = heard.request
        if not isinstance(request, AlterConfigsRequest) or request.validate_only:
            return
        rule = "acknowledged-writes-are-committed"
        for resource, result in zip(request.resources, told.results, strict=False):
            if result.error is not ErrorCode.NONE:
                continue
            known = self._view.image.config((resource.type, resource.name))
            for change in resource.changes:
                if change.operation not in (_SET, _DELETE):
                    continue
                self._looked[rule] += 1
                value = change.value if change.operation == _SET else None
                if known.get(change.name) == value:
                    continue
                place = (resource.type, resource.name, change.name, value)
                if not any(_place(record) == place for record in self._written(heard)):
                    what = f"acknowledges that {change.name} of {resource.name} is {value}, which "
                    self._fail(rule, f"{what}is not committed")

    def _created(self, told: CreateTopicsResponse, heard: AskedWrite) -> None:
        request = heard.request
        if not isinstance(request, CreateTopicsRequest) or request.validate_only:
            return
        rule = "acknowledged-writes-are-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            found = self._view.image.topics.find(result.id)
            if found is not None and found.name == result.name:
                continue
            created = (
                record.topic_id
                for record in self._written(heard)
                if isinstance(record, TopicRecord) and record.name == result.name
            )
            if result.id not in created:
                what = f"acknowledges the topic {result.name} with id {result.id}, which is not "
                self._fail(rule, f"{what}committed")

    def _grown(self, told: CreatePartitionsResponse, heard: AskedWrite) -> None:
        rule, request = "acknowledged-writes-are-committed", heard.request
        if not isinstance(request, CreatePartitionsRequest) or request.validate_only:
            return
        for wanted, result in zip(request.topics, told.results, strict=True):
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            found = self._view.image.topics.named(wanted.topic)
            has_them = found is not None and found.partitions >= wanted.count
            if not has_them and not self._is_deleted_since(heard):
                what = f"acknowledges that {wanted.topic} has {wanted.count} partitions, and "
                self._fail(rule, f"{what}committed is {found}")

    def _reassigned(self, told: AlterReassignmentsResponse, heard: AskedWrite) -> None:
        """The reassignment is under way, or done; None: it is no longer under way."""
        rule, request = "acknowledged-writes-are-committed", heard.request
        if not isinstance(request, AlterReassignmentsRequest) or told.error is not ErrorCode.NONE:
            return
        said_last = {each.partition: each.replicas for each in request.reassignments}
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            at, replicas = result.partition, said_last[result.partition]
            topic = self._view.image.topics.named(at.topic)
            key = None if topic is None else (topic.id, at.index)
            state = None if key is None else self._view.image.topics.partition(*key)
            wanted = None if replicas is None else {*replicas}
            is_so = state is not None and _is_bound_for(state, wanted)
            if is_so or self._is_deleted_since(heard) or self._has_changed_since(key, heard):
                continue
            what = f"acknowledges that the replicas of {at.topic}-{at.index} are to be {replicas}, "
            self._fail(rule, f"{what}and committed is {state}")

    def _is_deleted_since(self, heard: AskedWrite) -> bool:
        """Whether a topic was deleted; one with its name may exist again."""
        return any(isinstance(record, RemoveTopicRecord) for record in self._written(heard))

    def _has_changed_since(self, key: PartitionKey | None, heard: AskedWrite) -> bool:
        """The level may have changed more than once: to the requested one, and then to another."""
        changes = [
            record
            for record in self._written(heard)
            if isinstance(record, PartitionChangeRecord)
            and (record.topic_id, record.partition_id) == key
            and record.replicas is not None
        ]
        return len(changes) > 1

    def _finalized(self, told: UpdateFeaturesResponse, heard: AskedWrite) -> None:
        rule, request = "acknowledged-writes-are-committed", heard.request
        if not isinstance(request, UpdateFeaturesRequest) or request.validate_only:
            return
        for each in request.updates if told.error is ErrorCode.NONE else ():
            self._looked[rule] += 1
            known, wanted = self._view.image.feature_level(each.name), (each.name, each.level)
            if known != each.level and wanted not in map(_feature, self._written(heard)):
                what = f"acknowledges that {each.name} is at level {each.level}, and committed is "
                self._fail(rule, f"{what}{known}")

    def _deleted(self, told: DeleteTopicsResponse, _: AskedWrite) -> None:
        rule = "acknowledged-writes-are-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            if self._view.image.topics.find(result.id) is not None:
                what = f"acknowledges that the topic with id {result.id} is deleted, which is not "
                self._fail(rule, f"{what}committed")

    def _allocated(self, told: AllocateProducerIdsResponse, _: AskedWrite) -> None:
        rule, given = "acknowledged-writes-are-committed", self._view.image.next_producer_id
        if told.error is not ErrorCode.NONE:
            return
        self._looked[rule] += 1
        if given is None or told.first + told.count > given:
            what = f"gives producer ids from {told.first} to {told.first + told.count}, and those "
            self._fail(rule, f"{what}from {given} on are not given to any broker")

    def _registered(self, told: BrokerRegistrationResponse, heard: AskedWrite) -> None:
        rule, request = "acknowledged-writes-are-committed", heard.request
        if told.error is not ErrorCode.NONE or not isinstance(request, BrokerRegistrationRequest):
            return
        self._looked[rule] += 1
        found = self._view.image.brokers.find(request.broker)
        if found is not None and found.broker_epoch < told.epoch:
            what = (
                f"answers n{request.broker} that its broker epoch is {told.epoch}, and committed "
                "is "
            )
            self._fail(rule, f"{what}{found.broker_epoch}")

    def _isr_told(self, told: AlterPartitionResponse, _: AskedWrite) -> None:
        rule = "told-isr-is-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            state = self._view.image.topics.partition(result.topic, result.index)
            if state is None or state.partition_epoch > result.partition_epoch:
                continue
            self._looked[rule] += 1
            said = (result.partition_epoch, result.leader_epoch, tuple(result.isr), result.leader)
            known = (state.partition_epoch, state.leader_epoch, state.isr, state.leader)
            if said != known:
                what = (
                    f"answers for {result.topic}-{result.index} that partition epoch, leader "
                    "epoch, "
                )
                self._fail(rule, f"{what}ISR and leader are {said}, and committed is {known}")


def _place(record: object) -> tuple[int, str, str, str | None] | None:
    if not isinstance(record, ConfigRecord):
        return None
    return record.resource_type, record.resource_name, record.name, record.value


def _feature(record: object) -> tuple[str, int] | None:
    return (record.name, record.feature_level) if isinstance(record, FeatureLevelRecord) else None


def _is_bound_for(state: Partition, wanted: set[NodeId] | None) -> bool:
    """None: unchanged."""
    if wanted is None:
        return not state.is_reassigning
    return {*state.replicas} - {*state.removing} == wanted
