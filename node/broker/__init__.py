"""The broker role: replicas of partitions, and what their leader promises (KIP-841, KIP-966).

    isr.py             the ISR as a leader goes by it: what is committed, and what it proposed
    remote_replica.py  what a leader knows of another replica: its end, and when it had caught up
    producers.py       idempotent producers, as the log tells of them
    replica.py         one replica of a partition: its log's end, epochs and high watermark

It decides without I/O, as the controller does: of the metadata log it knows the image, of the
quorum nothing.
"""
