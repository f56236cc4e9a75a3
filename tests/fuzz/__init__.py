"""Damage thrown at the node in bulk; small shares of it run among the tests."""
