"""Jepsen's `history.edn`: an operation per form, or one vector of all.

    {:type :invoke, :f :cas, :value [0 3], :process 1, :time 4, :index 0}

Histories of several keys (`jepsen.independent`) have the value `[key value]`; Porcupine's logs of
a map, which are EDN as well, have `:key`. A process may be a name, and be called `:client`.
The order of the lines is the order of events; a file whose `:index` or `:time` contradicts it is
refused (`entries`). `:error` and others are not read.
"""

from collections.abc import Iterator

from checkers.foreign.edn import forms
from checkers.foreign.entries import FieldNames, HistoryLine, entry_of

FIELDS = FieldNames(
    type=":type",
    process=":process",
    client=":client",
    f=":f",
    key=":key",
    value=":value",
    rebalances=":rebalance-log",
    index=":index",
    time=":time",
)


def read(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    for line, form in forms(text, unwrap=True):
        entry = entry_of(line, form, FIELDS)
        if entry is not None:
            yield entry
