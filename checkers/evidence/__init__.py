"""What a run left, as one object that every check gets; derived once and read-only.

evidence.py         the object
missing.py          evidence that a run should have left and did not
left_disks.py       problems of a disk by their part of it, and their possible causes
faults.py           the faults as facts: what each hit and when, and what it may do; the kinds of
                    evidence that a run may be planned to leave
lives.py            the nodes' traces in columns: lives of disks, each a sequence of processes
traced_logs.py      each replica's log, followed through its trace; the metadata log on each node's
                    disk
committed.py        the committed metadata log
metadata_replay.py  replays the committed metadata log, once, into a timeline
image.py            the timeline: brokers and partitions, change by change
replayed_image.py   the image of a log or a snapshot, entry by entry
starvation.py       whether this machine had time for the nodes, at the time that is judged
voter_history.py    the voters, at any offset of the metadata log, and in traces; wiped disks, and
                    whether a majority of the voters is left
restarts.py         how each broker process ended before the next one registered
isr_history.py      the ISR of each partition over time, by the timeline and probes
partition_logs.py   the record at an offset of a partition, on a disk or in the history
promised.py         requested configurations, features and topics, at any time
log_starts.py       how far a log start may have moved, by requests
loss_budget.py      when a loss is allowed
"""
