"""kafka-python, where tests use it as others would."""

import socket

from kafka.net.inet import KafkaNetSocket


class _Dropped(socket.socket):
    """Closed when nobody holds it any more, without the warning that Python gives of it."""

    def __del__(self) -> None:
        self.close()


def make_dropped_sockets_close() -> None:
    """From now on kafka-python's sockets close by themselves.

    It drops those by which it could not connect (`KafkaNetSocket.connect` of 3.0.12 raises and
    does not close). Python tells of them when they are collected, which may be within any test
    that runs later in the same process.
    """
    KafkaNetSocket.socket = lambda _factory, *kind: _Dropped(*kind)
