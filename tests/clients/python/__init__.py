"""Clients in Python: each a program of its own, which tries one feature and ends."""
