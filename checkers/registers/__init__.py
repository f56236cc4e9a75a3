"""Checks of registers: is there one order of all reads and writes, and is what was written there?

linearizable.py          the check, over `checkers.linearizability`
register_columns.py      operations as arrays
repeated_values.py       keys that the sweep cannot decide: a value twice, or deletes
register_anomalies.py    what is wrong with a history, by kind
stored_records.py        the records of registers, of logs and of snapshots
asked_for.py             when each value was asked for
cut_logs.py              what logs stand for that begin behind a snapshot
stored_values.py         which values a majority of the disks has
log_times.py             when each record of the committed log can have been written
deletions.py             which deletions are of which deletes
log_and_clients.py       the log's order is that of real time, and reads return what it has
survival.py              acknowledged writes are on the disks
records_explained.py     records on the disks were asked for
requests.py              what a request asks for is done once, and wholly or not at all
"""
