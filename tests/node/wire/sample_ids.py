"""Who and where, in samples of messages."""

from uuid import UUID

from node.ids import Endpoint, Epoch, NodeId

CLUSTER = "kraft-chaos-cluster-01"
DIRECTORY = UUID(int=2**101 + 17)
OTHER = UUID(int=2**99 + 3)
LEADER = NodeId(2)
EPOCH = Epoch(7)
ADDRESS = Endpoint(name="", host="node-2", port=9102)
INNER = Endpoint(name="CONTROLLER", host="node-2", port=9102)
OUTER = Endpoint(name="EXTERNAL", host="127.0.0.1", port=40000)
