"""A cluster to try things out on by hand.

playground.py  `kraft-chaos up`, `inject`, `heal` and `down`
looking.py     `kraft-chaos ps`, `logs` and `shell`
by_hand.py     injects and heals one fault at a time, for commands and for `chaos.testing`
"""
