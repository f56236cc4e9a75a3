"""Damage, and requests at their limits, in bulk against the node; a little of it runs in tests."""
