"""Writes a heap profile in pprof's format (profile.proto of github.com/google/pprof)."""

import gzip
import os

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from look import shown
from look.profile import OF_ALLOCATOR, Cell, Profile

# The part of it that is used: message -> field -> number and type.  Capitalized types are messages; "*": repeated.
FIELDS = {
    "ValueType": {"type": "1 int64", "unit": "2 int64"},
    "Label": {"key": "1 int64", "str": "2 int64", "num": "3 int64", "num_unit": "4 int64"},
    "Sample": {"location_id": "1 *uint64", "value": "2 *int64", "label": "3 *Label"},
    "Mapping": {"id": "1 uint64", "memory_start": "2 uint64", "memory_limit": "3 uint64", "file_offset": "4 uint64",
                "filename": "5 int64", "build_id": "6 int64"},
    "Location": {"id": "1 uint64", "mapping_id": "2 uint64", "address": "3 uint64"},
    "Profile": {"sample_type": "1 *ValueType", "sample": "2 *Sample", "mapping": "3 *Mapping", "location": "4 *Location",
                "string_table": "6 *string", "drop_frames": "7 int64", "period_type": "11 ValueType", "period": "12 int64",
                "comment": "13 *int64", "default_sample_type": "14 int64"},
}  # fmt: skip


def _profile_class() -> type:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for message, fields in FIELDS.items():
        made = file.message_type.add(name=message)
        for name, what in fields.items():
            number, kind = what.split()
            label = field.LABEL_REPEATED if kind.startswith("*") else field.LABEL_OPTIONAL
            added = made.field.add(name=name, number=int(number), label=label)
            kind = kind.lstrip("*")
            if kind[0].isupper():
                added.type, added.type_name = field.TYPE_MESSAGE, f".perftools.profiles.{kind}"
            else:
                added.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found: type = message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))
    return found


class _Writer:
    def __init__(self, profile: Profile):
        self.of = profile
        self.made = _profile_class()()
        self.strings: dict[str, int] = {}
        self.locations: dict[int, int] = {}
        self.text("")

    def text(self, text: str) -> int:
        """pprof prints on the terminal what a process called its files and threads."""
        text = shown(text)
        return self.strings.setdefault(text, len(self.strings))

    def location(self, address: int) -> int:
        if address not in self.locations:
            self.locations[address] = len(self.locations) + 1
            mapping = self.of.mapping_of(address)
            number = self.of.mappings.index(mapping) + 1 if mapping else 0
            self.made.location.add(id=self.locations[address], mapping_id=number, address=address)
        return self.locations[address]

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


def write(profile: Profile, path: str) -> None:
    """Each sample has the objects and bytes allocated, and those still live when the profile was written."""
    writer = _Writer(profile)
    made = writer.made
    for kind, unit in (
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ):
        made.sample_type.add(type=writer.text(kind), unit=writer.text(unit))
    for i, mapping in enumerate(profile.mappings, 1):
        file = profile.file_of(mapping)
        # pprof is not to open what has the name here.
        other = " (another file)" if not file and os.path.exists(mapping.name) else ""
        made.mapping.add(id=i, memory_start=mapping.start, memory_limit=mapping.end, file_offset=mapping.offset,
                         filename=writer.text(mapping.name + other),
                         build_id=writer.text(file.build_id() if file else ""))  # fmt: skip
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
    with open(path, "wb") as output:
        output.write(gzip.compress(made.SerializeToString(), mtime=0))
