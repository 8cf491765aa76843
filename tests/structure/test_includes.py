"""The floors of src: no file includes one of a floor above, no rooms include each other in a circle, no file is long.

A room is a header and the source of its name."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from lab.registry import read

SRC = Path(__file__).resolve().parents[2] / "src"
FLOORS = ["base", "os", "back", "middle", "front", "reclaim", "watch", "api"]
BESIDE = {"secure": "middle"}  # folders that count as the same floor
FILES = sorted(path for path in SRC.rglob("*") if path.suffix in (".c", ".h", ".def"))
LINES = 400
# The number of lines where a flag decides, in what lane scale compiles.  It may only be lowered.
DECISIONS = 10
FLAGS = 12  # the same of flags
REGISTRY = read()
FLAG = rf"\b(?:{'|'.join(REGISTRY.flags)}|HZ3_BOXES_ON|HZ3_STASH_\w+)\b"
DECIDES = r"^#if|\bif \(|&&|\|\||\?"


def included(path, means=REGISTRY.may_be):
    """The files of src that it includes.  compiler.h and hz3_flags.h are elsewhere.  `means` has the headers that a name
    stands for: all that it may, or those of a build."""
    text = path.read_text()
    names = re.findall(r'^#include "(.*?)"', text, re.M)
    chosen = [name for macro in re.findall(r"^#include (HZ3_\w+)", text, re.M) for name in means(macro)]
    return [file for name in names + chosen for file in (SRC / name, path.parent / name) if file.is_file()]


def compiled(lane):
    """The sources of the lane, and all that they include in it."""
    values = REGISTRY.of(lane)
    headers = REGISTRY.headers(values)
    todo = [path for path in FILES if path.suffix == ".c" and REGISTRY.takes_part(str(path.relative_to(SRC)), values)]
    found = set()
    while todo:
        if (path := todo.pop()) not in found:
            found.add(path)
            todo += included(path, lambda name: [headers[name]])
    return sorted(found)


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


def test_no_two_files_have_one_name():
    names = [path.name for path in FILES]
    assert sorted(names) == sorted(set(names))


def test_no_file_is_long():
    tests = sorted((SRC.parent / "tests/unit").glob("*.[ch]"))
    lengths = {str(path): len(path.read_text().splitlines()) for path in [*FILES, *tests]}
    assert {path: lines for path, lines in lengths.items() if lines > LINES} == {}


def rows(text):
    """The files that have a row in the map: `room.h` `.c` are two."""
    folder, file = None, SRC
    for cell in re.findall(r"^\| (.*?) \|", text, re.M):
        folder = head[1] if (head := re.match(r"\*\*(\w+)\*\*", cell)) else folder
        for name in re.findall(r"`(.+?)`", cell) if folder else []:
            file = file.with_suffix(name) if name.startswith(".") else SRC / folder / name
            yield file


def test_the_map_of_the_floors_has_a_row_for_every_file_and_no_other():
    mapped = list(rows((SRC / "README.md").read_text()))
    assert len(mapped) == len(set(mapped))
    assert set(FILES) <= set(mapped)
    assert not [str(path) for path in mapped if not path.is_file()]


def test_variants_are_rooms_and_not_lines():
    """In what lane scale compiles: another lane's sources are rooms of their own.  Assertions decide nothing."""
    code = {path: re.sub(r'/\*.*?\*/|"[^"\n]*"', "", path.read_text(), flags=re.S) for path in compiled("scale")}
    code = {path: re.sub(r"_Static_assert\(.*?\);", "", text, flags=re.S) for path, text in code.items()}
    sites = [f"{room(path)}: {line.strip()}" for path, text in code.items() for line in text.splitlines()
             if re.search(FLAG, line) and re.search(DECIDES, line)]
    assert 0 < len(sites) <= DECISIONS, "\n".join(sites)


def test_no_experiment_stands_in_the_product():
    """What the work orders name is in classic/.  A file that does nothing in another's place is lane secure's, the free
    check's, or the stash's in lane fast."""
    stand_ins = {path.name for path in FILES if path.name.startswith("no")}
    assert stand_ins <= {"none.h", "no_quarantine.h", "no_free_check.h", "no_owner_stash.c"}
    assert len(REGISTRY.of("scale")) <= FLAGS
    assert len((SRC / "base/relations.c").read_text().splitlines()) <= 40


def test_a_file_of_classic_is_a_variant_or_in_the_place_of_one_of_src():
    """If the one of src is renamed, the one of classic is built in no more, and nothing says so."""
    classic = SRC.parent / "classic"
    files = {str(path.relative_to(classic)) for path in classic.rglob("*.*")}
    assert {file for file in files if not file.startswith("variants/") and not (SRC / file).is_file()} <= {"flags.def"}


def test_one_room_has_the_constants_of_policy():
    """Twelve at most; and the table of who gives memory back names functions that there are."""
    policy = re.sub(r"/\*.*?\*/", "", (SRC / "back/policy.h").read_text(), flags=re.S)
    constants = re.findall(r"^(?:    |#define )(HZ3_\w+)(?= [^\n])", policy, re.M)
    assert 0 < len(set(constants)) <= 12
    code = "".join(path.read_text() for path in FILES)
    assert not [name for name in constants if code.count(name) < 2], "unused"
    table = set(re.findall(r"`(hz3_\w+)`", (SRC / "reclaim/README.md").read_text()))
    assert table and not [name for name in table if f" {name}(" not in code and f"*{name}(" not in code]
    again = re.findall(r"(?:= |#define \w+ +)(?:\d+ \* )?(?:HZ3_MIB|HZ3_KIB)\(", "".join(
        path.read_text() for path in FILES if path.parent.name == "reclaim"))
    assert not again, "sizes of policy elsewhere"
