"""The controller: a state machine; its state is the metadata log below the high watermark.

The active controller *decides*: a request becomes records and a response, and nothing else changes
(`decision`; `writes` maps requests to the modules that decide). The records are collected for a
moment (`controller`), appended as one batch (more, if one would be too large), and once the quorum
has committed them, every controller, active or not, *replays* them into its image (`image`), and
the active one sends the response. A read (`reads`) waits until a majority confirmed, after the read
arrived, that its leader still leads. State that only the active controller has is its `ActiveState`
(`controller`). `controller.py` ties these to the quorum, through `node.raft.client` alone.

*Brokers.* `registration` (where an unclean shutdown is detected) and `heartbeats` decide which
brokers take part (KIP-631, KIP-841); the times of heartbeats are in no log, only in the active
controller's memory (`heartbeats`).
*Partitions* (`partitions`). `changes` computes ISR, eligible leader replicas and leader (KIP-966):
when brokers come and go, when a leader proposes an ISR (`isr_proposals`), by operators
(`elections`, `reassignments`), when a broker assigns a replica to a disk
(`directory_assignments`), and periodically (`elections`); always by the rules of `decision`. Where
it is switched on, `unclean_recovery` finds the leader of a partition that has lost all eligible
ones (`unclean_elections`, also for operators). Metrics count partitions (`controller`).
*Topics.* `partitions.topics` and `partitions.creation` (with replica placement).
*Configuration.* `resource_configs`, by the schemas of `config_definitions`; `feature_updates`.
*Producer ids.* `writes`. *Controllers* register too (`registration`).

`image.loader` loads the image of a snapshot and writes snapshots of it.
"""
