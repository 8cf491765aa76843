"""Turns rows into JSON and back, as a web service does.  Argument: how often."""
import json
import sys

for _ in range(int(sys.argv[1])):
    rows = [{"id": n, "name": "x" * (n % 700), "tags": [str(n), str(n * 3)]} for n in range(20000)]
    text = json.dumps(rows)
    assert len(json.loads(text)) == 20000
    words = {word: len(word) for word in text.split()}
