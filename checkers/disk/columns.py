"""Tables of many rows, made of columns: no object is made for a row."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.disk.batches import Scan

Constant = int | str
Column = NDArray[np.generic] | Constant


def table(schema: pa.Schema, rows: int, columns: Mapping[str, Column]) -> pa.Table:
    """A table of `rows` rows; a column is an array, or one value for all of them."""
    arrays = []
    for field in schema:
        column = columns[field.name]
        if isinstance(column, np.ndarray):
            arrays.append(pa.array(column).cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), rows))
    return pa.Table.from_arrays(arrays, schema=schema)


def joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def batch_columns(found: Scan) -> dict[str, Column]:
    """The columns that tables of batches have for the batches of one segment."""
    return {
        "base_offset": found.column("base_offset"),
        "last_offset": found.last_offsets,
        "epoch": found.column("epoch"),
        "crc": found.column("crc"),
        "crc_ok": found.crc_ok,
        "control": found.control,
        "records": found.column("records"),
        "size": found.sizes,
        "position": found.positions,
        "timestamp": found.column("max_timestamp"),
        "producer_id": found.column("producer_id"),
        "producer_epoch": found.column("producer_epoch"),
        "base_sequence": found.column("base_sequence"),
    }
