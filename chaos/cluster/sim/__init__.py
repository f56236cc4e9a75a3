"""The simulated cluster: the node's own code on virtual time, network and disks, from a seed."""
