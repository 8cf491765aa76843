"""Runs on a preloaded allocator, and prints as JSON which library serves this process.  Fails if the allocator is
wrong.

    probe.py IDENTITY [MODE]      names of functions, as in peers.toml
"""

import contextlib
import ctypes
import json
import sys
import threading

FAMILY = ("malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "malloc_usable_size")
OPERATORS = ("_Znwm", "_Znam", "_ZdlPv", "_ZdaPv")
SIZES = (1, 16, 100, 1000, 5000, 40_000, 300_000, 5_000_000)

here = ctypes.CDLL(None)


class DlInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def server(function: str) -> str | None:
    """The file that defines the function which a call of this name reaches."""
    info = DlInfo()
    try:
        found = here.dladdr(ctypes.cast(getattr(here, function), ctypes.c_void_p), ctypes.byref(info))
    except AttributeError:
        return None
    return info.file.decode() if found else None


def called(function: str, answer, *arguments):
    pointer = ctypes.CFUNCTYPE(answer)(ctypes.cast(getattr(here, function), ctypes.c_void_p).value)
    return pointer(*arguments)


def own_version(identity: str) -> str | None:
    """The library's version, if it has a function for that."""
    match identity:
        case "gnu_get_libc_version":
            return called(identity, ctypes.c_char_p).decode()
        case "tc_version":
            return called(identity, ctypes.c_char_p, None, None, None).decode()
        case "mallctl":
            text, size = ctypes.c_char_p(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_char_p))
            failed = called(identity, ctypes.c_int, b"version", ctypes.byref(text), ctypes.byref(size), None,
                            ctypes.c_size_t(0))
            return None if failed else text.value.decode()
        case "mi_version":  # 209 is 2.0.9, 30302 is 3.3.2
            number = called(identity, ctypes.c_int)
            parts = (number // 10_000, number // 100 % 100, number % 100) if number >= 10_000 else str(number)
            return ".".join(map(str, parts))
    return None


def exercise() -> None:
    """Checks that every function works, and that another thread can free the blocks."""
    pointer, size_t = ctypes.c_void_p, ctypes.c_size_t
    for name in ("malloc", "calloc", "realloc", "aligned_alloc", "memalign"):
        getattr(here, name).restype = pointer
    here.malloc_usable_size.restype = size_t
    blocks = []
    for size in SIZES:
        zeroed = here.calloc(size_t(1), size_t(size))
        assert ctypes.string_at(zeroed, size) == bytes(size), "calloc gave bytes that are not zero"
        grown = here.malloc(size_t(size))
        ctypes.memset(grown, 0x5A, size)
        grown = here.realloc(pointer(grown), size_t(3 * size))
        assert ctypes.string_at(grown, size) == b"\x5a" * size, "realloc lost what was there"
        for alignment in (16, 64, 4096):
            rounded = -(-size // alignment) * alignment
            placed = pointer()
            assert here.posix_memalign(ctypes.byref(placed), size_t(alignment), size_t(size)) == 0, "posix_memalign"
            aligned = [placed.value, here.memalign(size_t(alignment), size_t(size)),
                       here.aligned_alloc(size_t(alignment), size_t(rounded))]
            assert not any(block % alignment for block in aligned), f"a block is not aligned to {alignment}"
            blocks += [(block, size) for block in aligned]
        blocks += [(zeroed, size), (grown, 3 * size)]
    for block, size in blocks:
        assert here.malloc_usable_size(pointer(block)) >= size, "malloc_usable_size is below what was asked for"
        ctypes.memset(block, 0xA5, size)
    assert len({block for block, _ in blocks}) == len(blocks), "a block was given out twice"
    other = threading.Thread(target=lambda: [here.free(pointer(block)) for block, _ in blocks])
    other.start()
    other.join()


def main() -> None:
    identity, *mode = sys.argv[1:]
    with contextlib.suppress(OSError):
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)  # C++ programs get the operators that it binds to
    exercise()
    json.dump({
        "family": {name: server(name) for name in FAMILY},
        "operators": {name: server(name) for name in OPERATORS},
        "identity": server(identity),
        "version": own_version(identity) if server(identity) else None,
        "mode": called(mode[0], ctypes.c_bool) if mode and server(mode[0]) else None,
    }, sys.stdout)


main()
