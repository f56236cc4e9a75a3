"""TCP's own probes, both on connections that others opened and on those to voters: whoever is gone
without a farewell, as after a power cut, is found out in a minute and a half, whether nothing was
on its way to him (the probes) or something was (the time for which it may be unacknowledged)."""

import socket

IDLE_S, INTERVAL_S, PROBES = 60, 10, 3


def keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, INTERVAL_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
    unacknowledged_ms = 1000 * (IDLE_S + INTERVAL_S * PROBES)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms)
