"""The controller: a state machine whose state is what the metadata log says below the HWM.

The active controller *decides*: a request becomes records and an answer, and nothing else changes
(`decision`; which module decides on which request stands in `writes`). The records gather for a
moment (`controller`), are appended as one batch (more, where one would be too large), and when the
quorum has committed them, every controller, active or not, *replays* them into its image (`image`),
and the active one answers. A read (`reads`) waits until a majority confirmed, after it arrived,
that its leader still leads (`reads`). What only the active controller has is its `controller`.
`controller.py` ties these to the quorum, of which it knows the seam alone (`node.raft.client`).

*Brokers.* `registration` and `heartbeats` say who takes part (KIP-631, KIP-841); when each
was heard of last is in no log, but in the `heartbeats` of the active controller.
*Partitions.* `partition_changes` is the heart: what becomes of ISR, eligible leader replicas and
leader (KIP-966). It is asked when brokers come and go (`isr_updates`), when a leader proposes an
ISR (`isr_proposals`), by operators (`elections`, `reassignments`), when a broker says on which
disk a replica is (`directory_assignments`), and now and then (`elections`); all by the
rules of `decision`. Metrics count them (`controller`).
*Topics.* `topic_creation` and `partition_creation`, with `partition_creation` and
`partition_creation`.
*What is set.* `resource_configs`, by the schemas of `config_definitions` and `config_definitions`;
`feature_updates`; `writes`.
*Controllers* tell of themselves too (`registration`).
"""
