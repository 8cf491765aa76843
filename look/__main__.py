import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if sys.version_info < (3, 10):  # noqa: UP036 (who runs it may have any)
    sys.exit("hz3: this needs Python 3.10 or later")
if __name__ == "__main__":
    from look.cli import run

    run()
