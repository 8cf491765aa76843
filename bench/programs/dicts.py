"""Dictionaries of small objects are made, grow, and are dropped.  Argument: the number of steps."""
import random
import sys

dice, table = random.Random(1), {}
for step in range(int(sys.argv[1])):
    key = dice.randrange(50000)
    if key in table and dice.random() < 0.4:
        del table[key]
    else:
        table.setdefault(key, {"key": str(key), "seen": []})["seen"].append((step, "y" * (step % 90)))
assert sum(len(entry["seen"]) for entry in table.values()) > 0
