"""Tables of many rows, made of columns: nothing is made for each row."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.disk.batches import Scan

Constant = int | str
Column = NDArray[np.generic] | Constant


def table(schema: pa.Schema, rows: int, columns: Mapping[str, Column]) -> pa.Table:
    """A table of `rows`; a column is an array of numbers, or one value for all of them."""
    arrays = []
    for field in schema:
        column = columns[field.name]
        if isinstance(column, np.ndarray):
            native = column.astype(column.dtype.newbyteorder("="), copy=False)
            arrays.append(pa.array(native).cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), rows))
    return pa.Table.from_arrays(arrays, schema=schema)


def joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def batch_columns(found: Scan) -> dict[str, Column]:
    """What tables of batches tell of the batches of one segment."""
    return {
        "base_offset": found.headers["base_offset"],
        "last_offset": found.last_offsets,
        "epoch": found.headers["epoch"],
        "crc": found.headers["crc"],
        "crc_ok": found.crc_ok,
        "control": found.control,
        "records": found.headers["records"],
        "size": found.sizes,
        "position": found.positions,
        "producer_id": found.headers["producer_id"],
        "producer_epoch": found.headers["producer_epoch"],
        "base_sequence": found.headers["base_sequence"],
    }
