"""python -m hz3 VERB ...: the command hz3, see `python -m hz3 help`."""

import os
import sys
from pathlib import Path

os.execv("/bin/sh", ["/bin/sh", str(Path(__file__).parent / "bin" / "hz3"), *sys.argv[1:]])
