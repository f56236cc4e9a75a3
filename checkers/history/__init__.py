"""What a run leaves behind, as checks and reports read it. The reader of the schema defines it.

events.py      the lines of `events-*.jsonl.zst`
tables.py      the sealed tables
store.py       sealed runs on disk: Parquet files and their manifest
sealed_run.py  a run in its directory: `run.json` and the sealed tables; what was collected, and
               whether it is still as it was
traces.py      the nodes' trace lines, and lines of Apache Kafka's log
asked.py       what clients and operators ask for
calls.py       histories of any object, for the linearizability checkers
"""
