"""Makes docs/results/invisible.md: what a program, or who runs it, could notice of an allocator but speed and memory."""

import datetime

from lab import machine
from lab.bound import number
from lab.conform import FAILED, HELD, INVISIBLE, Outcome, words
from lab.page import markdown
from lab.plan import Arm

HEAD = """# Invisible

Made by `hz3 conform --rows 'invisible.*' --page FILE ALLOCATOR...`, not to be edited by hand.

A program should notice nothing of its allocator but speed and memory, and nor should who runs it. Each row runs a
small program of `tests/invisible` that says one figure. [conform.toml](../../tests/conform.toml) says what is allowed:
what was asked for, and not what some allocator does. **No** stands where an allocator goes beyond it; its
authors may have decided so. Times are multiples of other times in the same run, and the best of a row's tries counts.
"""


def made_on() -> str:
    of = machine.describe()
    today = datetime.datetime.now(datetime.UTC).date()
    return f"{today}; {machine.name(of)}; Linux {of['kernel']}; {of['libc']}; {machine.load_said(of)}."


def cell(outcome: Outcome | None) -> str:
    if not outcome:
        return "-"
    said = outcome.word if outcome.figure is None else number(outcome.figure)
    return f"{said} **no**" if outcome.word == FAILED and outcome.figure is not None else said


def page(arms: dict[str, Arm], found: dict[str, list[Outcome]]) -> str:
    every = {name: {one.row: one for one in of if one.row.promise == INVISIBLE} for name, of in found.items()}
    rows = dict.fromkeys(row for of in every.values() for row in of)
    table = [
        [
            row.name.removeprefix(f"{INVISIBLE}."),
            row.expected,
            str(row.bound),
            *(cell(of.get(row)) for of in every.values()),
        ]
        for row in rows
    ]
    counts = []
    for name, of in every.items():
        passed, failed, skipped = words(list(of.values()))
        counts.append([name, arms[name].said_version, *map(str, (passed, failed, skipped))])
    whys = [
        f"- {row.name}, {name}: {one.word}: {one.how}\n"
        for name, of in every.items()
        for row, one in of.items()
        if one.word not in (HELD, FAILED) or (one.word == FAILED and one.figure is None)
    ]
    parts = [
        f"{HEAD}\n{made_on()}\n",
        markdown(["allocator", "version", "passed", "failed", "skipped"], counts),
        markdown(["row", "what is expected", "allowed", *every], table),
    ]
    return "\n".join(parts + (["## Without a figure\n", "".join(whys)] if whys else []))
