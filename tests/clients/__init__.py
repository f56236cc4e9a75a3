"""Clients that nobody here wrote, against our brokers and Apache Kafka's: a table of what works.

    __main__.py     the command: python -m tests.clients
    features.py     what is tried, a row each
    catalogue.py    the clients, a column each, and how each is fetched and built
    fetched.py      their libraries, by the ordinary clients of their registries, in pinned versions
    brokers.py      the clusters that they talk to, as processes on loopback
    tries.py        one client tries one feature, as a process of its own
    duplicates.py   a batch that is refused while it is in the log: is it twice there?
    results.py      what came of it, kept in a file and told as a table

A client is a small program in a folder named after its language. It is started once for each
feature: with the brokers' addresses, a name, and the feature (`python/program.py`). What is on our
own brokers is told beside what is on Apache Kafka's, in the same words.
"""
