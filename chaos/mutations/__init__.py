"""Bugs planted on purpose: a judge that lets one of them pass is not to be trusted.

`catalogue.py` says of each what goes wrong, where that was real, which checks must accuse it and
which scenario shows it; `of_brokers.py` of those in what a controller decides on brokers. Each has
a module of its own, named after its id, that replaces one decision of the node by a wrong one. The
node never hears of them: they enter with the process,

    python -m chaos.mutations Q-ZOMBIE -- start -c server.properties

and reach the node's image with their own package only, so nothing here imports what is heavy.
"""
