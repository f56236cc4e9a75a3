"""What a run left, as one object that every check gets; derived once, and only to be read.

evidence.py           the object
missing.py            what a run should have left and did not
left_traces.py        the same of the nodes' traces
left_probes.py        the same of nodes' answers to the harness
left_disks.py         what is wrong with a disk, by what it is about, and what may have left it so
faults.py             the faults as facts: whom each hit and when, and what it may do
lives.py              the nodes' traces in columns: lives of disks, each a sequence of processes
planned.py            the kinds of evidence that a run may be planned to leave
traced_logs.py        each replica's log, followed through its trace
metadata_logs.py      the metadata log on each node's disk
voter_history.py      who votes, at any offset of it
voters_left.py        disks that were wiped, and whether a majority of the voters is left
told_voters.py        sets of voters as nodes tell of them
committed.py          what of it is committed
forgetting.py         whether the metadata log may have lost any of that, with disks
metadata_replay.py    replays that, once, into a timeline
image.py              the timeline: brokers and partitions, change by change
replayed_image.py     what records of metadata make, thing by thing, be they of a log or a snapshot
snapshot_images.py    the whole snapshots on the nodes' disks, and their images
isr_history.py        the ISR of each partition over time, from that timeline and from probes
partition_logs.py     what stands at which offset of a partition, on a disk or in the history
promised.py           what was asked for: configurations, features and topics, at any time
log_starts.py         how far the beginning of a log may have moved, as was asked for
restarts.py           how each broker's process ended before the next one registered
clean_registrations.py  which of them registered after a shutdown in good order
loss_budget.py        when a loss is allowed
"""
