"""Bugs planted on purpose: a judge that misses one of them is not to be trusted.

`catalogue.py` has for each what goes wrong, where that was real, which checks must accuse it and
which scenario shows it; `broker_catalogue.py` for bugs in a controller's decisions on brokers. Each
has
its own module, named after its id, that replaces one decision of the node by a wrong one. The node
does not know them: they enter with the process,

    python -m chaos.bugs Q-ZOMBIE -- start -c server.properties

and reach the node's image with their own package only, so nothing here has heavy imports.
"""
