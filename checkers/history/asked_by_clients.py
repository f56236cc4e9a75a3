"""Operations of clients, as against those of an operator, who changes the voters of a quorum."""

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.tables import VOTER_CHANGES


def asked_by_clients(ops: pa.Table) -> pa.Table:
    """The rows of OPS that a workload asked for."""
    return ops.filter(pc.invert(pc.is_in(ops["f"], pa.array(VOTER_CHANGES))))
