"""The hz3 allocator as a preload library.  `python -m hz3 run -- PROGRAM` runs a program on it.

In a process that runs on hz3 the functions below read and set what hz3.h says of the C functions that they call."""

import ctypes
import json
import os
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).parent / "lib" / "libhakozuna_hz3_scale.so"
"""The value of LD_PRELOAD that runs a program on hz3."""

_process = ctypes.CDLL(None)


def _function(name: str, *takes: Any, returns: Any = None) -> Any:
    try:
        found = getattr(_process, f"hz3_{name}")
    except AttributeError:
        raise RuntimeError("this process does not run on hz3: see python -m hz3 run") from None
    found.argtypes, found.restype = takes, returns
    return found


def _bytes(name: str) -> bytes:
    """What a function writes that takes a buffer and its size, and returns how long the whole is."""
    function = _function(name, ctypes.c_char_p, ctypes.c_size_t, returns=ctypes.c_size_t)
    size = 1 << 14
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = int(function(buffer, size))
        if length < size:
            return buffer.raw[:length]
        size = length + length // 4 + 1  # it may have grown meanwhile


def _control(name: str, wanted: int | None) -> int:
    word = ctypes.c_size_t
    before, size, to = word(), word(ctypes.sizeof(word)), None if wanted is None else ctypes.byref(word(wanted))
    takes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, word)
    function = _function("control", *takes, returns=ctypes.c_int)
    error = function(name.encode(), ctypes.byref(before), ctypes.byref(size), to, size.value)
    if error:
        raise OSError(error, os.strerror(error), name)
    return before.value


def get(name: str) -> int:
    """The value of an option or a figure; `hz3 options` lists the names.  OSError (EINVAL): there is none."""
    return _control(name, None)


def set(name: str, value: int) -> int:
    """Sets an option while the program runs, as set("HZ3_PROFILE", 512 << 10), and returns its value before.  OSError
    says EPERM where that is not allowed, and EINVAL where the value is not."""
    if not 0 <= value < 1 << 64:
        raise OverflowError(f"{value} is no value of {name}")
    return _control(name, value)


def stats() -> dict[str, Any]:
    """The statistics, as `hz3 stats --json` has them."""
    found: dict[str, Any] = json.loads(_bytes("stats_json"))
    return found


def pprof() -> bytes:
    """The heap profile, to be served at /debug/pprof/heap; empty while there is none."""
    return _bytes("profile_pprof")


def thread_bytes() -> tuple[int, int]:
    """Bytes that this thread has allocated, and freed."""
    allocated, freed = ctypes.c_size_t(), ctypes.c_size_t()
    to = ctypes.POINTER(ctypes.c_size_t)
    _function("thread_bytes", to, to)(ctypes.byref(allocated), ctypes.byref(freed))
    return allocated.value, freed.value


def purge() -> None:
    """Gives back to the system all memory that holds no live object, except what other threads cache."""
    set("purge", 1)
