"""What must be so in a batch of the metadata log before a node takes it from another.

What is in a log is replayed by every node that has it, and by every later leader. A record that
nobody can decode would end them all, so it is refused before it is written. One that only this node
does not know is kept (`node.raft.unreplayable`).
"""

from node.ids import ZERO_UUID
from node.records.batch import ATTRIBUTES, Batch, DamagedBatch
from node.records.control import AddVoter, ControlRecord, RemoveVoter, Voters, decode_control
from node.records.malformed_record import MalformedRecord
from node.records.metadata import decode_metadata


def check_contents(batch: Batch) -> None:
    """Every record is there, at its offset, and is sound as far as this node knows its type.

    Raises DamagedBatch or MalformedRecord.
    """
    header = batch.header
    if header.attributes & ~ATTRIBUTES:
        raise DamagedBatch(0, f"attributes {header.attributes:#x}")
    if header.record_count != header.last_offset_delta + 1:
        reason = f"{header.record_count} records in {header.last_offset_delta + 1} offsets"
        raise DamagedBatch(0, reason)
    if header.is_control:
        for record in batch.records_in_order():
            _check_control(decode_control(record.key, record.value))
    else:
        for value in batch.values():
            decode_metadata(value)


def _check_control(record: ControlRecord) -> None:
    """Nobody could be elected by no voters, one without an address cannot be asked, and one without
    a directory id is nobody (KIP-856)."""
    match record:
        case Voters(voters=rows):
            keys = [voter.key for voter in rows]
            if not keys or len(set(keys)) != len(keys) or not all(v.endpoints for v in rows):
                raise MalformedRecord(f"not a voter set: {keys}")
        case AddVoter(key=key) | RemoveVoter(key=key):
            if key.id < 0 or key.directory == ZERO_UUID:
                raise MalformedRecord(f"not a voter: {key}")
