"""Damage to run.json: one of its entries is gone."""

import json
import random
from pathlib import Path


def damage_description(directory: Path, rng: random.Random) -> str:
    path = directory / "run.json"
    fields = json.loads(path.read_text())
    name = rng.choice(sorted(fields))
    del fields[name]
    path.write_text(json.dumps(fields, indent=2) + "\n")
    return f"run.json without {name}"
