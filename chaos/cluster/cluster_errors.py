"""What can go wrong with a cluster, for its operator."""


class ClusterError(Exception):
    """The cluster could not do what was asked: what, where, and the next command."""


class DiedAtStartError(ClusterError):
    """A node that was started ended by itself before it answered: no slow machine excuses that."""


class StepError(ClusterError):
    """A simulated node does not end a step, or eats the machine's memory in it."""
