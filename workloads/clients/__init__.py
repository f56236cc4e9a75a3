"""Clients, by whichever library they ask nodes."""
