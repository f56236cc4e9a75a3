"""Controllers of either target, asked by the raw driver: registers, the leader, and the voters."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryError,
    retry_if_exception_type,
    stop_after_delay,
    wait_fixed,
)

from chaos.cluster.interface import Cluster, NodeId
from chaos.cluster.topology import host_name, inner_port
from chaos.errors import OperatorError
from chaos.labs.audit.moment import Question, comes_true
from chaos.probes import NoLeaderError, QuorumProbe, committed_end, driver_for
from workloads.connection import Connection, Driver, LostError, NotSentError
from workloads.leader import Leader, LeaderFinder
from workloads.wire.client_metrics import (
    INTERVAL,
    Alteration,
    ConfigChange,
    alter,
    describe,
    read_altered,
    read_described,
)
from workloads.wire.describe_quorum import add_raft_voter, read_voters_changed, remove_raft_voter
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api

_METADATA_LOG = "__cluster_metadata-0"
_ANSWERS_WITHIN_S = 10.0
_LEADS_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1
_IMAGES_FOLLOW_WITHIN_S = 10.0  # of brokers of Apache Kafka, which answer for their controllers
_CAUGHT_UP_WITHIN_S = 30.0
_DUPLICATE_VOTER = 126

T = TypeVar("T")


class RefusedAnswerError(Exception):
    """An answer with an error code."""


class QuorumClient:
    """A client of these controllers of a cluster; of all its nodes if none are named."""

    def __init__(self, cluster: Cluster, controllers: Sequence[NodeId] = ()) -> None:
        self._driver: Driver = driver_for(cluster, controllers)

    async def close(self) -> None:
        """Nothing to close: every question has a connection of its own."""

    async def set_register(self, key: str, value: int, leader: int | None = None) -> None:
        """Raises OperatorError unless acknowledged. `leader`: to use this leader without a
        search."""
        body = alter([Alteration(resource=key, changes=(ConfigChange(value=str(value)),))])

        async def ask(connection: Connection) -> None:
            _require(
                await connection.send(
                    Api.INCREMENTAL_ALTER_CONFIGS,
                    body,
                    _ANSWERS_WITHIN_S,
                    lambda answer: read_altered(answer, [key])[0],
                )
            )

        await self._of_leader(ask, leader)

    def register(self, key: str) -> Question:
        async def ask(connection: Connection) -> str:
            told = await connection.send(
                Api.DESCRIBE_CONFIGS,
                describe([key]),
                _ANSWERS_WITHIN_S,
                lambda answer: read_described(answer, [key])[0],
            )
            _require(told.error)
            return str(told.value)

        return Question(
            text=f"{INTERVAL} of {key}",
            rests_on=(_METADATA_LOG,),
            ask=lambda: self._of_leader(ask),
            settles_within_s=_IMAGES_FOLLOW_WITHIN_S,
        )

    def epoch_is_kept(self, epoch: int) -> Question:
        """Whether no node leads in an earlier epoch."""

        async def ask() -> str:
            return "yes" if (await self.leader()).epoch >= epoch else "no"

        return Question(text=f"epoch {epoch} or later", rests_on=(_METADATA_LOG,), ask=ask)

    async def committed_end(self) -> int:
        """The end of the committed log, as the leader reports it. Raises OperatorError."""
        try:
            return await committed_end(self._driver, _LEADS_WITHIN_S)
        except NoLeaderError as trouble:
            raise OperatorError(str(trouble)) from trouble

    def voters(self) -> Question:
        async def ask() -> str:
            probe = QuorumProbe(self._driver)
            try:
                return ", ".join(map(str, sorted(await probe.voters(_LEADS_WITHIN_S))))
            except NoLeaderError as trouble:
                raise OperatorError(str(trouble)) from trouble
            finally:
                await probe.close()

        return Question(text="voters", rests_on=(_METADATA_LOG,), ask=ask)

    async def remove_voter(self, node: NodeId, directory_id: str) -> None:
        body = remove_raft_voter(node, directory_id)
        if error := await self._change_voters(Api.REMOVE_RAFT_VOTER, body):
            raise OperatorError(f"voter {node} is not removed: {error_name(error)}")

    async def add_voter(self, node: NodeId, directory_id: str) -> None:
        """Retries while the leader answers that the replica has not caught up, or that it is busy
        otherwise."""
        body = add_raft_voter(
            node,
            directory_id,
            listener="CONTROLLER",
            host=host_name(node),
            port=inner_port(node),
            timeout_ms=int(_CAUGHT_UP_WITHIN_S * 1000),
        )
        error = 0

        async def added() -> bool:
            nonlocal error
            error = await self._change_voters(Api.ADD_RAFT_VOTER, body)
            return error in (0, _DUPLICATE_VOTER)  # an earlier answer came too late

        if not await comes_true(added, within_s=_CAUGHT_UP_WITHIN_S):
            raise OperatorError(f"voter {node} is not added: {error_name(error)}")

    async def leader(self) -> Leader:
        """Raises OperatorError if no node leads."""
        finder = LeaderFinder(self._driver)
        try:
            found = await finder.find(_LEADS_WITHIN_S)
        finally:
            await finder.close()
        if found is None:
            raise OperatorError(f"no node led the quorum within {_LEADS_WITHIN_S:g} s")
        return found

    async def _change_voters(self, api: Api, body: bytes) -> int:
        """The error code. Raises OperatorError if there is no answer."""

        async def ask(connection: Connection) -> int:
            return await connection.send(api, body, _CAUGHT_UP_WITHIN_S, read_voters_changed)

        return await self._of_leader(ask)

    async def _of_leader(
        self, ask: Callable[[Connection], Awaitable[T]], leader: int | None = None
    ) -> T:
        """Retries: a newly elected node does not serve at once. Raises OperatorError."""
        trying = AsyncRetrying(
            retry=retry_if_exception_type((NotSentError, LostError, RefusedAnswerError)),
            stop=stop_after_delay(_LEADS_WITHIN_S),
            wait=wait_fixed(_ASKS_EVERY_S),
        )
        try:
            return await trying(self._of_leader_once, ask, leader)
        except RetryError as error:
            trouble = error.last_attempt.exception()
            raise OperatorError(f"the leader does not answer: {trouble}") from error

    async def _of_leader_once(
        self, ask: Callable[[Connection], Awaitable[T]], leader: int | None
    ) -> T:
        node = (await self.leader()).node if leader is None else leader
        connection = await self._driver.connect(node, _ANSWERS_WITHIN_S)
        try:
            return await ask(connection)
        finally:
            connection.close()


def _require(error: int) -> None:
    if error:
        raise RefusedAnswerError(error_name(error))
