"""What is waited for in a simulated cluster, each for a bounded time."""

import asyncio
from collections.abc import Sequence

from chaos.cluster.cluster_errors import DiedAtStartError, NeverReadyError
from chaos.cluster.interface import NodeStatus
from chaos.cluster.probe import answers, brokers_known
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import client_address
from chaos.cluster.sim.sim_machine import Machine

ANSWERS_WITHIN_S = 30.0
STOP_WITHIN_S = 10.0
_POLL_S = 0.01


async def until_it_answers(machine: Machine, loop: VirtualLoop) -> None:
    """Raises DiedAtStartError, or NeverReadyError when it takes too long."""
    deadline = loop.time() + ANSWERS_WITHIN_S
    while not await answers(client_address(machine.node), 1.0):
        if machine.status is NodeStatus.OFF:
            code = machine.exit_code
            raise DiedAtStartError(_words_of(machine, f"exited during startup (code {code})"))
        if loop.time() > deadline:
            raise NeverReadyError(
                _words_of(machine, f"does not answer within {ANSWERS_WITHIN_S:g} s")
            )
        await asyncio.sleep(_POLL_S)


async def until_brokers_know_each_other(brokers: Sequence[Machine], loop: VirtualLoop) -> None:
    """Registered, and not fenced. Raises NeverReadyError when that takes too long."""
    all_of_them = frozenset(machine.node for machine in brokers)
    deadline = loop.time() + ANSWERS_WITHIN_S
    for machine in sorted(brokers, key=lambda each: each.node):
        while not all_of_them <= await brokers_known(client_address(machine.node), 1.0):
            if loop.time() > deadline:
                what = f"does not tell of all brokers within {ANSWERS_WITHIN_S:g} s"
                raise NeverReadyError(_words_of(machine, what))
            await asyncio.sleep(_POLL_S)


async def until_off(machine: Machine, loop: VirtualLoop) -> bool:
    """False: it took too long."""
    deadline = loop.time() + STOP_WITHIN_S
    while machine.status is not NodeStatus.OFF and loop.time() < deadline:
        await asyncio.sleep(_POLL_S)
    return machine.status is NodeStatus.OFF


def _words_of(machine: Machine, what: str) -> str:
    return f"node {machine.node} {what}\n  the end of its log:\n{machine.last_words()}"
