import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from lab.cli import run  # noqa: E402

run()
