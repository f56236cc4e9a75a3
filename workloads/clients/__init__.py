"""Clients of registers and logs, by library.

register_client.py  a client of registers
log_driver.py       the interface of a client library to a workload of logs
consuming.py        processes that send to logs and poll them; the final reads
administering.py    a process that creates and deletes topics; creates and deletes topics with our
                    own client
transactions.py     commits transactions, and ends open ones
library_clients.py  the client libraries by name
library.py          what libraries with threads of their own share
raw_clients.py      our own producers and consumers, used by default
librdkafka.py       clients by librdkafka
kafka_python.py     clients by kafka-python
"""
