"""What is in the log: record batches, and the two kinds of records in them.

A leader puts records into a batch (`batch.encode_batch`) and everybody else keeps the batch as the
bytes it is. Control batches are the quorum's own (`control`): LEADER_CHANGE opens an epoch, voters
and versions follow a snapshot's header. Data batches are the controller's (`metadata`): each record
is framed with its type and version, and its fields (`schemas`) go through `node.codec`, as messages
do.

Damage shows in two ways, and they are kept apart. `DamagedBatch`: the bytes are not what was
written, which is the disk's or the network's doing. `MalformedRecord`: the CRC holds, and the
writer wrote something that this node cannot take. Neither gets into a follower's log (`contents`).
"""
