"""The controller: a state machine whose state is what the metadata log says below the HWM.

The active controller *decides* (`resource_configs`, by the schema of `client_metrics`): a request
becomes records and an answer, and nothing else changes. The records gather for a moment
(`accumulator`), are appended as one batch (more, where one would be too large), and when the quorum
has committed them, every controller, active or not, *replays* them into its image (`image`), and
the active one answers. A read waits until a majority confirmed, after it arrived, that its leader
still leads (`node.raft.read_index`). `controller.py` ties these to the quorum, of which it knows
the seam alone (`node.raft.client`).
"""
