"""Levels of features, set by asking a broker for it (KIP-584), in either runtime."""

from chaos.cluster.interface import Address, FaultEvidence, NodeId
from workloads.broker_connections import Brokers
from workloads.connection import ClientEntry, LostError, NotSentError, TcpDriver
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api
from workloads.wire.update_features import read_updated, update_feature

_ELR = "eligible.leader.replicas.version"
_ANSWER_S = 10.0


async def set_elr_level(node: NodeId, entry: Address, level: int) -> FaultEvidence:
    """Asks once; where the answer is lost, it is not known whether it was done."""
    trouble = await _trouble(node, entry, level)
    what = trouble or f"level {level} is final"
    return FaultEvidence(bit=not trouble, what=what, facts={"level": level})


async def _trouble(node: NodeId, entry: Address, level: int) -> str:
    """Why the broker does not say that it is done; "" where it does."""
    body = update_feature(_ELR, level, timeout_ms=int(_ANSWER_S * 1000))
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, _ANSWER_S)
    try:
        error = await brokers.send(node, Api.UPDATE_FEATURES, body, read_updated)
    except (NotSentError, LostError) as lost:
        return str(lost)
    finally:
        brokers.close()
    return f"it is refused: {error_name(error)}" if error else ""
