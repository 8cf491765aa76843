"""python -m hz3 VERB ...: the command hz3, see `python -m hz3 help`."""

import os
import sys
from pathlib import Path

here = Path(__file__).parent
look = here / "share/hz3/look"
if sys.argv[1:] and (look / f"hz3-{sys.argv[1]}").exists():  # what is Python itself runs on this one, with its packages
    os.execv(sys.executable, [sys.executable, str(look), *sys.argv[1:]])
os.execv("/bin/sh", ["/bin/sh", str(here / "bin/hz3"), *sys.argv[1:]])
