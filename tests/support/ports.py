"""Ports of 127.0.0.1 that are a test's own, also while nobody listens there."""

import os
import random
import socket
from collections.abc import Iterable

# Below the range from which the kernel takes the ports of outgoing connections.
PORTS = range(20_000, 32_000)

_held: dict[int, int] = {}  # ports that are ours, and the descriptors that keep them


def take_ports(count: int) -> list[int]:
    """Nobody else gets them before they are given back or this process ends: they are bound, so
    that other binds fail, and nobody listens, so that a node's bind (SO_REUSEADDR) does not."""
    taken: list[int] = []
    for port in random.Random().sample(PORTS, len(PORTS)):
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _held[port] = attempt.detach()
        taken.append(port)
        if len(taken) == count:
            return taken
    raise AssertionError("no free ports")


def give_back_ports(ports: Iterable[int]) -> None:
    for port in ports:
        os.close(_held.pop(port))
