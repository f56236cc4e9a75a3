"""Attacks on brokers and controllers that are real processes, one after the other.

Each is one idea of somebody who has nothing but sockets: numbers at their limits (`odd`), floods of
what takes memory or time (`floods`), and connections that come, stay, send and take in ways that no
client does (`crowds`). Beside each a client that behaves writes records and reads them, over one
connection that must never end. What is asked of the cluster: no process dies or takes more memory
than it may, who behaves is served again at once, and what was acknowledged is there in the end, in
logs that are one.

    python -m tests.fuzz.attacks --only slow-senders
"""
