"""What nodes left on their disks: the harness's own reader, which shares nothing with `node/`.

It reads Kafka's layout, whichever program wrote it: `meta.properties`, and in
`__cluster_metadata-0` the segments, `quorum-state` and `leader-epoch-checkpoint`. A reader that
shared the node's codec would be blind to its bugs. Damage is reported, never hidden, and a damaged
file is read as far as possible.
"""

from checkers.disk.read import read_disks

__all__ = ["read_disks"]
