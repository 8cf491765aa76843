"""A process's memory may hold anything.  The reader prints it or refuses it, in bounded time."""

import random
import time

import pytest
from look_at import resting

from look import LookError, doctor, explain, stats
from look.cli import gather
from look.process import Process

ROUNDS = 150


def spoil(data, dice):
    """Changes some bytes, or sets all bits of a word."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data))
        kind = dice.randrange(3)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at] = dice.randrange(256)
        else:
            data[at & -8 : (at & -8) + 8] = dice.choice([bytes(8), b"\xff" * 8, b"\x7f" + bytes(7)])[: len(data) - (at & -8)]
    return bytes(data)


@pytest.mark.parametrize("what", [
    lambda process: stats.as_text(stats.read(process)),
    lambda process: explain.as_text([explain.read(process)], []),
    lambda process: doctor.as_text(doctor.of_process(process)),
], ids=["stats", "explain", "doctor"])
def test_nonsense_is_told_or_refused(what, preload, program, monkeypatch):
    read, refused = Process.read, 0
    with resting(program("rests"), env={**preload.env, "HZ3_BACKGROUND": "0"}) as (process, _):
        for seed in range(ROUNDS):
            dice = random.Random(seed)
            share = dice.choice([0.001, 0.01, 0.1])

            def spoilt(self, address, size, dice=dice, share=share):
                data = read(self, address, size)
                return spoil(data, dice) if data and size < 1 << 20 and dice.random() < share else data

            monkeypatch.setattr(Process, "read", spoilt)
            start = time.monotonic()
            try:
                assert all(line.isprintable() for line in gather(process.pid, what).splitlines())
            except LookError as error:
                refused += 1
                assert str(error).isprintable()
            assert time.monotonic() - start < 20
    assert refused < ROUNDS
