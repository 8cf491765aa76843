"""Describes the machine that measures, without its name or its user's, since results are published."""

import os
import platform
import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from lab import Json

CPUS = Path("/sys/devices/system/cpu")


def _text(path: Path | str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _fields(path: str) -> dict[str, str]:
    rows = (line.partition(":") for line in _text(path).splitlines())
    return {key.strip(): value.strip() for key, colon, value in rows if colon}


def _distinct(pattern: str) -> int:
    return len({_text(path) for path in CPUS.glob(pattern)}) or 1


def load() -> float:
    return os.getloadavg()[0]


def ticks(stat: str = "/proc/stat") -> tuple[int, int]:
    """The time that the host gave to others although a processor here wanted it, and all time, of all processors since
    the start, in ticks (10 ms as a rule).  (0, 0) where the kernel does not say."""
    line = _text(stat).partition("\n")[0].split()[1:9]  # what follows is in the first two, too
    return (int(line[7]), sum(map(int, line))) if len(line) == 8 else (0, 0)


def stolen_since(before: tuple[int, int], now: tuple[int, int]) -> float:
    """The share of the time between two readings of ticks() that was stolen, without the tick by which they are off."""
    return max(0, now[0] - before[0] - 1) / max(1, now[1] - before[1])


def line_ns() -> float:
    """How long a cache line takes from one processor to another now.  0: not known: there is one, or no compiler, or
    others keep them busy, or nothing may be executed in the temporary folder."""
    folder = _line_tool()
    try:
        done = subprocess.run([f"{folder.name}/line"], capture_output=True, text=True) if folder else None
    except OSError:
        return 0.0
    return float(done.stdout) if done and done.returncode == 0 else 0.0


@lru_cache(maxsize=1)
def _line_tool() -> tempfile.TemporaryDirectory[str] | None:
    source = Path(__file__).parent / "line.c"
    if not source.is_file() or not _has_cc():
        return None
    folder = tempfile.TemporaryDirectory()
    built = subprocess.run(["cc", "-O2", "-pthread", source, "-o", f"{folder.name}/line"], capture_output=True)
    return folder if built.returncode == 0 else None


def describe() -> Json:
    cpu = _fields("/proc/cpuinfo")
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout if _has_cc() else ""
    cores = {(_text(p / "physical_package_id"), _text(p / "core_id")) for p in CPUS.glob("cpu[0-9]*/topology")}
    return {
        "cpu": cpu.get("model name") or platform.machine(),
        "cpus": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "cores": len(cores),
        "sockets": _distinct("cpu[0-9]*/topology/physical_package_id"),
        "last_level_caches": _distinct("cpu[0-9]*/cache/index3/shared_cpu_list"),
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        "virtual": "hypervisor" in cpu.get("flags", "").split(),
        "governor": _text(CPUS / "cpu0/cpufreq/scaling_governor") or "not said",
        "memory_kib": int(_fields("/proc/meminfo").get("MemTotal", "0").split()[0]),
        "thp": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "compiler": compiler.partition("\n")[0],
        "load": load(),
    }


def _has_cc() -> bool:
    return any(os.access(Path(folder) / "cc", os.X_OK) for folder in os.environ.get("PATH", "").split(":"))


def load_said(machine: Json) -> str:
    return f"load when it began {machine['load']:.1f}"


def busy(machine: Json) -> bool:
    """Whether more than half of its processors were busy when it was described."""
    return bool(machine["load"] > machine["cpus_allowed"] / 2)


def identity(machine: Json) -> tuple[object, ...]:
    """The facts that samples of one machine share.  None stands for those that were not recorded."""
    return tuple(machine.get(key) for key in ("cpu", "cpus", "cpus_allowed", "kernel", "memory_kib", "thp"))


def same(one: Json, other: Json) -> bool:
    return identity(one) == identity(other)


def huge_pages(machine: Json) -> str:
    """The setting of transparent huge pages, or nothing where it was not recorded."""
    chosen = re.search(r"\[(\w+)\]", machine.get("thp") or "")
    return chosen[1] if chosen else ""


def always_huge(machine: Json) -> bool:
    """Whether the system makes huge pages of what nobody asked them for."""
    return huge_pages(machine) == "always"


def name(machine: Json) -> str:
    """A short name for tables."""
    virtual = ", virtual" if machine["virtual"] else ""
    setting = f", huge pages {huge_pages(machine)}" if huge_pages(machine) else ""
    return f"{machine['cpu']}, {machine['cpus_allowed']} CPUs{virtual}{setting}"
