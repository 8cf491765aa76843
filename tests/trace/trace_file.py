"""Reads and writes traces, by the description in trace/format.h alone."""

import struct
from typing import NamedTuple

MALLOC, CALLOC, ALIGNED, REALLOC, FREE, MMAP, MUNMAP = range(7)
MAGIC, VERSION, CHUNK = b"hz3trace", 1, 0x6B6E756863337A68
HEAD, HEADER = struct.Struct("<8sQQ16s208s"), struct.Struct("<QQQQQQQ")
BITS = (1 << 64) - 1


class Event(NamedTuple):
    thread: int
    time: int
    kind: int
    address: int
    size: int = 0
    align: int = 0  # its logarithm to base 2
    old: int = 0
    took: int = 0


def check(data):
    total = 0xCBF29CE484222325
    for at in range(0, len(data), 8):
        total = (total ^ int.from_bytes(data[at : at + 8], "little")) * 0x100000001B3 & BITS
        total ^= total >> 29
    return total


class Bytes:
    def __init__(self, data, time):
        self.data, self.at, self.time, self.address = data, 0, time, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def moved(self):
        value = self.number()
        self.address = self.address + (-(value + 1) // 2 if value & 1 else value // 2) & BITS
        return (self.address << 3 | self.address >> 61) & BITS

    def event(self, thread):
        first = self.number()
        self.time, kind = self.time + (first >> 3), first & 7
        align = self.number() if kind == ALIGNED else 0
        took, old = (self.number(), self.moved()) if kind == REALLOC else (0, 0)
        size = self.number() if kind != FREE else 0
        return Event(thread, self.time, kind, self.moved(), size, align, old, took)


def read(path):
    """Returns the trace's events, and whether it has an end."""
    data = path.read_bytes()
    magic, version, _, program, _ = HEAD.unpack(data[: HEAD.size])
    assert (magic, version) == (MAGIC, VERSION) and program.rstrip(b"\0")
    assert struct.unpack("<Q", data[HEAD.size : HEAD.size + 8])[0] == check(data[: HEAD.size])
    at, events, ended = HEAD.size + 8, [], False
    while at < len(data):
        magic, head_check = struct.unpack_from("<QQ", data, at)
        events_check, size, thread, start, _, _ = (fields := data[at + 16 : at + 64]) and struct.unpack("<6Q", fields)
        own = data[at + 64 : at + 64 + size]
        assert magic == CHUNK and head_check == check(fields) and events_check == check(own) and len(own) == size
        of_chunk = Bytes(own, start)
        while of_chunk.at < size:
            events.append(of_chunk.event(thread))
        ended, at = ended or size == 0, at + 64 + size
    return events, ended


def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def chunk(thread, start, own):
    fields = struct.pack("<6Q", check(own), len(own), thread, start, 0, 0)
    return struct.pack("<QQ", CHUNK, check(fields)) + fields + own


def head(version=VERSION):
    fields = HEAD.pack(MAGIC, version, 0, b"made up", b"/lib/none.so")
    return fields + struct.pack("<Q", check(fields))


def encoded(event, before, address):
    """Returns the event's bytes, and the address to which the next event is relative."""

    def moved(to):
        nonlocal address
        to = (to >> 3 | to << 61) & BITS
        differs = (to - address) & BITS
        address = to
        return number(differs << 1 & BITS ^ (BITS if differs >> 63 else 0))

    out = number(event.time - before << 3 | event.kind)
    out += number(event.align) if event.kind == ALIGNED else b""
    out += number(event.took) + moved(event.old) if event.kind == REALLOC else b""
    out += number(event.size) if event.kind != FREE else b""
    return out + moved(event.address), address


def write(path, events):
    """Writes each thread's events as one chunk."""
    data = head()
    for thread in sorted({event.thread for event in events}):
        mine, own, address = [event for event in events if event.thread == thread], b"", 0
        start = before = mine[0].time - mine[0].took
        for event in mine:
            more, address = encoded(event, before, address)
            own, before = own + more, event.time
        data += chunk(thread, start, own)
    path.write_bytes(data + chunk(0, 0, b""))
