"""Clusters to hurt: one interface, two runtimes, and the programs that may run in their nodes.

interface.py  a cluster as scenarios, nemesis and workloads see it
powers.py     what only some clusters can do: Protocols, asked for with isinstance
topology.py   which nodes are controllers, which are brokers; which nodes are joined, as values
fault_evidence.py whether a fault bit, decided from what was measured
cluster_errors.py what can go wrong, for the operator
probe.py levels of features, set through a broker
probe.py         the smallest questions to a Kafka process
targets/         what a cluster must know of the program in its nodes
docker/          the runtime in containers
sim/             the runtime in virtual time
compose_file.py  the compose file and toxiproxy's configuration, of the same topology
"""
