"""Histories that other programs wrote, read so strictly that a verdict on them means something.

Formats, recognised by how a file begins (`.gz` and `.zst` are unpacked), with an example line of
each:

    Jepsen's history.edn         {:type :invoke, :f :write, :value 3, :process 0, :time 7}
      several keys               {:type :ok, :f :read, :value ["x" 3], :process 1}
      multi-registers            {:type :ok, :f :txn, :value [[:r :x 1] [:w :y 2]], :process 0}
      Porcupine's logs of maps   {:process 1, :type :invoke, :f :append, :key "3", :value "x 1 4"}
      logs (Kafka workload)      {:type :ok, :f :send, :value [[:send 5 [0 7]]], :process 0}
    its history.txt              4	:ok	:cas	[0 3]
    its jepsen.log               ... INFO [jepsen worker 4] jepsen.util: 4	:ok	:cas	[0 3]
      older ones                 INFO  jepsen.util - 4	:ok	:cas	[0 3]
    its test.jepsen              blocks of Fressian (`jepsen_file`)
    JSON, an object a line       {"type": "invoke", "process": 1, "f": "read", "key": "x"}
      or an array of such        [{"type": "ok", "process": 1, "f": "cas", "value": [0, 3]}]
    Porcupine's operations       {"clientId": 0, "input": {"op": "get"}, "output": 1, "call": 2,
      in JSON (`porcupine`)       "return": 5}
    our own events-*.jsonl.zst   {"type":"ok","i":9,"p":3,"v":42,"t":456,"e":null}

`jepsen_file` finds the best of them in a directory of Jepsen's. Operations are read (r, get),
write (w, put), delete, cas, append, and txn of reads and writes; on a log, send and poll (`logs`);
on lists, txn of appends and reads (`list_append`); on sets, counters, mutexes and queues
(`keyed_calls`). The model follows from which of them occur. The order of the lines is the order of
events; a file whose indices or times contradict it is refused. Only Porcupine's operations have
their order by their times. Lines of the nemesis are skipped. An
operation that ends as `info`, or never, may have happened. A process may be a name, or be called
`client`.

    history_file.py    makes a history of a file: unpacked, recognised, read, paired
    source.py          the contents of a file, unpacked; what a file leaves open
    detect.py          recognises the format of a file, and reads its operations; the log of older
                       Jepsen tests
    edn.py             reads EDN
    fressian.py        reads Fressian
    jepsen.py          `history.edn`
    jepsen_file.py     `test.jepsen`, printed operations, Jepsen's directories
    porcupine.py       JSON, Porcupine's and others
    own_events.py      our own `events-*.jsonl.zst`
    entries.py         one line of a history; pairs of lines
    foreign_values.py  the values in a file, compared and shown
    operations.py      the operations of a file in our words
    keyed_calls.py     operations of objects other than registers, with their keys
    build.py           turns pairs into `Calls`
    logs.py            histories of logs with offsets
    objects.py         judges sets, queues, counters and lists
    sets.py            sets, counters and mutexes
    queues.py          queues
    list_append.py     transactions on lists
    list_orders.py     anomalies of lists
    judge.py           the verdict, with its witness

Nothing is guessed about a file that is damaged, cut short or foreign: it is an
`UnreadableHistoryError` of one line, and never a history.
"""

from checkers.foreign.detect import Format
from checkers.foreign.edn import read_one
from checkers.foreign.foreign_values import UnreadableHistoryError
from checkers.foreign.history_file import Declared, ForeignHistory, read_calls, read_history
from checkers.foreign.judge import judge
from checkers.foreign.list_append import Lists
from checkers.foreign.logs import Log
from checkers.foreign.objects import Judged, Objects, Shown
from checkers.foreign.source import CasFailures, NilReads, Policies
from checkers.log.anomalies import Isolation

__all__ = [
    "CasFailures",
    "Declared",
    "ForeignHistory",
    "Format",
    "Isolation",
    "Judged",
    "Lists",
    "Log",
    "NilReads",
    "Objects",
    "Policies",
    "Shown",
    "UnreadableHistoryError",
    "judge",
    "read_calls",
    "read_history",
    "read_one",
]
