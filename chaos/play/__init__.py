"""A cluster to try things out on by hand.

playground.py  `kraft-chaos up`, `inject`, `heal` and `down`
"""
