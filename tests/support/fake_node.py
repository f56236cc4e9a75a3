"""A node in this process: a listener, real frames (by kio), and registers that all share."""

import asyncio
import io
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any
from uuid import UUID

from kio.schema.add_raft_voter.v0 import request as add_request
from kio.schema.add_raft_voter.v0 import response as add_response
from kio.schema.describe_configs.v4 import request as describe_request
from kio.schema.describe_configs.v4 import response as describe_response
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2 import response as quorum_response
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import request as alter_request
from kio.schema.incremental_alter_configs.v1 import response as alter_response
from kio.schema.remove_raft_voter.v0 import request as remove_request
from kio.schema.remove_raft_voter.v0 import response as remove_response
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i32Timedelta, i64, u16

from chaos.cluster.interface import (
    NodeStatus,
)
from tests.support.virtual_time import Listener, give_back_port, listen, take_port


class Misbehaviour(Enum):
    """How writes are answered. In all but REFUSE a legal write has happened."""

    NONE = auto()
    CLOSE = auto()
    SILENCE = auto()
    NOT_CONTROLLER = auto()
    REFUSE = auto()
    GARBAGE = auto()
    LENIENT = auto()  # what is refused is answered as if it had been done


@dataclass(slots=True)
class Registers:
    """What the quorum agrees on."""

    values: dict[str, str] = field(default_factory=dict)
    leader: int | None = None
    epoch: int = 0
    committed_is_known: bool = True  # by who leads
    replicas: dict[int, UUID] = field(default_factory=dict)  # the directory of each node
    voters: set[tuple[int, UUID]] = field(default_factory=set)
    hosts: dict[int, str] = field(default_factory=dict)  # of voters, as who leads tells them


def _zero() -> i32Timedelta:
    import datetime

    return i32Timedelta.parse(datetime.timedelta(0))


def _read(schema: Any, data: bytes, offset: int = 0) -> tuple[Any, int]:
    value, size = entity_reader(schema)(data, offset)
    return value, offset + size


def _write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def _is_interval(value: str | None) -> bool:
    return value is not None and value.strip().isdigit() and 100 <= int(value) <= 3_600_000


async def _turns_of_the_loop() -> None:
    """A connection that was accepted becomes a transport, a protocol and a task, a turn each, and
    the task runs in the one after those."""
    for _ in range(5):
        await asyncio.sleep(0)


class FakeNode:
    """One listener; answers from the shared registers if it leads them."""

    def __init__(self, number: int, registers: Registers) -> None:
        self.number = number
        self.registers = registers
        self.status = NodeStatus.OFF
        self.misbehaviour = Misbehaviour.NONE
        self.requests = 0
        self.port = 0
        self._listener: Listener | None = None
        self._writers: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._awake = asyncio.Event()
        self._awake.set()

    async def start(self) -> None:
        if self.status is not NodeStatus.OFF:
            return
        self._awake.set()
        self.port = self.port or take_port(self.number)
        self._listener = await listen(self.number, self.port, self._serve)
        self.status = NodeStatus.RUNNING

    async def stop(self) -> None:
        self.status = NodeStatus.OFF
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            await _turns_of_the_loop()  # what was accepted in this one is known after them
        self._awake.set()
        serving = [task for task in self._writers.values() if task is not None]
        for writer in list(self._writers):
            writer.transport.abort()
        if serving:
            await asyncio.wait(serving)
            await _turns_of_the_loop()  # the transports say good-bye

    def give_back_port(self) -> None:
        """It is never started again."""
        if self.port:
            give_back_port(self.port)
            self.port = 0

    def pause(self) -> None:
        self.status = NodeStatus.PAUSED
        self._awake.clear()

    def resume(self) -> None:
        self.status = NodeStatus.RUNNING
        self._awake.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers[writer] = asyncio.current_task()
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = await reader.readexactly(size)
                await self._awake.wait()
                answer = self._answer(frame)
                if answer is None:
                    break
                if answer:
                    writer.write(len(answer).to_bytes(4, "big") + answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._writers[writer]
            writer.close()

    def _answer(self, frame: bytes) -> bytes | None:
        """None closes the connection, b"" is silence."""
        self.requests += 1
        header, start = _read(RequestHeader, frame)
        head = _write(ResponseHeader(correlation_id=header.correlation_id))
        match int(header.request_api_key):
            case 32:
                return head + _write(self._describe(frame, start))
            case 44:
                return self._alter(head, frame, start)
            case 55:
                _read(quorum_request.DescribeQuorumRequest, frame, start)
                return head + _write(self._quorum())
            case 80:
                asked, _ = _read(add_request.AddRaftVoterRequest, frame, start)
                return head + _write(self._add(asked.voter_id, asked.voter_directory_id))
            case 81:
                asked, _ = _read(remove_request.RemoveRaftVoterRequest, frame, start)
                done = self._remove(asked.voter_id, asked.voter_directory_id)
                if self.misbehaviour is Misbehaviour.CLOSE:
                    return None
                garbage = self.misbehaviour is Misbehaviour.GARBAGE
                return head + (b"\xff\xff" if garbage else _write(done))
            case other:
                raise AssertionError(f"nobody should ask for API {other}")

    @property
    def leads(self) -> bool:
        return self.registers.leader == self.number

    def _alter(self, head: bytes, frame: bytes, start: int) -> bytes | None:
        request, _ = _read(alter_request.IncrementalAlterConfigsRequest, frame, start)
        errors = [self._altered(each, request.validate_only) for each in request.resources]
        match self.misbehaviour:
            case Misbehaviour.CLOSE:
                return None
            case Misbehaviour.SILENCE:
                return b""
            case Misbehaviour.GARBAGE:
                return head + b"\xff\xff"
            case Misbehaviour.NOT_CONTROLLER:
                errors = [ErrorCode.not_controller] * len(errors)
            case Misbehaviour.LENIENT:
                errors = [ErrorCode.none] * len(errors)
        results = tuple(
            alter_response.AlterConfigsResourceResponse(
                error_code=error,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for error, resource in zip(errors, request.resources, strict=True)
        )
        return head + _write(
            alter_response.IncrementalAlterConfigsResponse(throttle_time=_zero(), responses=results)
        )

    def _altered(self, resource: Any, validate_only: bool) -> ErrorCode:
        """What becomes of one resource, altered whole or not at all."""
        if not self.leads:
            return ErrorCode.not_controller
        legal = resource.resource_type == 16 and len(resource.configs) == 1
        if not legal or self.misbehaviour is Misbehaviour.REFUSE:
            return ErrorCode.invalid_config
        (config,) = resource.configs
        if config.config_operation == 1:
            self.registers.values.pop(resource.resource_name, None)
            return ErrorCode.none
        if config.config_operation != 0 or not _is_interval(config.value):
            return ErrorCode.invalid_config
        if not validate_only:
            self.registers.values[resource.resource_name] = config.value
        return ErrorCode.none

    def _describe(self, frame: bytes, start: int) -> describe_response.DescribeConfigsResponse:
        request, _ = _read(describe_request.DescribeConfigsRequest, frame, start)
        results = tuple(self._described(each.resource_name) for each in request.resources)
        return describe_response.DescribeConfigsResponse(throttle_time=_zero(), results=results)

    def _described(self, name: str) -> describe_response.DescribeConfigsResult:
        value = self.registers.values.get(name)
        entry = describe_response.DescribeConfigsResourceResult(
            name="interval.ms",
            value=value if value is not None else "300000",
            read_only=False,
            config_source=i8(7 if value is not None else 5),
            is_sensitive=False,
            synonyms=(),
            config_type=i8(3),
            documentation=None,
        )
        return describe_response.DescribeConfigsResult(
            error_code=ErrorCode.none if self.leads else ErrorCode.not_controller,
            error_message=None,
            resource_type=i8(16),
            resource_name=name,
            configs=(entry,) if self.leads else (),
        )

    @property
    def _high_watermark(self) -> int:
        return len(self.registers.values) if self.registers.committed_is_known else -1

    def _quorum(self) -> quorum_response.DescribeQuorumResponse:
        leads, voters = self.leads, self.registers.voters
        others = set(self.registers.replicas.items()) - voters
        partition = quorum_response.PartitionData(
            partition_index=i32(0),
            error_code=ErrorCode.none if leads else ErrorCode.not_leader_or_follower,
            error_message=None,
            leader_id=BrokerId(self.number if leads else -1),
            leader_epoch=i32(self.registers.epoch),
            high_watermark=i64(self._high_watermark),
            current_voters=tuple(map(self._replica, sorted(voters))) if leads else (),
            observers=tuple(map(self._replica, sorted(others))) if leads else (),
        )
        topic = quorum_response.TopicData(
            topic_name=TopicName("__cluster_metadata"), partitions=(partition,)
        )
        nodes = tuple(
            quorum_response.Node(
                node_id=BrokerId(node),
                listeners=(quorum_response.Listener(name="CONTROLLER", host=host, port=u16(9100)),),
            )
            for node, host in self.registers.hosts.items()
        )
        return quorum_response.DescribeQuorumResponse(
            error_code=ErrorCode.none, error_message=None, topics=(topic,), nodes=nodes
        )

    def _replica(self, key: tuple[int, UUID]) -> quorum_response.ReplicaState:
        node, directory = key
        return quorum_response.ReplicaState(
            replica_id=BrokerId(node),
            replica_directory_id=directory,
            log_end_offset=i64(self._high_watermark),
            last_fetch_timestamp=i64(-1),
            last_caught_up_timestamp=i64(-1),
        )

    def _add(self, node: int, directory: UUID) -> add_response.AddRaftVoterResponse:
        """As with KIP-853: one directory a node."""
        voters, error = self.registers.voters, ErrorCode.none
        if not self.leads:
            error = ErrorCode.not_leader_or_follower
        elif any(voter == node for voter, _ in voters):
            error = ErrorCode.duplicate_voter
        else:
            voters.add((node, directory))
        return add_response.AddRaftVoterResponse(
            throttle_time=_zero(), error_code=error, error_message=None
        )

    def _remove(self, node: int, directory: UUID) -> remove_response.RemoveRaftVoterResponse:
        error = ErrorCode.none
        if not self.leads:
            error = ErrorCode.not_leader_or_follower
        elif (node, directory) not in self.registers.voters:
            error = ErrorCode.voter_not_found
        elif self.misbehaviour is Misbehaviour.REFUSE:
            error = ErrorCode.request_timed_out  # as while another change is pending
        else:
            self.registers.voters.remove((node, directory))
        return remove_response.RemoveRaftVoterResponse(
            throttle_time=_zero(), error_code=error, error_message=None
        )
