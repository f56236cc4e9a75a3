"""Our own node, asked by the raw driver: registers, and who leads."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryError,
    retry_if_exception_type,
    stop_after_delay,
    wait_fixed,
)

from chaos.audit.questions import Question
from chaos.cluster.interface import Cluster
from chaos.operator_errors import OperatorError
from chaos.probes import NoLeaderError, committed_end, driver_for
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
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api

_METADATA_LOG = "__cluster_metadata-0"
_ANSWERS_WITHIN_S = 10.0
_LEADS_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1

T = TypeVar("T")


class RefusedAnswerError(Exception):
    """An answer with an error code."""


class NodeClient:
    """Of a quorum of our own nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._driver: Driver = driver_for(cluster)

    async def close(self) -> None:
        """Every question has a connection of its own."""

    async def set_register(self, key: str, value: int) -> None:
        """Raises OperatorError unless it was acknowledged."""
        body = alter([Alteration(resource=key, changes=(ConfigChange(value=str(value)),))])

        async def ask(connection: Connection) -> None:
            _require(
                await connection.ask(
                    Api.INCREMENTAL_ALTER_CONFIGS,
                    body,
                    _ANSWERS_WITHIN_S,
                    lambda answer: read_altered(answer, [key])[0],
                )
            )

        await self._of_leader(ask)

    def register(self, key: str) -> Question:
        async def ask(connection: Connection) -> str:
            told = await connection.ask(
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
        )

    def epoch_is_kept(self, epoch: int) -> Question:
        """Whether nobody leads in an epoch before this one."""

        async def ask() -> str:
            return "yes" if (await self.leader()).epoch >= epoch else "no"

        return Question(text=f"epoch {epoch} or later", rests_on=(_METADATA_LOG,), ask=ask)

    async def committed_end(self) -> int:
        """How far the leader says that the log is committed. Raises OperatorError."""
        try:
            return await committed_end(self._driver, _LEADS_WITHIN_S)
        except NoLeaderError as trouble:
            raise OperatorError(str(trouble)) from trouble

    async def leader(self) -> Leader:
        """Raises OperatorError if nobody leads."""
        finder = LeaderFinder(self._driver)
        try:
            found = await finder.find(_LEADS_WITHIN_S)
        finally:
            await finder.close()
        if found is None:
            raise OperatorError(f"no node led the quorum within {_LEADS_WITHIN_S:g} s")
        return found

    async def _of_leader(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        """Again and again: who was just elected does not serve at once. Raises OperatorError."""
        trying = AsyncRetrying(
            retry=retry_if_exception_type((NotSentError, LostError, RefusedAnswerError)),
            stop=stop_after_delay(_LEADS_WITHIN_S),
            wait=wait_fixed(_ASKS_EVERY_S),
        )
        try:
            return await trying(self._of_leader_once, ask)
        except RetryError as error:
            trouble = error.last_attempt.exception()
            raise OperatorError(f"who leads does not answer: {trouble}") from error

    async def _of_leader_once(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        leader = await self.leader()
        connection = await self._driver.connect(leader.node, _ANSWERS_WITHIN_S)
        try:
            return await ask(connection)
        finally:
            connection.close()


def _require(error: int) -> None:
    if error:
        raise RefusedAnswerError(error_name(error))
