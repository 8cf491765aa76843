"""The hz3 allocator as a preload library.  `python -m hz3 run -- PROGRAM` runs a program on it."""

from pathlib import Path

LIBRARY = Path(__file__).parent / "lib" / "libhakozuna_hz3_scale.so"
"""The value of LD_PRELOAD that runs a program on hz3."""
