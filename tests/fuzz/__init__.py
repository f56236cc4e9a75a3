"""Damage, and requests at their limits, in bulk against the node; a little of it runs in tests.

    frames     damaged frames: the codec reads or refuses them, a process hangs up and goes on
    files      damaged logs: they are opened with what was written, or refused
    requests   requests of every API and version at their limits, stepped through a leader
    broker_requests   such requests to a broker, with batches of records and groups
    answers    answers of that kind, some damaged, stepped through a voter that asked
    processes  such requests to three real processes, by many clients at once, good and bad
    broker_processes   such requests to three brokers as processes

The sessions of `requests`, `broker_requests` and `answers` are run by `sessions`, on the node of
`bench` or of `tests.support.stepped_broker`. `drawing` draws requests and answers; `brokers` and
`broker_values` know what fields have to say to be listened to. What `processes` sends, and by how
many clients, is `storm`; `callers` and `steady` are these clients, and `aftermath` is what it looks
at when they are done. Each is a command that takes `--seed` and says which one shows again what it
found; `make fuzz` runs them all.
"""
