"""Operations on the data of a cluster, in contrast to those on its quorum: changes of the voters
and descriptions of the quorum, which operators and clients of the workload `membership` ask for."""

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.tables import DESCRIBE_QUORUM, VOTER_CHANGES


def asked_by_clients(ops: pa.Table) -> pa.Table:
    """The rows of OPS that are not about the quorum."""
    about = pc.is_in(ops["f"], pa.array([*VOTER_CHANGES, DESCRIBE_QUORUM]))
    return ops.filter(pc.invert(about))
