"""Checks of registers: is there one order of all reads and writes, and is every write stored?

linearizable.py        the check, over `checkers.linearizability`
register_anomalies.py  the anomalies of a history, by kind; operations as arrays
stored_values.py       the values of registers on a majority of the disks
log_times.py           when each record can have been written; the delete of each deletion
log_and_clients.py     the log's order is that of real time, and reads match it
survival.py            acknowledged writes are on the disks
requests.py            a request is done once and completely; stored records were requested
"""
