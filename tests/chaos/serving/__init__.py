"""Tests of `chaos.serving`."""
