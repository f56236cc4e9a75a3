"""Small files in every format that `checkers.foreign` reads."""

import json
import shutil
import subprocess
from pathlib import Path

PORCUPINE = "v1.3.1"

JEPSEN = """; a history of Jepsen
{:type :invoke, :f :write, :value 1, :process 0, :time 10, :index 0}
#jepsen.history.Op{:type :invoke, :f :read, :value nil, :process 1, :time 11, :index 1}
{:type :ok, :f :write, :value 1, :process 0}
{:type :info, :f :start, :process :nemesis, :value "cut off n1"}
{:type :invoke, :f :cas, :value [1 2], :process 0}
{:type :ok, :f :read, :value 1, :process 1}
{:type :fail, :f :cas, :value [1 2], :process 0, :error [:precondition "no"]}
{:type :invoke, :f :write, :value 3, :process 2}
{:type :invoke, :f :cas, :value [1 4], :process 1}
{:type :ok, :f :cas, :value [1 4], :process 1}
{:type :info, :f :write, :value 3, :process 2, :error :timeout}
{:type :invoke, :f :read, :value nil, :process 3}
"""

JSON_LINES = """\
{"type": "invoke", "f": "write", "value": 1, "process": 0, "time": 10}
{"type": "invoke", "f": "read", "value": null, "process": 1}
{"type": "ok", "f": "write", "value": 1, "process": 0}
{"type": "info", "f": "start", "process": "nemesis", "value": "cut off n1"}
{"type": "invoke", "f": "cas", "value": [1, 2], "process": 0}
{"type": "ok", "f": "read", "value": 1, "process": 1}
{"type": "fail", "f": "cas", "value": [1, 2], "process": 0}
{"type": "invoke", "f": "write", "value": 3, "process": 2}
{"type": "invoke", "f": "cas", "value": [1, 4], "process": 1}
{"type": "ok", "f": "cas", "value": [1, 4], "process": 1}
{"type": "info", "f": "write", "value": 3, "process": 2}
{"type": "invoke", "f": "read", "process": 3}
"""

ETCD = (
    "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
    "INFO  jepsen.util - 0\t:ok\t:read\tnil\n"
    "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
    "INFO  jepsen.util - 0   :invoke :write  1\n"
    "INFO  jepsen.util - 0   :ok     :write  1\n"
    "INFO  jepsen.util - 1\t:invoke\t:write\t2\n"
    "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 3]\n"
    "INFO  jepsen.util - 0\t:fail\t:cas\t[1 3]\n"
    "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
    "INFO  jepsen.util - 0\t:fail\t:read\t:timed-out\n"
    "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n"
    "INFO  jepsen.util - 0\t:fail\t:cas\t:timed-out\n"
    "INFO  jepsen.util - 1\t:info\t:write\t:timed-out\n"
)

KV = """\
{:process 0, :type :invoke, :f :append, :key "3", :value "x 0 0 y"}
{:process 1, :type :invoke, :f :get, :key "3", :value nil}
{:process 0, :type :ok, :f :append, :key "3", :value "x 0 0 y"}
{:process 1, :type :ok, :f :get, :key "3", :value "x 0 0 y"}
{:process 0, :type :invoke, :f :put, :key "4", :value "a"}
{:process 0, :type :ok, :f :put, :key "4", :value "a"}
{:process 1, :type :invoke, :f :get, :key "5", :value nil}
{:process 1, :type :ok, :f :get, :key "5", :value ""}
"""

MULTI = """\
[{:type :invoke, :f :txn, :value [[:w :x 1] [:r :y nil]], :process 0}
 {:type :invoke, :f :txn, :value [[:r :x nil] [:w :y 2]], :process 1}
 {:type :ok, :f :txn, :value [[:w :x 1] [:r :y nil]], :process 0}
 {:type :fail, :f :txn, :value [[:r :x nil] [:w :y 2]], :process 1}
 {:type :invoke, :f :txn, :value [[:w :x 5]], :process 1}
 {:type :info, :f :txn, :value [[:w :x 5]], :process 1, :error :timeout}]
"""

EVENTS = """\
{"type":"note","t":1,"text":"begun"}
{"type":"invoke","i":0,"p":3,"f":"write","k":"r-1","v":42,"t":123,"n":1,"ph":"main"}
{"type":"invoke","i":1,"p":4,"f":"read","k":"r-1","v":null,"t":123,"n":1,"ph":"main"}
{"type":"ok","i":2,"p":3,"v":42,"t":456,"e":null}
{"type":"fault","id":1,"stage":"start","t":400}
{"type":"ok","i":3,"p":4,"v":null,"t":457,"e":null}
{"type":"invoke","i":4,"p":3,"f":"read","k":"r-2","v":null,"t":458,"n":1,"ph":"main"}
{"type":"ok","i":5,"p":3,"v":null,"t":459,"e":null}
"""

KAFKA = """\
{:type :invoke, :f :assign, :value [5], :process 1}
{:type :ok, :f :assign, :value [5], :process 1}
{:type :invoke, :f :send, :value [[:send 5 1]], :process 0}
{:type :ok, :f :send, :value [[:send 5 [0 1]]], :process 0}
{:type :invoke, :f :txn, :value [[:poll] [:send 5 2]], :process 1}
{:type :ok, :f :txn, :value [[:poll {5 [[0 1]]}] [:send 5 [1 2]]], :process 1}
{:type :invoke, :f :poll, :value [[:poll]], :process 1}
{:type :ok, :f :poll, :value [[:poll {5 [[1 2]]}]], :process 1}
"""

HISTORY_TXT = (
    "0\t:invoke\t:write\t1\n"
    ':nemesis\t:info\t:start\t#object[cut 0x1 "n1"]\n'
    "1\t:invoke\t:read\tnil\n"
    "0\t:ok\t:write\t1\n"
    "0\t:invoke\t:cas\t[1 2]\n"
    "1\t:ok\t:read\t1\n"
    '0\t:fail\t:cas\t[1 2]\t[:precondition "no"]\n'
    "2\t:invoke\t:write\t3\n"
    "1\t:invoke\t:cas\t[1 4]\n"
    "1\t:ok\t:cas\t[1 4]\n"
    "2\t:info\t:write\t3\tindeterminate: Connection\nreset\tby peer\n\n"
    "3\t:invoke\t:read\tnil\n"
)

_AT = "2025-01-20 12:08:03,85{}{{GMT}}\tINFO\t[jepsen worker {}] jepsen.util: "
JEPSEN_LOG = (
    "2025-01-20 12:08:03,807{GMT}\tINFO\t[jepsen test runner] jepsen.core: Test version 7\n"
    + _AT.format(0, 0)
    + "0\t:invoke\t:write\t1\n"
    + "INFO [2025-01-20 12:08:03,851] jepsen nemesis - jepsen.util :nemesis\t:info\t:start\tnil\n"
    + _AT.format(2, 1).replace("util", "print")
    + "1\t:invoke\t:read\tnil\n"
    + _AT.format(3, 0)
    + "0\t:ok\t:write\t1\n"
    + _AT.format(4, 0)
    + "0\t:invoke\t:cas\t[1 2]\n"
    + _AT.format(5, 1)
    + "1\t:ok\t:read\t1\n"
    + _AT.format(6, 0)
    + '0\t:fail\t:cas\t[1 2]\t[:precondition "no"]\n'
    + "2025-01-20 12:08:03,857{GMT}\tWARN\t[jepsen worker 2] jepsen.client: it\n\tcrashed: 7\n"
    + "INFO\t[jepsen worker 2] jepsen.util: 2\t:invoke\t:write\t3\n"
    + "INFO [2025-01-20 12:08:03,858] jepsen worker 1 - jepsen.util 1  :invoke  :cas  [1 4]\n"
    + _AT.format(8, 1)
    + "1\t:ok\t:cas\t[1 4]\n"
    + _AT.format(9, 2)
    + "2\t:info\t:write\t3\t:timeout\n"
    + _AT.format(9, 3)
    + "3\t:invoke\t:read\tnil\n"
    + "2025-01-20 12:08:04,000{GMT}\tINFO\t[main] jepsen.core: {:valid? true,\n :count 7}\n"
)

PORCUPINE_OPERATIONS = """\
[{"clientId": 0, "input": {"op": "put", "value": 1}, "call": 0, "return": 2},
 {"clientId": 1, "input": {"op": "get"}, "output": 1, "call": 1, "return": 4},
 {"clientId": 0, "input": {"op": "cas", "old": 7, "new": 2}, "output": false, "call": 3,
  "return": 5},
 {"clientId": 2, "input": {"op": "write", "value": 3}, "call": 6},
 {"clientId": 1, "input": {"op": "cas", "value": [1, 4]}, "output": {"ok": true}, "call": 7,
  "return": 8}]
"""

LISTS = """\
{:type :invoke, :f :txn, :value [[:append :x 1] [:r :y nil]], :process 0}
{:type :invoke, :f :txn, :value [[:append :x 2] [:append :y 3]], :process 1}
{:type :ok, :f :txn, :value [[:append :x 1] [:r :y nil]], :process 0}
{:type :ok, :f :txn, :value [[:append :x 2] [:append :y 3]], :process 1}
{:type :invoke, :f :txn, :value [[:r :x] [:r :y]], :process 2}
{:type :ok, :f :txn, :value [[:r :x [1 2]] [:r :y [3]]], :process 2}
"""

SET = """\
{:type :invoke, :f :add, :value 1, :process 0}
{:type :invoke, :f :read, :value nil, :process 1}
{:type :ok, :f :add, :value 1, :process 0}
{:type :ok, :f :read, :value #{}, :process 1}
{:type :invoke, :f :read, :value nil, :process 1}
{:type :ok, :f :read, :value #{1}, :process 1}
"""

COUNTER = SET.replace("#{}", "0").replace("#{1}", "1")

MUTEX = """\
{:type :invoke, :f :acquire, :value nil, :process 0}
{:type :invoke, :f :acquire, :value nil, :process 1}
{:type :ok, :f :acquire, :value nil, :process 0}
{:type :invoke, :f :release, :value nil, :process 0}
{:type :ok, :f :release, :value nil, :process 0}
{:type :ok, :f :acquire, :value nil, :process 1}
"""

QUEUE = """\
{:type :invoke, :f :enqueue, :value 1, :process 0}
{:type :ok, :f :enqueue, :value 1, :process 0}
{:type :invoke, :f :enqueue, :value 2, :process 0}
{:type :invoke, :f :dequeue, :value nil, :process 1}
{:type :ok, :f :enqueue, :value 2, :process 0}
{:type :ok, :f :dequeue, :value 1, :process 1}
{:type :invoke, :f :drain, :value nil, :process 1}
{:type :ok, :f :drain, :value [2], :process 1}
"""

OWN_LOG = """\
{"type":"invoke","i":0,"p":0,"f":"create-topic","k":"t","v":null,"t":1,"n":1,"ph":"main"}
{"type":"ok","i":1,"p":0,"v":null,"t":2,"e":null}
{"type":"invoke","i":2,"p":6,"f":"assign","k":"t-0","v":null,"t":3,"n":-1,"ph":"main"}
{"type":"ok","i":3,"p":6,"v":null,"t":3,"e":null}
{"type":"malformed","t":3,"node":1,"api":"Fetch","problem":"cut","head":"00"}
{"type":"invoke","i":4,"p":3,"f":"send","k":"t-0","v":12884901888,"t":4,"n":1,"ph":"main",\
"s":[["t-0",null,12884901888,2,null,null]],"a":-1,"x":true}
{"type":"ok","i":5,"p":3,"v":null,"t":5,"e":null,"s":[["t-0",0,12884901888,2,null,null]]}
{"type":"invoke","i":6,"p":6,"f":"poll","k":"t-0","v":null,"t":6,"n":1,"ph":"main"}
{"type":"ok","i":7,"p":6,"v":null,"t":7,"e":null,"s":[["t-0",0,12884901888,2,0,2]]}
"""

ALL = {
    "history.txt": HISTORY_TXT,
    "jepsen.log": JEPSEN_LOG,
    "porcupine.json": PORCUPINE_OPERATIONS,
    "lists.edn": LISTS,
    "set.edn": SET,
    "counter.edn": COUNTER,
    "mutex.edn": MUTEX,
    "queue.edn": QUEUE,
    "own-log.jsonl": OWN_LOG,
    "kafka.edn": KAFKA,
    "jepsen.edn": JEPSEN,
    "history.jsonl": JSON_LINES,
    "etcd.log": ETCD,
    "kv.txt": KV,
    "multi.edn": MULTI,
    "events.jsonl": EVENTS,
}


class NoPorcupineError(Exception):
    """Why the histories that come with Porcupine cannot be had here."""


def porcupine() -> Path:
    """The Go module of Porcupine, with its test histories, as the Go tool keeps it.

    Raises NoPorcupineError.
    """
    if shutil.which("go") is None:
        raise NoPorcupineError("no go tool to fetch Porcupine's histories with")
    command = ["go", "mod", "download", "-json", f"github.com/anishathalye/porcupine@{PORCUPINE}"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoPorcupineError("go mod download took more than 60 s") from error
    said = json.loads(found.stdout) if found.stdout else {}
    if "Dir" not in said:
        raise NoPorcupineError(f"go mod download: {said.get('Error') or found.stderr.decode()}")
    return Path(said["Dir"])
