"""A cluster in containers: nodes without privileges, each alone on its network with the proxy.

clusters.py         makes a cluster, or attaches to a running one, as target and machine allow
docker_cluster.py   the cluster, as `chaos.cluster.interface.Cluster`; changes advertised hosts;
                    moves replicas between log directories
assembly.py         makes the parts of a cluster, or finds them again
containers.py       networks and containers: nodes, proxy, formatting
loop_disks.py       loop disks of nodes
labels.py           the labels by which the parts of a run are found
registry.py         which runs live; removes what dead runs left; saves nodes' logs and disks
node_processes.py   starts, stops, kills and pauses nodes; finds those that ended unasked
readiness.py        waits until nodes answer; work in threads; votes on disks
proxy_links.py      the proxies of the directed links between nodes, and of clients
toxiproxy_api.py    the API of toxiproxy, and its byte counters
power_cuts.py       power cuts, with the canary that proves each
disks.py            wiped disks, new disks, and nodes that change their program
machinery_watch.py  whether engine, proxy and disk agent still work
agent.py            the harness's end of the disk agent
agent_program.py    the disk agent: all that needs privilege
agent_processes.py  stops processes and reads the states of threads, in the agent's image; syncs
                    that go wrong, in the agent's image
"""
