"""Do logs keep their promises? All anomalies of Jepsen's Kafka workload, and some of ours.

A log is a partition: its offsets give one order to what is sent to it. `run_arrays` (a run) and
`checkers.foreign` (a file) bring a history into one form, `arrays`; `version_order` says which
record is at which offset, as far as clients were told; each kernel then looks for its anomalies in
a few passes of array operations over everything at once, without a loop over records:

    offset_conflicts    inconsistent-offsets, duplicate
    reads               corrupt, phantom, G1a, future-read, precommitted-read
    loss                lost-write, unseen
    realtime            nonmonotonic-send-realtime
    high_watermarks     poll-past-high-watermark, nonmonotonic-high-watermark
    positions           {int-,}{poll,send}-skip, {int-,}nonmonotonic-{poll,send}
    cycles              G0, G1b, G1c, G-single, G2, and all but G1b over real time

A poll may lag behind the end of the log, so it can always be placed as late as its return allows:
what it saw is binding, what it did not see is not. A run has more evidence than a file: disks,
which distinguish lost from late (`fates`), and faults, which say what may be lost (`loss_budget` of
`checkers.evidence`). `checks` and `durability` make rows of a judgement from it. acks=0 and acks=1
do not promise what acks=all does: such records count once a consumer polled them.

`ended_transactions` judges log ends as answered to read-committed consumers, `looked_up` answers to
look-ups by time, `deleted_records` log starts after DeleteRecords, `committed_offsets` the
committed offsets of a group, `processed_once` the output of a group that transforms a log in
transactions.

Cycles are looked for where operations are transactions, rows of micro-operations: `dependencies`
has the dependencies between them, `components` finds strongly connected components (scipy's),
`circles` the shortest cycle; `case_words` and `cycle_words` put it into words. `allowances` decides
which of all this fails a test: what transactions are promised is an `Isolation`, by default
Kafka's, under which sends of transactions interleave, as Jepsen's Kafka workload also allows.
`subscriptions` finds the consumers without a binding order of polls.
"""
