"""Checks of registers: is there one order of all reads and writes, and is every write stored?

linearizable.py          the check, over `checkers.linearizability`
register_columns.py      operations as arrays
repeated_values.py       keys that the sweep cannot decide: a value twice, or deletes
register_anomalies.py    the anomalies of a history, by kind
stored_records.py        the records of registers, of logs and of snapshots
asked_for.py             when each value was asked for
cut_logs.py              what logs held that begin behind a snapshot
stored_values.py         the values on a majority of the disks
log_times.py             when each record of the committed log can have been written
deletions.py             the delete that each deletion belongs to
log_and_clients.py       the log's order is that of real time, and reads match it
survival.py              acknowledged writes are on the disks
records_explained.py     records on the disks were asked for
requests.py              a request is done once, and completely or not at all
"""
