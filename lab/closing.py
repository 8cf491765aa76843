"""How the runners of rows end: what they say last, and their status, by which nobody overlooks what was skipped."""

SKIP_STATUS = 77  # also that of a test that cannot be tried here: see docs/testing.md


def closing(passed: int, failed: int, skipped: int) -> str:
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def status(failed: int, skipped: int) -> int:
    """0: all passed; 1: some failed; 77: none failed, but some were skipped."""
    return 1 if failed else SKIP_STATUS if skipped else 0
