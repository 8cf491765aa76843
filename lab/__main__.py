import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

if sys.__stdout__ is None:
    sys.exit("hz3: cannot write: stdout is closed")

try:  # in here, since numpy takes a second to load
    from lab.cli import run
except KeyboardInterrupt:
    sys.exit("\nhz3: interrupted")

run()
