"""Builds of hz3 with any flags.  Objects are kept: a file is compiled again only if its text, a file that it includes,
or the value of a flag that these name has changed.  The libraries are for linking, without the standard names.

ccache would serve, too, but has to preprocess each file to find that a changed flag does not concern it.  With all
objects in its cache a variant took 0.9 s of processor time; this takes 0.2 s, and a run makes hundreds of variants."""

import fcntl
import hashlib
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from threading import get_ident

import pytest

from lab import ROOT
from lab.registry import read

REGISTRY = read()
FLAGS, LANES = REGISTRY.flags, REGISTRY.lanes
BUILD = ROOT / "build/variants"
JOBS = os.cpu_count() or 2
LIBRARIES = ["-pthread", "-ldl"]


class Refused(Exception):
    """The compiler's message."""


@cache
def _commands() -> dict[Path, list[str]]:
    """CMake's command for each source, without include paths, output and debugging information."""
    directory = BUILD / "cmake"
    directory.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:  # since pytest may run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _read_commands(directory)


def _read_commands(directory: Path) -> dict[Path, list[str]]:
    subprocess.run(["cmake", "-S", ROOT, "-B", directory, "-DCMAKE_BUILD_TYPE=Release", "-DHZ3_TESTS=OFF",
                    "-DHZ3_BENCH=OFF", "-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                   check=True, stdout=subprocess.DEVNULL)
    commands = {}
    for entry in json.loads((directory / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if "CMakeFiles/hz3_objects.dir/" in entry["command"]:
            commands[Path(entry["file"])] = [word for word in words[:words.index("-o")]
                                             if not word.startswith(("-I", "-g"))]
    return commands


def _command(file: Path) -> list[str]:
    """The command for this file.  A source that CMake's lane leaves out gets that of check.c: the words are the same."""
    return _commands().get(file) or _commands()[ROOT / "src/base/check.c"]


@cache
def _closure(file: Path, roots: tuple[Path, ...]) -> frozenset[Path]:
    """The file and all files of hz3 that it includes; of a header that the build chooses, each that it may be."""
    found, todo = {file}, [file]
    while todo:
        here = todo.pop()
        text = here.read_text()
        chosen = [path for name in re.findall(r"^#include (HZ3_\w+)", text, re.M) for path in REGISTRY.may_be(name)]
        for name in re.findall(r'^#include "(.*)"', text, re.M) + chosen:
            path = next((p for root in (here.parent, *roots) if (p := (root / name).resolve()).is_file()), None)
            if path and path not in found:
                found.add(path)
                todo.append(path)
    return frozenset(found)


@cache
def _names(file: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\bHZ3_\w+", re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.S)))


@dataclass(frozen=True)
class Variant:
    lane: str
    changes: tuple[tuple[str, int], ...] = ()
    source: Path | None = None  # in place of src
    options: tuple[str, ...] = ()  # more for the compiler and linker

    @cached_property
    def flags(self) -> dict[str, int]:
        return REGISTRY.of(self.lane) | {"HZ3_OVERRIDE": 0} | dict(self.changes)

    def __str__(self) -> str:
        return " ".join([self.lane, *(f"{name}={value}" for name, value in self.changes), *self.options])

    @cached_property
    def trees(self) -> tuple[Path, ...]:
        """Where its files are; the first folder that has a file counts."""
        return tuple(self.source if self.source and tree == "src" else ROOT / tree for tree in REGISTRY.trees(self.lane))

    @property
    def _headers(self) -> dict[str, str]:
        return REGISTRY.headers(self.flags)

    @cached_property
    def _generated(self) -> Path:
        """The folder of hz3_flags.h."""
        lines = [f'#define HZ3_LANE_TEXT "{self.lane}"', '#define HZ3_VERSION_TEXT "variant"']
        lines += [f"#define {name} {value}" for name, value in self.flags.items()]
        lines += [f'#define HZ3_FLAGS_TEXT "{"".join(f" {name}={value}" for name, value in self.flags.items())}"']
        text = "\n".join(lines + [f'#define {name} "{file}"' for name, file in self._headers.items()]) + "\n"
        folder = BUILD / "flags" / hashlib.sha256(text.encode()).hexdigest()[:16]
        if not (folder / "hz3_flags.h").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            made = folder / f"hz3_flags.h.{os.getpid()}"
            made.write_text(text)
            made.rename(folder / "hz3_flags.h")
        return folder

    def object(self, file: Path, *words: str) -> Path:
        """The object file of a source of hz3, or of another source with `words`, the compiler's arguments."""
        shipped = next((ROOT / "src" / file.relative_to(tree) for tree in self.trees if file.is_relative_to(tree)), file)
        command = [*_command(shipped)] if not words else ["cc", *words]
        command += self.options
        roots = (*self.trees, ROOT / "include", ROOT / "tests")
        files = sorted(_closure(file, roots))
        named = frozenset().union(*map(_names, files))
        state = hashlib.sha256(repr((command, _compiler(), file.name)).encode())
        for path in files:
            state.update(path.read_bytes())
        state.update(repr([(n, v) for n, v in (self.flags | self._headers).items() if n in named]).encode())
        state.update(str(self).encode() if "HZ3_LANE_TEXT" in named else b"")
        done = BUILD / "objects" / f"{file.stem}-{state.hexdigest()[:16]}.o"
        if not done.is_file():
            done.parent.mkdir(parents=True, exist_ok=True)
            made = done.with_suffix(f".{os.getpid()}.{get_ident()}")
            run = subprocess.run([*command, *(f"-I{root}" for root in (self._generated, *roots)), "-c", file, "-o", made],
                                 capture_output=True, text=True)
            if run.returncode:
                raise Refused(f"{self}: {run.stderr}")
            made.rename(done)
        return done

    @cached_property
    def objects(self) -> dict[str, Path]:
        """All object files of hz3, by the source's path below its tree.  Raises Refused."""
        found = {str(file.relative_to(tree)): file for tree in reversed(self.trees) for file in sorted(tree.glob("*/*.c"))}
        sources = {name: found[name] for name in sorted(found) if REGISTRY.takes_part(name, self.flags)}
        self.object(found["base/relations.c"])  # first, since it refuses flags that do not go together
        with ThreadPoolExecutor(JOBS) as pool:
            return dict(zip(sources, pool.map(self.object, sources.values()), strict=True))

    def program(self, *files: str, libraries: tuple[str, ...] = ()) -> Path:
        """An executable made of these files (paths below tests), support.c and hz3."""
        words = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits"]
        own = [self.object(ROOT / "tests" / file, *words) for file in (*files, "support.c")]
        objects = [str(path) for path in (*own, *self.objects.values())]
        name = hashlib.sha256(repr((objects, self.options)).encode()).hexdigest()[:16]
        done = BUILD / "programs" / f"{Path(files[0]).stem}-{name}"
        if not done.is_file():
            done.parent.mkdir(parents=True, exist_ok=True)
            made = done.with_suffix(f".{os.getpid()}")
            subprocess.run(["cc", *self.options, *objects, *libraries, *LIBRARIES, "-o", made], check=True)
            made.rename(done)
        return done

    @cached_property
    def _linked(self) -> tuple[Path, frozenset[tuple[str, str]]]:
        """A library, and the sections that the linker left out of it: (section, object)."""
        name = hashlib.sha256(repr(self.objects).encode()).hexdigest()[:16]
        library = BUILD / "programs" / f"libhz3-{name}.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        link = ["cc", "-shared", "-Wl,--gc-sections,--print-gc-sections",
                f"-Wl,--version-script={ROOT}/src/api/exports.map", *self.objects.values(), "-o", made]
        told = subprocess.run(link, check=True, capture_output=True, text=True).stderr
        made.rename(library)
        return library, frozenset(re.findall(r"removing unused section '(\S+)' in file '(\S+)'", told))

    @property
    def library(self) -> Path:
        return self._linked[0]

    def code(self) -> dict[tuple[str, str], str]:
        """The disassembly of what is in the library, by source and section."""
        unused = self._linked[1]
        return {(source, section): text for source, made in self.objects.items()
                for section, text in _disassembly(_first(made)).items() if (section, str(made)) not in unused}


def variant(lane: str, *options: str, source: Path | None = None, **changes: int) -> Variant:
    """A variant of the lane.  Flags are named without HZ3_."""
    return Variant(lane, tuple((f"HZ3_{name}", value) for name, value in changes.items()), source, options)


@cache
def _compiler() -> str:
    return subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True).stdout


_known: dict[bytes, Path] = {}


@cache
def _first(path: Path) -> Path:
    """The object that has the same bytes, of those that were asked about: two of three have flags in their sources that
    decide nothing."""
    return _known.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)


@cache
def _disassembly(path: Path) -> dict[str, str]:
    """The disassembly of each section.  Addresses start at 0 and references are names, so sections can be compared."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^Disassembly of section (\S+):\n(.*?)(?=^Disassembly|\Z)", text, re.M | re.S))


def other_values(name: str, lane: str) -> list[int]:
    """Other values to try in this lane: 0 and 1 for each other, a number plus and minus 1, or its NEIGHBOURS."""
    flag = FLAGS[name]
    value = flag.in_lane[lane]
    wanted = NEIGHBOURS.get(name, (value - 1, value + 1) if flag.most > 1 else (0, 1))
    return [other for other in wanted if other != value and flag.least <= other <= flag.most]


# For flags where a value plus or minus one is not allowed, or of little interest.
NEIGHBOURS = {
    "HZ3_ADOPT_MIN": (0, 16, 64, 128, 65536),
    "HZ3_S44_STASH_MAX_OBJS": (64, 16384),
    "HZ3_S44_DRAIN_LIMIT": (0, 16, 32),
    "HZ3_S44_4_WALK_UNROLL": (0, 4, 8),
    "HZ3_REMOTE_FLUSH_BUDGET": (0, 32),
    "HZ3_S146_OVERFLOW_BATCH": (0, 8, 16),
    "HZ3_OWNER_STASH_INSTANCES": (1, 2, 4, 16),
    "HZ3_S145_CACHE_BATCH": (8, 16, 30),
    "HZ3_SMALL_V2_REFILL_BATCH": (1, 30, 32, 60),
    "HZ3_SMALL_NUM_SC": (8, 16, 128),
    "HZ3_NUM_SHARDS": (1, 2, 63, 256),
}


def run(program: Path, *arguments: object, seconds: float = 60, **environment: str) -> subprocess.CompletedProcess:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=seconds,
                          env=os.environ | environment)
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def flips(lane: str) -> list[Variant]:
    """The lane with each of its flags changed alone."""
    return [Variant(lane, ((name, value),)) for name in REGISTRY.of(lane) if name != "HZ3_OVERRIDE"
            for value in other_values(name, lane)]


def later(rows: list) -> list:
    """Parameters that make test leaves to make test_matrix."""
    return [pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.matrix) for row in rows]


def matrix(long: bool) -> list[Variant]:
    """Every lane with all of its flips; or, where there is no time, with those of its own flags that tell it from scale,
    and optimized less, which a quarter of the compiler's time goes into."""
    def is_own(lane: str, flip: Variant) -> bool:
        flag = FLAGS[flip.changes[0][0]]
        return flag.in_lane[lane] != flag.in_lane.get("scale")

    options = () if long else ("-O1",)
    return [replace(each, options=options) for lane in LANES for each in (Variant(lane), *(
        flip for flip in flips(lane) if long or lane in ("scale", "classic") or is_own(lane, flip)))]
