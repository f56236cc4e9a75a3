"""The replicas of a broker.

manager.py      all of them, made, changed and removed as the image says
replica.py      one replica: log end, leader epochs, followers, high watermark
isr.py          the ISR as its leader sees it: committed, proposed, and its followers
isr_changes.py  ISR proposals on their way to the controller (AlterPartition)
fetchers.py     following other leaders: one Fetch at a time from each broker
logs.py         the replicas' logs: directories, topic configs, work per step
producers.py    idempotent producers, as a leader goes by them, and when they expire
retention.py    deletion of records and segments; log compaction
traces.py       trace lines of a replica: what changed since the last one
"""
