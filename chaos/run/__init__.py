"""A run, from its plan to its verdict: planned, launched, recorded, collected, sealed, judged."""
