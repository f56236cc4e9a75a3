"""A cluster in containers: nodes without privileges, each alone on its network with the proxy.

clusters.py                   a new one, or one that is up, of the kind that target and machine
                              allow; with power that can be cut, where disks allow
docker_cluster.py             all of it as `chaos.cluster.interface.Cluster`
assembly.py                   how a cluster comes into being, or is found again
containers.py, loop_disks.py  what it is made of
labels.py, identity.py, registry.py  how a run finds its own, and what dead runs have left
node_processes.py             started, stopped, killed, paused; and those that ended unasked
readiness.py                  waiting until a process answers; work in threads, and the moment when
                              no more of it may begin; the votes of controllers
proxy_links.py                the directed links between nodes, by toxiproxy (toxiproxy_api.py,
                              toxiproxy_api.py); the ways in for clients
power_cuts.py                 power cuts, with the canary that proves each
upkeep.py                     replicas that a broker moves to another of its log directories;
                              controllers that say at another host that they are reached
disks.py                      nodes that go on as the other of two programs; a new disk for a node
                              that is off; what was on the old one
registry.py                   what a node leaves, copied off the engine
agent.py                      the harness's end of the disk agent
machinery_watch.py            whether engine, proxy and disk agent go on
agent_program.py              the agent itself, with what needs privilege; in its image are this
                              and
                    agent_processes.py (stopped, and looked at) and agent_tracers.py (syncs that
                    go wrong)
"""
