"""The arms of a comparison: every lane of hz3, every peer of `make peers`, and the limit."""

import json
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab import ROOT, LabError, registry, text_of
from lab.build import Builder
from lab.experiment import Variant, scaled
from lab.plan import Arm, Cell, Plan, library_arm

REFERENCE = "glibc"  # beside which real programs are told
LIMIT = "limit"  # out/limit.so, an allocator without sharing: bench/limit.c
# Every published comparison has these, or names them as missing.  They are the newest version of each peer.
PEERS = "glibc jemalloc-5.3.1 tcmalloc-minimal tcmalloc-google mimalloc-2.3 mimalloc-3.4 snmalloc rpmalloc"
PUBLISHED = {"scale", "fast", "r90", *PEERS.split()}
OF_PROGRAMS = {*PUBLISHED, "memory"}  # the same for real programs


@dataclass(frozen=True)
class Peer:
    name: str
    version: str
    file: str | None
    env: dict[str, str]
    status: str
    mode: str = ""
    sha256: str = ""  # of the file; older lists have none

    def arm(self, root: Path) -> Arm | None:
        """The peer's arm, or None if it is not available.  glibc is the one that runs here now."""
        if self.name == "glibc":
            return Arm(version=platform.libc_ver()[1], env=self.env)
        if not self.file:
            return None
        arm = library_arm(Path(self.file).resolve(), root, self.version, self.env, self.mode)
        if self.sha256 and arm.sha256 != self.sha256:
            raise LabError(f"{self.file} has changed")
        return arm


def read(root: Path = ROOT) -> list[Peer]:
    file = root / "build/peers/peers.json"
    if not file.is_file():
        raise LabError("the peers are not here yet: make peers")
    try:
        rows = json.loads(file.read_text())
        return [Peer(**{key: row[key] for key in Peer.__dataclass_fields__ if key in row}) for row in rows]
    except (ValueError, TypeError) as error:
        raise LabError(f"{file.name} is not a list of peers: {error!r}") from None


def find(root: Path = ROOT) -> None:
    """Makes the list of peers if there is none.  Then it has those that are installed."""
    if (root / "build/peers/peers.json").is_file():
        return
    done = subprocess.run([sys.executable, root / "peers/build.py", "--found"], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"the machine's allocators cannot be found: {done.stderr.strip()}")


def older(plans: Iterable[Plan], root: Path = ROOT) -> list[str]:
    """The peers that none of the plans has, and of which PUBLISHED has a newer version."""
    had = PUBLISHED.union(*(plan.arms.keys() | plan.missing.keys() for plan in plans))
    named = (row["name"] for row in tomllib.loads(text_of(root / "peers/peers.toml"))["peer"])
    return [name for name in named if name not in had]


class Chosen(NamedTuple):
    """Who is compared, before any lane is built."""

    own: dict[str, Arm]
    lanes: list[str]
    found: dict[str, Arm | None]
    said: dict[str, str]  # why the others are missing

    def names(self) -> list[str]:
        return [*self.own, *self.lanes, *(name for name, arm in self.found.items() if arm)]


def choose(root: Path, lanes: Iterable[str], only: tuple[str, ...] = (), usual: tuple[str, ...] = ()) -> Chosen:
    """Chooses what `only` names: lanes, peers, and libraries as name=path.  Otherwise it is all peers, and the usual
    lanes or all."""
    names = [text.partition("=")[0] for text in only]
    if twice := {name for name in names if names.count(name) > 1}:
        raise LabError(f"given twice: {', '.join(sorted(twice))}")
    named = {text for text in only if "=" not in text}
    given = {name: Path(path).resolve() for name, equals, path in (text.partition("=") for text in only) if equals}
    own = {name: library_arm(path, root) for name, path in given.items()}
    if own and not named:
        return Chosen(own, [], {}, {})
    found: dict[str, Arm | None] = {}
    said = {}
    for peer in read(root) if not only or named - set(lanes) else ():
        said[peer.name] = peer.status
        try:
            found[peer.name] = peer.arm(root)
        except LabError as error:  # it was removed or built anew since its row was written
            found[peer.name], said[peer.name] = None, f"{error}: make peers"
    limit = root / "out" / f"{LIMIT}.so"
    found[LIMIT] = library_arm(limit, root) if limit.is_file() else None
    said[LIMIT] = "not built: cmake -S bench -B build/bench && cmake --build build/bench"
    if unknown := named - set(lanes) - found.keys():
        raise LabError(
            f"neither a lane nor a peer: {', '.join(sorted(unknown))} (there are {', '.join([*lanes, *found])})"
        )
    chosen = [lane for lane in lanes if lane in (named if only else usual or lanes)]
    return Chosen(own, chosen, {name: arm for name, arm in found.items() if not only or name in named}, said)


def check_reference(to: str | None, only: tuple[str, ...], usual: tuple[str, ...] = ()) -> None:
    """Refuses what nothing can be compared to, before anything is built or proved."""
    if not to:
        return
    chosen = choose(ROOT, registry.read().lanes, only, usual)
    if to not in chosen.names():
        why = chosen.said[to] if to in chosen.found else f"there are {', '.join(chosen.names())}"
        raise LabError(f"--to: '{to}' is not compared ({why})")


def arms(
    builder: Builder, only: tuple[str, ...] = (), usual: tuple[str, ...] = ()
) -> tuple[dict[str, Arm], dict[str, str]]:
    """Returns the arms that can be measured, and for the others the reason why not."""
    own, lanes, found, said = choose(builder.root, builder.registry.lanes, only, usual)
    chosen = own | {lane: builder.variant(Variant(lane, lane)) for lane in lanes}
    return chosen | {name: arm for name, arm in found.items() if arm}, {
        name: said[name] for name in found if not found[name]
    }


def cells(file: Path, scale: float = 1.0, least: int = 0) -> dict[str, Cell]:
    """Reads a list of cells.  Each line is a command of a benchmark or of programs.py, with the number to scale in
    braces; a number below `least` stays, and none gets below it.  # begins a comment."""

    def number(found: re.Match[str]) -> str:
        whole = int(found[1])
        return str(max(int(scaled(whole, scale)), min(whole, least)))

    try:
        text = re.sub(r"{(\d+)}", number, text_of(file))
        commands = [shlex.split(line, comments=True) for line in text.splitlines()]
    except ValueError as error:  # for example a quote that is not closed
        raise LabError(f"{file}: {error}") from None
    found = {re.sub("^(bench|program)_", "", shlex.join(argv)): Cell(argv, argv[0]) for argv in commands if argv}
    if not found:
        raise LabError(f"{file}: no commands")
    return found
