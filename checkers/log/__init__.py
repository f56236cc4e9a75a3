"""Do logs keep their promises? All anomalies of Jepsen's Kafka workload, and some of ours.

A log is a partition: its offsets give one order to what is sent to it. `tables` (a run) and
`checkers.foreign` (a file) bring a history into one form, `arrays`; `version_order` says what
stands where, as far as anybody was told; each kernel then looks for its anomalies in a few passes
of array operations over everything at once, without a loop over records:

    places      inconsistent-offsets, duplicate
    reads       corrupt, phantom, G1a, future-read, precommitted-read, poll-past-high-watermark
    loss        lost-write, unseen
    realtime    nonmonotonic-send-realtime, nonmonotonic-high-watermark
    positions   {int-,}{poll,send}-skip, {int-,}nonmonotonic-{poll,send}

A poll may lag behind the end of the log, so it can always be placed as late as its return allows:
what it saw binds, not what it did not see. Of a run more is known than of a file: disks, which tell
what is lost from what is late (`fates`), and faults, which tell what may be lost (`budget`).
`checks` and `durability` make rows of a judgement of it. What acknowledged=all promises, acks=0 and
acks=1 do not: such records count once somebody polled them.

Not looked for are cycles between transactions (G0, G1c).
"""
