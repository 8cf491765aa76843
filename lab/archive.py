"""Samples of a complete run, compressed with Zstandard."""

import os
from pathlib import Path

import zstandard

from lab import LabError

SUFFIX = ".zst"
LEVEL = 19


def contents(path: Path) -> tuple[bytes, str]:
    """Returns the file's content, up to the damage if there is any, and a message about the damage."""
    unpack, parts = zstandard.ZstdDecompressor().decompressobj(), []
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 14):
                parts.append(unpack.decompress(chunk))
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    except zstandard.ZstdError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), "" if unpack.eof else "it ends too early"


def compress(path: Path) -> Path:
    """Writes the compressed file and removes the original.  If this is interrupted, one of the two is complete."""
    target, new = path.with_name(path.name + SUFFIX), path.with_name(f"{path.name.partition('.')[0]}.part")
    new.write_bytes(zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(path.read_bytes()))
    os.replace(new, target)
    path.unlink()
    return target
