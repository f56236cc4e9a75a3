"""The content of logs: record batches, and the two kinds of records in them.

A leader puts records into a batch (`batch.encode_batch`); every other node keeps the batch as
bytes. Control batches belong to the quorum (`control`): LEADER_CHANGE opens an epoch, voters and
versions follow a snapshot's header. Data batches belong to the controller (`metadata`): each record
is framed with its type and version, and its fields (`schemas`) go through `node.codec`, like
messages.

Two kinds of damage are kept apart. `DamagedBatch`: the bytes are not what was written, a fault of
the disk or the network. `MalformedRecord`: the CRC holds, and the writer wrote something invalid.
Neither gets into a follower's log (`metadata.check_contents`).
"""
