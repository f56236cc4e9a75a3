"""Checks of registers: is there one order of all reads and writes, and is every write stored?

linearizable.py        the check, over `checkers.linearizability`
register_anomalies.py  operations as arrays; keys that the sweep cannot decide: a value twice, or
                       deletes; the anomalies of a history, by kind
stored_values.py       the records of registers, of logs and of snapshots; when each value was
                       asked for; what logs held that begin behind a snapshot; the values on a
                       majority of the disks
log_times.py           when each record of the committed log can have been written; the delete that
                       each deletion belongs to
log_and_clients.py     the log's order is that of real time, and reads match it
survival.py            acknowledged writes are on the disks
requests.py            records on the disks were asked for; a request is done once, and completely
                       or not at all
"""
