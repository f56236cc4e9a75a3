"""Linearizability of registers by trying every order: slow, short, and independent."""

from collections.abc import Sequence
from functools import cache

from tests.support.histories import Row


def brute_force(ops: Sequence[Row]) -> bool:
    """Whether the operations, a few on each key, are linearizable. A `fail` never happened."""
    keys = {str(op["key"]) for op in ops}
    return all(_one_key([op for op in ops if op["key"] == key]) for key in sorted(keys))


def _one_key(ops: list[Row]) -> bool:
    kept = [o for o in ops if o["outcome"] == "ok" or (o["f"], o["outcome"]) == ("write", "info")]
    begin = [int(str(o["invoke_index"])) for o in kept]
    end = [int(str(o["complete_index"])) if o["outcome"] == "ok" else None for o in kept]

    @cache
    def possible(left: frozenset[int], value: object) -> bool:
        must = [e for i in left if (e := end[i]) is not None]
        if not must:
            return True
        for i in left:
            if begin[i] < min(must):
                write = kept[i]["f"] == "write"
                if (write or kept[i]["value"] == value) and possible(
                    left - {i}, kept[i]["value"] if write else value
                ):
                    return True
        return False

    return possible(frozenset(range(len(kept))), None)
