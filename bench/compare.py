#!/usr/bin/env python3
"""Run benchmark commands under several allocators and compare.

    compare.py --to jemalloc glibc jemalloc hz3=libhakozuna_hz3_scale.so -- bench_mixed_st 20000000 400 16 2048
    compare.py --cells bench/cells-matrix.txt --to tcmalloc tcmalloc hz3=libhakozuna_hz3_scale.so

A library is name=path, or one of the names glibc (nothing preloaded), jemalloc, tcmalloc, mimalloc, which are
looked up on this system.  Runs are interleaved: a block runs every library once, in random order, so that a change
of the machine's mood hits all alike.  Of every figure of the result line (names that end in _per_s, _kib,
_share, _ratio or _ns) it prints the median over the blocks, the range, and the ratio of medians to the library --to.
A run that was not served by the library it was meant to measure, or that failed, ends everything.
"""

import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "out"
PEERS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
FIGURES = ("_per_s", "_kib", "_share", "_ratio", "_ns")
GLIBC = "libc.so.6"


def installed(soname):
    """Path of a shared library that the dynamic linker knows."""
    env = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/sbin:/usr/sbin"}
    listing = subprocess.run(["ldconfig", "-p"], env=env, capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if line.split(maxsplit=1)[:1] == [soname]:
            return Path(line.rpartition("=> ")[2])
    sys.exit(f"compare: {soname} is not installed")


def library(text):
    """'name=path' or a known name, to (name, path); the path of glibc is None."""
    name, given, path = text.partition("=")
    if given:
        if not Path(path).is_file():
            sys.exit(f"compare: no such library: {path}")
        return name, Path(path).resolve()
    if name == "glibc":
        return name, None
    if name not in PEERS:
        sys.exit(f"compare: unknown library {name}: give name=path, glibc, or one of {', '.join(PEERS)}")
    return name, installed(PEERS[name]).resolve()


def parse(line):
    """The words of a result line, figures as numbers."""
    result = dict(word.split("=", 1) for word in shlex.split(line))
    return {k: float(v) if k.endswith(FIGURES) else v for k, v in result.items()}


def check_identity(result, name, path):
    served_by = Path(result["alloc_path"])
    good = served_by.name == GLIBC if path is None else served_by.resolve() == path
    if not good:
        sys.exit(f"compare: meant to measure {name} ({path or GLIBC}), but {served_by} served malloc")


def run(command, name, path):
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if path:
        env["LD_PRELOAD"] = str(path)
    program, *arguments = command
    done = subprocess.run([PROGRAMS / program, *arguments], env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0 or done.stdout.count("\n") != 1:
        sys.exit(f"compare: {shlex.join(command)} failed under {name} (status {done.returncode})")
    result = parse(done.stdout)
    check_identity(result, name, path)
    return result


def measure(command, libraries, blocks, log):
    """Results of one cell: {name: [result of each block]}."""
    results = {name: [] for name in libraries}
    for block in range(blocks):
        for name in random.sample(list(libraries), len(libraries)):
            result = run(command, name, libraries[name])
            results[name].append(result)
            if log:
                print(json.dumps({"command": shlex.join(command), "library": name, "block": block, **result}),
                      file=log, flush=True)
    return results


def human(figure, value):
    if figure.endswith("_per_s") and value >= 1e5:
        return f"{value / 1e6:.2f}M"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(results, reference):
    """Rows of one cell, one for each library: per figure median, [range] and ratio."""
    figures = [k for k in results[reference][0] if k.endswith(FIGURES) and k != "own_kib"]
    rows = [["", *(title for figure in figures for title in (figure, "[range]", "ratio"))]]
    base = {f: statistics.median(r[f] for r in results[reference]) for f in figures}
    for name, runs in results.items():
        row = [name]
        for figure in figures:
            values = [r[figure] for r in runs]
            median = statistics.median(values)
            ratio = f"{median / base[figure]:.2f}x" if base[figure] else "-"
            spread = f"[{human(figure, min(values))} {human(figure, max(values))}]"
            row += [human(figure, median), spread, ratio]
        overflowed = sum(r.get("overflow", "ok") != "ok" for r in runs)
        rows.append(row + ([f"overflow in {overflowed} of {len(runs)} runs"] if overflowed else []))
    return rows


def show(command, rows):
    print(shlex.join(command))
    widths = [max(len(r[i]) for r in rows if i < len(r)) for i in range(len(rows[0]))]
    for row in rows:
        name, *cells = row
        print("  " + name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:])), *row[len(widths):])
    print(flush=True)


def cells(path):
    text = Path(path).read_text().replace("{", "").replace("}", "")  # the lab scales what they enclose
    lines = (shlex.split(line, comments=True) for line in text.splitlines())
    return [words for words in lines if words]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY", help="name=path, or a known name")
    parser.add_argument("--to", metavar="NAME", help="the library of the ratios (default: the first)")
    parser.add_argument("--blocks", type=int, default=7, help="runs of each library (default 7)")
    parser.add_argument("--jsonl", metavar="FILE", help="append every result here, one JSON object a line")
    parser.add_argument("--cells", metavar="FILE", help="commands to run, one a line, # begins a comment")
    own, command = sys.argv[1:], []
    if "--" in own:
        split = own.index("--")
        own, command = own[:split], own[split + 1:]
    args = parser.parse_args(own)
    if bool(command) == bool(args.cells):
        parser.error("give either a command after -- or --cells")
    libraries = dict(library(text) for text in args.libraries)
    reference = args.to or next(iter(libraries))
    if reference not in libraries or len(libraries) < len(args.libraries) or args.blocks < 1:
        parser.error("--to must name one of the libraries, no name may come twice, and a block is the least")
    log = open(args.jsonl, "a") if args.jsonl else None
    for cell in cells(args.cells) if args.cells else [command]:
        show(cell, table(measure(cell, libraries, args.blocks, log), reference))


if __name__ == "__main__":
    main()
