"""The floors of src: no file includes one of a floor above, no rooms include each other in a circle, no file is long.

A room is a header and the source of its name."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from lab.registry import read

SRC = Path(__file__).resolve().parents[2] / "src"
FLOORS = ["base", "os", "back", "middle", "front", "reclaim", "watch", "api"]
BESIDE = {"variants": "middle"}  # folders that count as the same floor
FILES = sorted(path for path in SRC.rglob("*") if path.suffix in (".c", ".h", ".def"))
LINES = 400
# The number of lines where a flag decides, outside base and variants.  It may only be lowered.
DECISIONS = 25
FLAG = rf"\b(?:{'|'.join(read().flags)}|HZ3_BOXES_ON|HZ3_STASH_\w+)\b"
DECIDES = r"^#if|\bif \(|&&|\|\||\?"


def included(path):
    """The files of src that it includes.  compiler.h and hz3_flags.h are elsewhere."""
    names = re.findall(r'^#include "(.*?)"', path.read_text(), re.M)
    return [file for name in names for file in (SRC / name, path.parent / name) if file.is_file()]


def floor(path):
    part = path.relative_to(SRC).parts[0]
    return FLOORS.index(BESIDE.get(part, part))


def room(path):
    return str(path.relative_to(SRC).with_suffix(""))


def circle(files):
    """The rooms of a circle, or nothing."""
    graph = {}
    for path in files:
        graph.setdefault(room(path), set()).update(room(other) for other in included(path) if room(other) != room(path))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_file_is_on_a_floor():
    assert {path.relative_to(SRC).parts[0] for path in FILES} == {*FLOORS, *BESIDE}


def test_nobody_includes_upward():
    assert not [f"{room(path)} includes {room(other)}" for path in FILES for other in included(path)
                if floor(other) > floor(path)]


def test_no_rooms_are_a_circle():
    assert " -> ".join(circle(FILES)) == ""


def test_no_file_is_long():
    tests = sorted((SRC.parent / "tests/unit").glob("*.[ch]"))
    lengths = {str(path): len(path.read_text().splitlines()) for path in [*FILES, *tests]}
    assert {path: lines for path, lines in lengths.items() if lines > LINES} == {}


def test_the_map_of_the_floors_names_every_room():
    text = (SRC / "README.md").read_text()
    assert not [room(path) for path in FILES if f"`{path.name}`" not in text and f"`{path.stem}.h` `.c`" not in text]


def test_variants_are_rooms_and_not_lines():
    files = [path for path in FILES if path.suffix != ".def" and path.parent.name not in ("base", "variants")]
    code = {path: re.sub(r'/\*.*?\*/|"[^"\n]*"', "", path.read_text(), flags=re.S) for path in files}
    sites = [f"{room(path)}: {line.strip()}" for path, text in code.items() for line in text.splitlines()
             if re.search(FLAG, line) and re.search(DECIDES, line)]
    assert 0 < len(sites) <= DECISIONS, "\n".join(sites)
