"""What a run left, as one object that every check gets; derived once and read-only.

evidence.py         the object
missing.py          what a run should have left and did not; the same for the nodes' traces; the
                    same for nodes' answers to the harness
left_disks.py       problems of a disk by the part they are in, and what may have caused them
faults.py           the faults as facts: what each hit and when, and what it may do
lives.py            the nodes' traces in columns: lives of disks, each a sequence of processes
planned.py          the kinds of evidence that a run may be planned to leave
traced_logs.py      each replica's log, followed through its trace
metadata_logs.py    the metadata log on each node's disk
voter_history.py    the voters, at any offset of it; sets of voters as nodes trace them
voters_left.py      disks that were wiped, and whether a majority of the voters is left
committed.py        the committed part of it
restarts.py         whether the metadata log may have lost any of that with lost disks; how each
                    broker's process ended before the next one registered; the brokers that
                    registered after a shutdown in good order
metadata_replay.py  replays that part, once, into a timeline
image.py            the timeline: brokers and partitions, change by change
replayed_image.py   the image that metadata records of a log or a snapshot make, entry by entry;
                    the complete snapshots on the nodes' disks, and their images
isr_history.py      the ISR of each partition over time, from that timeline and from probes
partition_logs.py   what is at which offset of a partition, on a disk or in the history
promised.py         requested configurations, features and topics, at any time
log_starts.py       how far a log start may have moved, by what was asked for
loss_budget.py      when a loss is allowed
"""
