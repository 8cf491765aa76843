"""analyze.py: runs clang-tidy (with .clang-tidy) and gcc's analyzer on the C of src, include and lab.  Any finding
fails.

Each source is analyzed in one build that has it.  CMake makes what a build needs, in build/analyze."""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Each of these builds has sources that the builds before it do not have.
BUILDS = {
    "scale": ("scale", ""),
    "fast": ("fast", ""),
    "classic": ("classic", "-DHZ3_S44_STATS=1 -DHZ3_S44_4_STATS=1 -DHZ3_S67_STATS=1 -DHZ3_S74_STATS=1 -DHZ3_S96_OWNER_STASH_PUSH_STATS=1"),
    "variants": ("classic", "-DHZ3_S44_OWNER_STASH=0 -DHZ3_S121_PAGE_LOCAL_REMOTE=1 -DHZ3_S145_CENTRAL_LOCAL_CACHE=1"),
    "secure": ("secure", ""),
    "memory": ("memory", "-DHZ3_ATOMIC_STATS=1"),
}
GCC = ["-fanalyzer", "-c", "-o", os.devnull]


def commands() -> dict[str, tuple[str, list[str]]]:
    """For each source the build in which it is analyzed, and its compiler command there."""
    found: dict[str, tuple[str, list[str]]] = {}
    for name, (lane, flags) in BUILDS.items():
        build = f"build/analyze/{name}"
        subprocess.run(["cmake", "-S", ".", "-B", build, f"-DHZ3_LANE={lane}", f"-DHZ3_DEFS_EXTRA={flags}", "-DHZ3_TESTS=OFF",
                        "-DHZ3_BENCH=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_C_COMPILER=gcc"],
                       check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        for entry in json.loads((ROOT / build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if "/hz3_objects.dir/" in words[words.index("-o") + 1]:
                found.setdefault(entry["file"], (build, words[: words.index("-o")]))
    includes = [f"-I{ROOT / folder}" for folder in ("src", "include", "build/analyze/scale/generated")]
    compiler = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", *includes]
    found |= {str(source): ("build/analyze/scale", compiler) for source in ROOT.glob("lab/*.c")}
    return found


def says(source: str, build: str, compiler: list[str]) -> str:
    """The findings of both in a source."""
    tidy = ["clang-tidy-19", "-p", build, "--quiet", "--warnings-as-errors=*", source]
    if not source.startswith((f"{ROOT}/src/", f"{ROOT}/classic/")):
        tidy += ["--", *compiler[1:]]
    told = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True) for command in (tidy, [*compiler, *GCC, source])]
    return "".join(f"{done.stdout}{done.stderr}" for done in told if done.returncode or "warning:" in done.stderr)


def main() -> None:
    looked_at = commands()
    left_out = {str(path) for tree in ("src", "classic") for path in ROOT.glob(f"{tree}/*/*.c")} - looked_at.keys()
    if left_out:
        sys.exit(f"analyze: no build has {' '.join(sorted(left_out))}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = list(pool.map(lambda source: says(source, *looked_at[source]), looked_at))
    print("".join(told), end="")
    print(f"analyze: {len(told)} sources, {sum(bool(text) for text in told)} of which something is said")
    sys.exit(any(told))


if __name__ == "__main__":
    main()
