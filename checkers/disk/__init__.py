"""What nodes left on their disks: the harness's own reader, which shares nothing with `node/`.

    read.py          finds log directories, and reads all disks of a run into tables; partitions
    metadata_log.py  the metadata log: batches, records, snapshots
    segments.py      the segments of a log; the small files of a log directory
    batches.py       record batches in a segment
    records.py       control and metadata records
    fields.py        Kafka's primitive fields; compressed blocks
    values.py        the values of clients' records

It reads Kafka's layout, whichever program wrote it: `meta.properties`, and in
`__cluster_metadata-0` the segments, `quorum-state` and `leader-epoch-checkpoint`. A reader that
shared the node's codec would be blind to its bugs. Damage is reported, never hidden, and a damaged
file is read as far as possible.
"""

from checkers.disk.read import read_disks

__all__ = ["read_disks"]
