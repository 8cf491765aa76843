"""Heap profiles in pprof's format.  profile.proto is that of github.com/google/pprof, and profile_pb2.py is what protoc
3.21 makes of it (protoc --python_out=. profile.proto): protobuf's later versions take what earlier ones made."""

import gzip
import os
import zlib
from collections import defaultdict

from google.protobuf.message import DecodeError

from look import LookError, shown
from look.profile import Cell, Profile
from look.profile_pb2 import Profile as Message
from look.stacks import Sizes, Stack
from look.symbols import OF_ALLOCATOR, Frame, frames, unnamed

TYPES = {"alloc_objects": "count", "alloc_space": "bytes", "inuse_objects": "count", "inuse_space": "bytes"}
OTHER = " (another file)"  # pprof is not to open what has the name here


class _Writer:
    def __init__(self, profile: Profile):
        self.of = profile
        self.made = Message()
        self.strings: dict[str, int] = {}
        self.locations: dict[int, int] = {}
        self.functions: dict[Frame, int] = {}
        self.text("")
        addresses = {address for stack in profile.stacks for address in profile.calls(stack)}
        self.known = frames(profile, map(profile.place, addresses))

    def text(self, text: str) -> int:
        """pprof prints on the terminal what a process called its files and threads."""
        text = shown(text)
        return self.strings.setdefault(text, len(self.strings))

    def mappings(self) -> None:
        named: defaultdict[int, list[Frame]] = defaultdict(list)
        for place, calls in self.known.items():
            if mapping := self.of.mapping_at(place):
                named[mapping.start] += calls
        for i, mapping in enumerate(self.of.mappings, 1):
            file = self.of.file_of(mapping)
            other = OTHER if not file and os.path.exists(mapping.name) else ""
            lines = any(frame.line for frame in named[mapping.start])
            self.made.mapping.add(
                id=i, memory_start=mapping.start, memory_limit=mapping.end, file_offset=mapping.offset,
                filename=self.text(mapping.name + other), build_id=self.text(file.build_id() if file else ""),
                has_functions=bool(named[mapping.start]), has_filenames=lines, has_line_numbers=lines, has_inline_frames=lines,
            )  # fmt: skip

    def location(self, address: int) -> int:
        if address not in self.locations:
            self.locations[address] = len(self.locations) + 1
            mapping, place = self.of.mapping_of(address), self.of.place(address)
            number = self.of.mappings.index(mapping) + 1 if mapping else 0
            made = self.made.location.add(id=self.locations[address], mapping_id=number, address=address)
            for frame in self.known.get(place, [unnamed(place)]):
                made.line.add(function_id=self.function(frame), line=frame.line)
        return self.locations[address]

    def function(self, frame: Frame) -> int:
        frame = frame._replace(line=0)
        if frame not in self.functions:
            self.functions[frame] = len(self.functions) + 1
            name, file = self.text(frame.function), self.text(frame.file)
            mangled = (
                0 if frame.function.startswith("<") else name
            )  # where they are equal pprof takes out what is in <>
            self.made.function.add(id=self.functions[frame], name=name, system_name=mangled, filename=file)
        return self.functions[frame]

    def sample(self, cell: Cell, is_live: bool) -> None:
        count = cell.samples * self.of.weight(cell.size)
        values = [round(count), round(count * cell.size)]
        sample = self.made.sample.add(
            location_id=[self.location(address) for address in self.of.calls(cell.stack)],
            value=values + (values if is_live else [0, 0]),
        )
        sample.label.add(key=self.text("bytes"), num=cell.size, num_unit=self.text("bytes"))
        sample.label.add(key=self.text("thread"), str=self.text(self.of.name_of(cell.by)))
        if not is_live:
            sample.label.add(key=self.text("freed_by"), str=self.text(self.of.name_of(cell.to)))
            sample.label.add(key=self.text("age_below"), num=2**cell.age, num_unit=self.text("milliseconds"))


def _packed(profile: Profile) -> bytes:
    """Each sample has the objects and bytes allocated, and those still live when the profile was written."""
    writer = _Writer(profile)
    made = writer.made
    for kind, unit in TYPES.items():
        made.sample_type.add(type=writer.text(kind), unit=writer.text(unit))
    writer.mappings()
    for cell in profile.freed:
        writer.sample(cell, False)
    for cell in profile.live():
        writer.sample(cell, True)
    made.period_type.type, made.period_type.unit = writer.text("space"), writer.text("bytes")
    made.period = profile.rate
    made.drop_frames = writer.text(OF_ALLOCATOR)
    made.default_sample_type = writer.text("inuse_space")
    made.comment.append(writer.text(f"{profile.program} ({profile.pid})"))
    made.string_table.extend(writer.strings)
    return gzip.compress(made.SerializeToString(), mtime=0)


def write(profile: Profile, path: str) -> None:
    try:
        packed = _packed(profile)
    except ValueError:  # what a file says may be beyond 64 bits
        raise LookError("a number in this profile has no room in pprof's format") from None
    with open(path, "wb") as output:
        output.write(packed)


def sizes(path: str) -> Sizes:
    """What a file that `write` wrote has of each stack."""
    try:
        with gzip.open(path) as file:
            made = Message.FromString(file.read())
        text = made.string_table
        if [text[kind.type] for kind in made.sample_type] != list(TYPES):
            raise LookError(f"{path}: no heap profile of hz3")
        names = {m.id: shown(text[m.filename]).removesuffix(OTHER) for m in made.mapping}
        files = {m.id: (names[m.id], m.memory_start - m.file_offset) for m in made.mapping}
        files[0] = ("", 0)
        places = {of.id: (files[of.mapping_id][0], of.address - files[of.mapping_id][1]) for of in made.location}
        found: defaultdict[Stack, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for sample in made.sample:
            of_stack = found[tuple(places[i] for i in sample.location_id)]
            _, allocated, _, live = sample.value
            of_stack[0] += live
            of_stack[1] += allocated
    except OSError as error:
        raise LookError(f"{path}: {error.strerror or 'cut off or damaged'}") from None
    except (DecodeError, EOFError, zlib.error, LookupError, ValueError):
        raise LookError(f"{path}: cut off or damaged") from None
    return {stack: (live, allocated) for stack, (live, allocated) in found.items()}
