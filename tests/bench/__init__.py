"""The project's bars, measured. `python -m tests.bench` prints a table and writes bench.json."""
