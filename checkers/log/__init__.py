"""Do logs keep their promises? All anomalies of Jepsen's Kafka workload, and some of ours.

    run_arrays.py         makes arrays from the sealed tables of a run
    arrays.py             the array form of a history; unrecorded moves of partitions
    dependencies.py       which record is at which offset; which operation depends on which
    sweep.py              runs all kernels; offset conflicts, reads, losses; poll-past-high-
                          watermark, nonmonotonic-high-watermark
    positions.py          {int-,}{poll,send}-skip, nonmonotonic ones, and by real time
    cycles.py             G0, G1b, G1c, G-single, G2, and all but G1b over real time
    anomalies.py          the names of anomalies, and cases of them; the shortest cycle in a
                          component; what fails no test, by the kind of workload and its isolation
    findings.py           what was found in a run, and the fate of every record
    log_witness.py        cases and cycles in words, with their operations
    checks.py             the checks of logs, one row per family of promises
    durability.py         nothing that was promised is lost
    looked_up.py          look-ups by time, and log ends for read-committed consumers
    committed_offsets.py  the committed offsets of a group; log starts after DeleteRecords
    processed_once.py     the output of a group that transforms a log in transactions

A log is a partition: its offsets give one order to what is sent to it. `run_arrays` (a run) and
`checkers.foreign` (a file) bring a history into one form, `arrays`. Each kernel then looks for its
anomalies in a few passes of array operations over everything at once, without a loop over records.

A poll may lag behind the end of the log, so it can always be placed as late as its return allows:
what it saw is binding, what it did not see is not. A run has more evidence than a file: disks,
which distinguish lost from late, and faults, which say what may be lost (`loss_budget` of
`checkers.evidence`). acks=0 and acks=1 do not promise what acks=all does: such records count once a
consumer polled them.

Cycles are looked for if operations are transactions, rows of micro-operations. What transactions
are promised is an `Isolation`, by default Kafka's, under which sends of transactions interleave, as
Jepsen's Kafka workload also allows.
"""
