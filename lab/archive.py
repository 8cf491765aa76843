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


def expand(path: Path) -> Path:
    """Undoes compress(), so that the file can be appended to.  Returns the path of what is in its place: if a run there
    goes on, that stays."""
    if path.suffix != SUFFIX:
        return path
    data, damage = contents(path)
    if damage:
        raise LabError(f"{path} is damaged: {damage}")
    target = path.with_suffix("")
    there = target.read_bytes() if target.exists() else b""
    if there[: len(data)] != data[: len(there)]:
        raise LabError(f"{path} and {target.name} have other samples: remove one")
    if len(there) < len(data):
        new = target.with_suffix(".part")
        new.write_bytes(data)
        os.replace(new, target)
    path.unlink()
    return target
