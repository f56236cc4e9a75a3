"""Do logs keep their promises? All anomalies of Jepsen's Kafka workload, and some of ours.

A log is a partition: its offsets give one order to what is sent to it. `run_arrays` (a run) and
`checkers.foreign` (a file) bring a history into one form, `arrays`; `version_order` says what
stands where, as far as anybody was told; each kernel then looks for its anomalies in a few passes
of array operations over everything at once, without a loop over records:

    offset_conflicts    inconsistent-offsets, duplicate
    reads               corrupt, phantom, G1a, future-read, precommitted-read
    loss                lost-write, unseen
    realtime            nonmonotonic-send-realtime
    high_watermarks     poll-past-high-watermark, nonmonotonic-high-watermark
    positions           {int-,}{poll,send}-skip, {int-,}nonmonotonic-{poll,send}
    cycles              G0, G1b, G1c, G-single, G2, and all but G1b over real time

A poll may lag behind the end of the log, so it can always be placed as late as its return allows:
what it saw binds, not what it did not see. Of a run more is known than of a file: disks, which tell
what is lost from what is late (`fates`), and faults, which tell what may be lost (`loss_budget` of
`checkers.evidence`). `checks` and `durability` make rows of a judgement of it. What acks=all
promises, acks=0 and acks=1 do not: such records count once somebody polled them.

`ended_transactions` goes by what readers of committed transactions were told of a log's end,
`looked_up` by what those were told who asked for the offset of a time, `deleted_records` by where a
log is told to begin whose first records were deleted, `committed_offsets` by what a group is told
to have committed.

Cycles are looked for where operations are transactions, rows of micro-operations: `dependencies`
says which depends on which, `components` has them in strongly connected components (scipy's),
`circles` finds the shortest way round; `case_words` and `cycle_words` say it. What of all this
fails a test is for `allowances` to say: what transactions are promised is an `Isolation`, by
default that of Kafka, under which what they send interleaves, as Jepsen's Kafka workload allows it
too. `subscriptions` tell whose polls nobody can hold to an order.
"""
