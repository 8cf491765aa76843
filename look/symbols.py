"""Which functions a profile's addresses lie in, by addr2line: binutils has it, it reads DWARF 5 and split debug
information, names C++ and Rust as their sources do, and takes all addresses of a file at once."""

import re
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from look import shown
from look.elf import File
from look.profile import Place, Profile

PATIENCE = 60  # seconds for one file
LINE = re.compile(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?")
# Functions that allocate.  Where hz3 is linked into the program, it calls from them what has other names.
OF_ALLOCATOR = (
    r"hz3_.*|(re|c|m)alloc|reallocarray|free|(posix_)?memalign|aligned_alloc|p?valloc|operator new.*|backtrace"
    r"|(__rustc(\[\w+\])?::)?__r(ust|dl|g)_(re)?alloc(_zeroed)?|<hz3::Hz3 as .*"
)
# What comes with C++ and Rust; of Rust's methods the type says it.
OF_LANGUAGE = re.compile(
    r"<?(&mut |&|dyn |\[|\()*(std|core|alloc|hashbrown|__gnu_cxx)::"
    r"|<(&mut |&|\[|\()*([iu](8|16|32|64|128|size)|f32|f64|str|bool|char)\b"
)


class Frame(NamedTuple):
    """A call, or one that the compiler inlined into the next."""

    function: str
    file: str = ""  # its source, where that is known
    line: int = 0

    def __str__(self) -> str:
        name = self.function if self.function.startswith("<") or not of_language(self) else bare(self.function)
        return f"{name} at {self.file.rpartition('/')[2]}:{self.line or '?'}" if self.file else name


def bare(function: str) -> str:
    """Without arguments, of templates too, and without the type that it returns."""
    less, name = function, ""
    while less != name:
        name, less = less, re.sub(r"<[^<>]*>|\([^()]*\)", "", less)
    name = re.sub(r"( (const|volatile|&|\[clone.*\]))*\s*$", "", name)
    return name if name.startswith("operator") else name.rpartition(" ")[2]


def of_language(frame: Frame) -> bool:
    return bool(OF_LANGUAGE.match(frame.function if frame.function.startswith("<") else bare(frame.function)))


def folded(frames: list[Frame]) -> list[Frame]:
    """Without the allocator's own, and each run of the language's library as its outermost call."""
    allocates = (i for i, frame in enumerate(frames[:-1]) if re.fullmatch(OF_ALLOCATOR, frame.function))
    frames = frames[max(allocates, default=-1) + 1 :]
    inner = zip(frames, [*frames[1:], None], strict=False)
    return [frame for frame, outer in inner if not (outer and of_language(frame) and of_language(outer))]


def unnamed(place: Place) -> Frame:
    name, offset = place
    return Frame(f"{name.rpartition('/')[2]}+0x{offset:x}" if name else f"0x{offset:x}")


def frames(profile: Profile, places: Iterable[Place]) -> dict[Place, list[Frame]]:
    """The calls at each place, innermost first.  Places that addr2line does not know are left out, and so are all where
    it is not installed."""
    found: dict[Place, list[Frame]] = {}
    by_file = defaultdict(list)
    for place in set(places):
        if mapping := profile.mapping_at(place):
            by_file[mapping.name, mapping.device, mapping.inode].append((place, mapping))
    for inside in by_file.values() if shutil.which("addr2line") else ():
        if file := profile.file_of(inside[0][1]):
            try:
                found |= _named(file, [place for place, _ in inside])
            except (subprocess.TimeoutExpired, ValueError, struct.error):
                continue
    return found


def _named(file: File, places: list[Place]) -> dict[Place, list[Frame]]:
    """Where addr2line has no line it takes the symbol before, however far: so the symbol has to hold the address."""
    linked = {place: address for place in places if (address := file.address(place[1]))}
    done = subprocess.run(["addr2line", "-aifC", "-e", file.path], input="\n".join(map(hex, linked.values())),
                          capture_output=True, timeout=PATIENCE, text=True, errors="replace")  # fmt: skip
    held = file.inside_functions(linked.values())
    found = {}
    for text in re.split(r"^0x", done.stdout, flags=re.M)[1:]:
        at, *lines = text.splitlines()
        calls = [_frame(*call) for call in zip(lines[::2], lines[1::2], strict=True)]
        if calls and not calls[0].function.startswith("?") and (calls[0].file or int(at, 16) in held):
            found[int(at, 16)] = calls
    return {place: found[address] for place, address in linked.items() if address in found}


def _frame(function: str, where: str) -> Frame:
    match = LINE.fullmatch(where)
    if not match or match[1].startswith("?"):
        return Frame(shown(function))
    return Frame(shown(function), shown(match[1]), int(match[2]) if match[2] != "?" else 0)
