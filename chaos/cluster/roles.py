"""The roles of a cluster's nodes. Where nothing is said of roles, all are controllers."""

from chaos.cluster.interface import Cluster, Described, NodeId


def brokers_of(cluster: Cluster) -> tuple[NodeId, ...]:
    roles = cluster.roles if isinstance(cluster, Described) else {}
    return tuple(node for node in cluster.nodes if node in roles and roles[node].is_broker)


def controllers_of(cluster: Cluster) -> tuple[NodeId, ...]:
    roles = cluster.roles if isinstance(cluster, Described) else {}
    return tuple(node for node in cluster.nodes if node not in roles or roles[node].is_controller)
