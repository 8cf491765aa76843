"""hz3 doctor: what in a process, or in a program and this machine, keeps hz3 from working well.  One line for each."""

import os
import platform
import re
import shutil
import stat
import struct
import subprocess
from typing import NamedTuple

from look import LookError, elf, shown
from look.layout import Layout, find, in_file
from look.process import Mapping, Process
from look.profile import OURS
from look.stats import human

ALLOCATORS = re.compile(
    r"/lib(jemalloc|tcmalloc|mimalloc|snmalloc|rpmalloc|tbbmalloc|hoard|scudo|hardened_malloc)[^/]*$"
)
LIBC = re.compile(r"/(libc\.so|libc-|ld-linux|ld-musl|libc\.musl)")
HUGE_PAGES = {"always": "of everything", "madvise": "on request"}
UNLIMITED = 1 << 62  # bytes; version 1 of control groups has no other word for it
NEAR = 4  # how close to max_map_count, or to a group's limit, is worth a line


class Finding(NamedTuple):
    ok: bool
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return shown(f"{'ok  ' if self.ok else 'look'}  {self.what}{f': {self.advice}' if self.advice else ''}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _defines_malloc(path: str) -> bool:
    try:
        return elf.File(path).defines(b"malloc")
    except (ValueError, OSError):
        return False


def _hz3_in(path: str) -> str:
    try:
        return in_file(path)
    except OSError:
        return ""


# ---- the machine ----


def machine() -> list[Finding]:
    found = []
    chosen = re.search(r"\[(\w+)\]", _text("/sys/kernel/mm/transparent_hugepage/enabled"))
    pages = chosen[1] if chosen else "never"
    found.append(
        Finding(
            pages != "always",
            f"huge pages are made {HUGE_PAGES.get(pages, 'never')}",
            "memory that is little used costs more; HZ3_THP=never keeps hz3 without" if pages == "always" else "",
        )
    )
    strict = _text("/proc/sys/vm/overcommit_memory").strip() == "2"
    found.append(
        Finding(
            not strict,
            "memory is never overcommitted" if strict else "memory is overcommitted",
            "untouched mappings count; see Memory that is counted in docs/use/limits.md" if strict else "",
        )
    )
    return found


def mappings(used: int) -> Finding:
    most = int(_text("/proc/sys/vm/max_map_count") or 65530)
    much = used * NEAR > most
    return Finding(
        not much,
        f"{used} of {most} mappings are in use",
        "raise vm.max_map_count, or HZ3_DECAY, which makes fewer" if much else "",
    )


class Hierarchy(NamedTuple):
    """Where a version of control groups has its figures."""

    controller: str  # in version 2 a group has no controller of its own
    folder: str
    limits: tuple[str, ...]
    charged: tuple[str, ...]  # in memory.stat: what the system cannot take back unless it swaps, the last less `spare`
    spare: str
    usage: str  # in its place where memory.stat cannot be read


# The library has the same table, in src/os/cgroup.c, and limits itself by it.
HIERARCHIES = (
    Hierarchy("", "", ("memory.max", "memory.high"), ("anon", "shmem", "kernel"), "slab_reclaimable", "memory.current"),
    Hierarchy(
        "memory", "/memory", ("memory.limit_in_bytes",), ("total_rss", "total_shmem"), "", "memory.usage_in_bytes"
    ),
)


def group(membership: str) -> Finding:
    """The least room that its control groups and those above leave, in version 2 and in version 1."""
    limits = [found for of in HIERARCHIES for found in group_limits(of, membership)]
    if not limits:
        return Finding(True, "no control group limits its memory")
    left, limit = min((limit - charged, limit) for limit, charged in limits)
    near = left * NEAR < limit
    return Finding(
        not near,
        f"its control group has {human(max(0, left))} left of {human(limit)}",
        "HZ3_SOFT_LIMIT below that, a shorter HZ3_DECAY, or lane memory" if near else "",
    )


def group_limits(of: Hierarchy, membership: str, root: str = "/sys/fs/cgroup") -> list[tuple[int, int]]:
    """Each limit that is set, from the group itself up to the root, and how much counts towards it."""
    groups = (line.split(":", 2) for line in membership.splitlines() if line.count(":") >= 2)
    path = next((path for _, controllers, path in groups if of.controller in controllers.split(",")), "")
    found: list[tuple[int, int]] = []
    while path.startswith("/"):
        path = path.rstrip("/")
        folder = f"{root}{of.folder}{path}"
        for limit in (_text(f"{folder}/{name}").strip() for name in of.limits):
            if limit.isdecimal() and int(limit) < UNLIMITED:
                found.append((int(limit), _charged(of, folder)))
        path = path and (path.rpartition("/")[0] or "/")
    return found


def _charged(of: Hierarchy, folder: str) -> int:
    figures = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{folder}/memory.stat"), re.M))
    known = [int(figures[name]) for name in of.charged if name in figures]
    spare = min(int(figures.get(of.spare, 0)), int(figures.get(of.charged[-1], 0)))
    usage = _text(f"{folder}/{of.usage}").strip()
    return sum(known) - spare if known else int(usage) if usage.isdecimal() else 0


def tls(environment: str) -> Finding:
    """environment: NAME=VALUE, each ended by a zero byte."""
    names = {word.partition("=")[0] for word in environment.split("\0")}
    tight = "LD_AUDIT" in names and "glibc.rtld.optional_static_tls" not in environment
    return Finding(
        not tight,
        f"the loader has {'too little ' * tight}room for the library's thread-local storage",
        "with LD_AUDIT set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 makes room" if tight else "",
    )


def _other_libc(program: str, interpreter: str) -> Finding | None:
    """Whether hz3 as it is built here is for another C library.  On musl itself it is built with musl, as Python is."""
    if "ld-musl" not in interpreter or platform.libc_ver()[0] != "glibc":
        return None
    return Finding(
        False,
        f"{program} runs on musl ({interpreter})",
        "the library has to be built with musl too, or linked statically",
    )


# ---- a process ----


def _served(process: Process) -> list[Finding]:
    layout: Layout | None = None
    try:
        layout = find(process)
        version = f"hz3 {layout.version}, lane {layout.lane}"
    except LookError as error:
        version = str(error)
    try:
        objects = elf.loaded(process)
        servers = [name for name, image in objects if image.defines(b"malloc")]
    except (ValueError, KeyError, struct.error):
        return [Finding(False, "its loader's list of libraries cannot be read", version)]
    if not objects:
        known = layout and layout.version
        return [
            Finding(
                bool(known),
                f"it is linked statically{f', with {version}' if known else ''}",
                "" if known else "nothing can be preloaded: link it with libhz3.a (docs/use/linking.md)",
            )
        ]
    first = servers[0] if servers else "nobody"
    files = {name: _mapped_at(process, image.address) for name, image in objects}
    ours = [name for name, file in files.items() if layout and file and (file.device, file.inode) == layout.file]
    ours = ours or [name for name, file in files.items() if file and OURS.search(file.name)]
    serves = layout is not None and first in ours
    found = []
    by_name = bool(layout and ours) and not any(name in servers for name in ours)
    if by_name:
        found.append(Finding(True, f"what calls hz3 by its names, as the Rust crate does, is served by {version}"))
    advice = "" if serves else _why_not(process, objects[0][0], ours, first, version)
    found.append(
        Finding(
            serves or by_name,
            f"malloc is served by {first}{f' ({version})' if serves else ''}",
            "`hz3 run -- ...` serves that too" if by_name else advice,
        )
    )
    loader = next((name for name, _ in objects if "ld-musl" in name), "")
    if not (serves or by_name) and (other := _other_libc("it", loader)):
        found.append(other)
    found += [
        _second(name)
        for name in files
        if name not in (first, *ours) and (name in servers or ALLOCATORS.search(name)) and not LIBC.search(name)
    ]
    return [*found, tls(process.text("environ"))]


def _mapped_at(process: Process, address: int) -> Mapping | None:
    """The loader's names may be links, relative, or of another root: the mapping has the file's own name and inode."""
    return next((mapping for mapping in process.maps if mapping.start <= address < mapping.end), None)


def _second(name: str) -> Finding:
    return Finding(
        False,
        f"{name} is an allocator too, and is linked in",
        "what the program says of fragmentation may be that one's, and mean nothing here; hz3 explain says where memory is",
    )


def _gives_away(path: str) -> list[Finding]:
    """Whether the program names jemalloc's own functions, whose memory it may free by the standard ones."""
    with open(path, "rb") as file:
        if not re.search(rb"\0[mr]allocx\0", file.read()):
            return []
    remedy = "HZ3_FOREIGN_FREE=libc, which hz3 run sets, has its memory freed there"
    return [Finding(False, f"{path} calls jemalloc's own mallocx, too", remedy)]


def _why_not(process: Process, program: str, ours: list[str], server: str, version: str) -> str:
    if server == program:
        return "that is the program itself, and no preloaded one is asked; build the program without it"
    if ours:
        return version if server in ours else f"that one comes before hz3 ({version})"
    if elf.auxiliary(process).get(elf.AUX_SECURE):
        return "it gained rights when it started, and so LD_PRELOAD was ignored: link it with hz3"
    return "start it by `hz3 run -- ...`, or with LD_PRELOAD"


def _sandbox(status: str) -> Finding:
    mode = re.search(r"^Seccomp:\s*(\d)", status, re.M)
    locked = bool(mode and mode[1] != "0")
    return Finding(
        not locked,
        "it is in a seccomp sandbox" if locked else "it is in no seccomp sandbox",
        "it has to allow what docs/use/limits.md lists under Sandboxes; HZ3_BACKGROUND=0 where clone kills"
        if locked
        else "",
    )


def of_process(process: Process) -> list[Finding]:
    maps = process.maps
    return [
        *_served(process),
        _sandbox(process.text("status")),
        *machine(),
        mappings(len(maps)),
        group(process.text("cgroup")),
    ]


# ---- a program ----


def _interpreted(path: str) -> str:
    """The program that runs a script."""
    for _ in range(4):
        with open(path, "rb") as file:
            line = re.match(rb"#![ \t]*([^ \t\n]+)", file.read(256))
        if not line:
            break
        path = os.fsdecode(line[1])
    return path


def _gains_rights(path: str) -> bool:
    mode = os.stat(path)
    if (mode.st_mode & stat.S_ISUID and mode.st_uid != os.getuid()) or (
        mode.st_mode & stat.S_ISGID and mode.st_gid != os.getgid()
    ):
        return True
    try:
        return bool(os.getxattr(path, "security.capability")) and os.getuid() != 0
    except OSError:
        return False


def of_program(name: str) -> list[Finding]:
    path = name if "/" in name else shutil.which(name)
    if not path or not os.path.isfile(path):
        raise LookError(f"there is no process and no program {shown(name)}")
    try:
        path = _interpreted(path)
        file = elf.File(path)
    except OSError as error:
        raise LookError(f"{shown(path)} cannot be read: {error.strerror}") from None
    except ValueError:
        raise LookError(f"{shown(path)} is not a program of 64-bit Linux") from None
    room = [tls(_text("/proc/self/environ"))] if file.interpreter else []
    return [*_serves(path, file, name), *room, *machine(), group(_text("/proc/self/cgroup"))]


def _libraries(path: str) -> list[str]:
    """In the order in which the loader looks names up.  Paths may be relative."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, errors="replace", check=False, env=env)
    except OSError as error:
        raise LookError(f"ldd, which names a program's libraries, cannot be run: {error.strerror}") from None
    return re.findall(r"^\t(?:.* => )?(.*/.*) \(0x[0-9a-f]+\)$", done.stdout, re.M)


def _serves(path: str, file: elf.File, name: str) -> list[Finding]:
    libraries = _libraries(path) if file.interpreter else []
    server = next(filter(_defines_malloc, (path, *libraries)), path)
    seconds = [
        _second(library)
        for library in libraries
        if not LIBC.search(library)
        and (ALLOCATORS.search(library) or _defines_malloc(library))
        and not _hz3_in(library)
    ]
    if version := _hz3_in(server):
        return [Finding(True, f"{path} is linked with {version}{f' ({server})' if server != path else ''}"), *seconds]
    found = []
    if version := _hz3_in(path):
        found.append(Finding(True, f"{path} has {version}, for what calls it by its names, as the Rust crate does"))
    gains = _gains_rights(path)
    if gains:
        found.append(Finding(False, f"{path} gains rights when it starts", "LD_PRELOAD is ignored: link it with hz3"))
    if not file.interpreter:
        found.append(
            Finding(
                False,
                f"{path} is linked statically",
                "nothing can be preloaded: link it with libhz3.a (docs/use/linking.md)",
            )
        )
    elif other := _other_libc(path, file.interpreter):
        found.append(other)
    elif not libraries:
        found.append(
            Finding(
                False,
                f"{path} is not loaded by this machine's loader ({file.interpreter})",
                "it is for another processor or C library, or lacks a library: ask ldd",
            )
        )
    elif _defines_malloc(path):
        found.append(
            Finding(False, f"{path} brings its own malloc", "no preloaded one is asked; build the program without it")
        )
    elif not gains:
        found.append(Finding(True, f"hz3 can serve {path}", "hz3 run -- " + name))
    return [*found, *seconds, *(_gives_away(path) if seconds else [])]


def as_text(findings: list[Finding]) -> str:
    return "\n".join(map(str, findings))
