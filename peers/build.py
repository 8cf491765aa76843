#!/usr/bin/env python3
"""Builds or finds every allocator of peers.toml, checks each in a process that runs on it, and writes the result to
build/peers/peers.json.  If a peer is not available, it is named with the reason.

    peers/build.py [--all | --found]
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "build" / "peers"
MANIFEST = HERE / "Cargo.toml"
RECIPE_FILES = ("Cargo.lock", "Cargo.toml", "exports.map", "requirements.txt", "tcmalloc.h")
# A crate compiles its code as a part of a program.  In a library, this option lets its functions be inlined as well.
ARCHIVE_FLAGS = "-fno-semantic-interposition"
# A peer's build ignores these.
CALLERS_OWN = ("LD_PRELOAD", "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS")


class Missing(Exception):
    """The reason why a peer is not available."""


@dataclass(frozen=True)
class Peer:
    """A row of peers.toml.  The fields are explained there."""
    name: str
    source: str
    library: str
    identity: str
    version: str = ""
    package: str = ""
    package_version: str = ""
    build: str = ""
    env: dict[str, str] = field(default_factory=dict)
    mode: dict[str, str] = field(default_factory=dict)

    @property
    def built(self) -> Path:
        return OUT / self.name / f"lib{self.name}.so"

    @property
    def stamp(self) -> Path:
        return self.built.with_name("stamp")

    def seal(self) -> str:
        """A digest of the built file and of everything it is made from."""
        parts = [json.dumps(asdict(self)).encode(), ARCHIVE_FLAGS.encode(), self.built.read_bytes(),
                 *((HERE / name).read_bytes() for name in RECIPE_FILES)]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def is_built(self) -> bool:
        return self.built.is_file() and self.stamp.is_file() and self.stamp.read_text() == self.seal()

    def environment(self, library: str | Path) -> dict[str, str]:
        """The environment in which a process runs on this peer and on no other allocator."""
        preload = {} if self.source == "system" else {"LD_PRELOAD": str(library)}
        return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | self.env | preload


def peers(table: Path = HERE / "peers.toml") -> list[Peer]:
    return [Peer(**row) for row in tomllib.loads(table.read_text())["peer"]]


def last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def cargo_build() -> str:
    """The command that builds a crate.  Raises Missing if there is no cargo that can."""
    needed = tomllib.loads(MANIFEST.read_text())["package"]["rust-version"]
    cargo = shutil.which("cargo")
    there = subprocess.run([cargo, "--version"], capture_output=True, text=True).stdout.split()[1:2] if cargo else []
    number = [int(part) for part in re.findall(r"\d+", there[0])[:2]] if there else []
    if number < [int(part) for part in needed.split(".")]:
        raise Missing(f"needs cargo {needed} or newer (Debian 12: cargo-web; elsewhere rustup), "
                      f"there is {there[0] if there else 'none'}")
    return f"cargo build -j2 --release --locked --manifest-path {MANIFEST} --target-dir ."


def crate_source(package: str) -> Path:
    done = subprocess.run(["cargo", "metadata", "--locked", "--format-version", "1", "--features", package,
                           "--manifest-path", MANIFEST], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"cargo cannot fetch {package}: {last_words(done.stderr)}")
    found = [row["manifest_path"] for row in json.loads(done.stdout)["packages"] if row["name"] == package]
    return Path(found[0]).parent


def link_whole(archive: Path, library: Path) -> list[str | Path]:
    return ["c++", "-shared", "-pthread", "-o", library, "-Wl,-Bsymbolic-functions,-z,now",
            f"-Wl,--version-script={HERE / 'exports.map'}", "-Wl,--whole-archive", archive,
            "-Wl,--no-whole-archive,--as-needed", "-ldl"]


def build(peer: Peer) -> None:
    """Builds a peer that has a recipe.  The library is peer.built."""
    variables = {"PEERS": str(HERE), "PYTHON": sys.executable}
    if peer.library.endswith(".a"):
        variables |= {"CFLAGS": ARCHIVE_FLAGS, "CXXFLAGS": ARCHIVE_FLAGS}
    if peer.source == "crate":
        variables |= {"CARGO_BUILD": cargo_build(), "CRATE": str(crate_source(peer.package))}
    folder, work = peer.built.parent, peer.built.parent / "work"
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    environment = {k: v for k, v in os.environ.items() if k not in CALLERS_OWN} | variables
    log = folder / "build.log"
    with log.open("w") as output:
        def run(command: list[str | Path]) -> None:
            if subprocess.run(command, cwd=work, env=environment, stdout=output, stderr=output).returncode:
                raise Missing(f"the build failed: {last_words(log.read_text())} ({log})")

        run(["sh", "-eu", "-c", peer.build])
        left = list(work.glob(peer.library))
        if len(left) != 1:
            raise Missing(f"the build left {len(left)} files {peer.library} ({log})")
        if left[0].suffix == ".a":
            run(link_whole(left[0], work / "linked.so"))
            left = [work / "linked.so"]
    shutil.move(left[0].resolve(), peer.built)
    peer.stamp.write_text(peer.seal())
    shutil.rmtree(work)


def probe(peer: Peer, library: str | Path) -> dict:
    """What a process that should run on the library finds out about itself."""
    questions = [peer.identity, *([peer.mode["function"]] if peer.mode else [])]
    done = subprocess.run([sys.executable, "-I", HERE / "probe.py", *questions], env=peer.environment(library),
                          capture_output=True, text=True, timeout=60)
    if done.returncode < 0:
        raise Missing(f"a process on it died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise Missing(f"a process on it failed: {last_words(done.stderr)}")
    return json.loads(done.stdout)


def verify(peer: Peer, library: str | Path) -> dict:
    """The row of peers.json for this library.  Raises Missing if it is not the right allocator."""
    told = probe(peer, library)
    file = Path(told["family"]["malloc"])
    if not (file.samefile(library) if "/" in str(library) else file.name == library):
        hint = f": apt-get install {peer.package}" if peer.source == "debian" else ""
        raise Missing(f"{library} does not serve malloc, {file} does{hint}")
    elsewhere = [f"{name} by {by}" for name, by in told["family"].items() if by != str(file)]
    if elsewhere:
        raise Missing(f"{library} serves malloc, but not {', '.join(elsewhere)}")
    if told["identity"] != str(file):
        raise Missing(f"{library} is another allocator: it has no {peer.identity}")
    number = re.search(r"\d+(\.\d+)+", told["version"] or "")
    if number and peer.version not in ("", number[0]):
        raise Missing(f"{library} is version {number[0]}, not {peer.version}")
    mode = f"{peer.mode['asks']} {'on' if told['mode'] else 'off'}" if peer.mode else ""
    asks = {"BENCH_MODE": peer.mode["function"]} if peer.mode else {}  # read by the benchmark programs
    return {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "mode": mode,
            "env": peer.env | asks, "version": number[0] if number else peer.version,
            "version_told_by_itself": told["version"],
            "operators": "own" if told["operators"]["_Znwm"] == str(file) else "through malloc", "status": "ok"}


def have(peer: Peer, may_build: bool = True) -> dict:
    """The row of peers.json for a peer, with status "ok", or "missing: " and the reason."""
    row = {key: getattr(peer, key) for key in ("name", "source", "package", "package_version", "version", "env")}
    try:
        if peer.build and not peer.is_built():
            if not may_build:
                raise Missing("not built: make peers")
            print(f"peers: building {peer.name}", file=sys.stderr, flush=True)
            build(peer)
        return row | verify(peer, peer.built if peer.build else peer.library)
    except (Missing, OSError, subprocess.TimeoutExpired) as reason:
        return row | {"file": None, "status": f"missing: {reason}"}


def table(rows: list[dict]) -> str:
    cells = [("name", "version", "from", "file", "status")]
    for row in rows:
        origin = " ".join(filter(None, (row["package"], row["package_version"].partition("+")[0]))) or row["source"]
        status = ", ".join(filter(None, (row["status"], row.get("mode"))))
        cells.append((row["name"], row["version"], origin, row["file"] or "-", status))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="end with status 1 where a peer is missing")
    parser.add_argument("--found", action="store_true", help="take what there is, and build nothing")
    options = parser.parse_args()
    rows = [have(peer, not options.found) for peer in peers()]
    OUT.mkdir(parents=True, exist_ok=True)
    new = OUT / f"peers.json.{os.getpid()}"  # the lab reads the other, and takes half a list for a fault
    new.write_text(json.dumps(rows, indent=2) + "\n")
    new.replace(OUT / "peers.json")
    print(table(rows))
    return int(options.all and any(row["status"] != "ok" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
