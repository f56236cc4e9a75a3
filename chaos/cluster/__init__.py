"""Clusters: one interface, two runtimes, and the programs that may run in their nodes.

interface.py       a cluster as scenarios, nemesis and workloads see it
powers.py          abilities of some clusters only: Protocols, asked for with isinstance
topology.py        nodes, roles and links as values
targets/           what a cluster must know of the program in its nodes
docker/            the runtime in containers
sim/               the runtime in virtual time
fault_evidence.py  whether a fault bit, decided from measurements
cluster_errors.py  errors of a cluster, for the operator
probe.py           requests to one Kafka process: whether it answers, which brokers it knows
operator_requests.py  what operators ask through a broker: levels, min ISR, leaders, moves
compose_file.py    the compose file and toxiproxy's configuration, from the same topology
"""
