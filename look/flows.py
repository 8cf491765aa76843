"""Which threads free which threads' memory, by a heap profile: as a list, and as a heatmap in the terminal."""

from collections import defaultdict
from typing import NamedTuple

from look import shown
from look.profile import Cell, Profile
from look.stats import human

ROWS = 20  # of the list; the flows that move less share one line
SIDE = 12  # threads in a heatmap; the others, which move least, share one row and one column
REST = "(rest)"
SHADES = " ░▒▓█"
NEARLY_ALL, MUCH = 0.95, 0.5  # shares of the bytes


HEADS = ("bytes", "share", "objects", "mean size", "half live", "sizes, by bytes")


class Flow(NamedTuple):
    """Memory that one thread allocated and another freed."""

    by: str
    to: str
    bytes: float
    objects: float
    age: int  # the median is below 2 ** age ms
    sizes: list[tuple[int, float]]  # powers of two, and the bytes in objects of at most that, and more than half of it

    def cells(self, total: float) -> list[str]:
        """For HEADS."""
        size, mean = human(round(self.bytes)), human(round(self.bytes / self.objects))
        return [size, f"{self.bytes / total:.1%}", f"{self.objects:.0f}", mean, f"< {2**self.age} ms", self.shares()]

    def shares(self) -> str:
        """The sizes of most bytes."""
        return ", ".join(f"<={_short(size)} {part / self.bytes:.0%}" for size, part in self.sizes[:2])


def of(profile: Profile) -> list[Flow]:
    """The flows, those of most bytes first."""
    cells: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in profile.freed:
        cells[profile.name_of(cell.by), profile.name_of(cell.to)].append(cell)
    flows = [
        Flow(
            by,
            to,
            profile.bytes(some),
            sum(c.samples * profile.weight(c.size) for c in some),
            _median_age(some),
            _sizes(profile, some),
        )
        for (by, to), some in cells.items()
    ]
    return sorted(flows, key=lambda flow: -flow.bytes)


def _sizes(profile: Profile, cells: list[Cell]) -> list[tuple[int, float]]:
    found: defaultdict[int, float] = defaultdict(float)
    for cell in cells:
        found[1 << (cell.size - 1).bit_length()] += profile.bytes([cell])
    return sorted(found.items(), key=lambda item: -item[1])


def _short(size: int) -> str:
    shift = (size.bit_length() - 1) // 10
    return f"{size >> 10 * shift}{' KMGTPE'[shift].strip()}"


def _median_age(cells: list[Cell]) -> int:
    half, seen = sum(cell.samples for cell in cells) / 2, 0
    for cell in sorted(cells, key=lambda cell: cell.age):
        seen += cell.samples
        if seen >= half:
            break
    return cell.age


def matrix(flows: list[Flow]) -> tuple[list[str], dict[tuple[str, str], float]]:
    """Returns the threads' names, those that move most bytes first, and the bytes from each to each."""
    moved: defaultdict[str, float] = defaultdict(float)
    for flow in flows:
        for name in {flow.by, flow.to}:
            moved[name] += flow.bytes
    names = sorted(moved, key=lambda name: (-moved[name], name))
    kept = names if len(names) <= SIDE else [*names[: SIDE - 1], REST]
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for flow in flows:
        found[flow.by if flow.by in kept else REST, flow.to if flow.to in kept else REST] += flow.bytes
    return kept, found


def own_share(profile: Profile) -> float:
    """The share of the freed bytes that the allocating thread itself freed."""
    return profile.bytes(cell for cell in profile.freed if cell.by == cell.to) / profile.bytes(profile.freed)


# With a producer and a consumer 64K costs a third more instructions than the default, 1M 3 %, and neither saves memory.
# With threads that free their own, neither costs more (bench_prodcons, bench_random_mixed_mt_remote;
# docs/use/profiling.md).
OWN = " HZ3_TRANSFER_CACHE=64K costs no time then, since what waits there would be for other threads."
FLOWS = (
    " Leave HZ3_TRANSFER_CACHE at 1M or more (lane memory has 64K): what threads free waits there for those that"
    " allocate, and where it has no room every object goes back to its run."
)


def advice(profile: Profile) -> str:
    """Recommends a lane and options, with the reason."""
    own, by, to = own_share(profile), {cell.by for cell in profile.freed}, {cell.to for cell in profile.freed}
    others = profile.bytes(cell for cell in profile.freed if cell.by != cell.to)
    one_way = profile.bytes(
        cell for cell in profile.freed if cell.by != cell.to and (cell.to not in by or cell.by not in to)
    )
    if own >= NEARLY_ALL:
        return (
            "Threads free what they allocated. Lanes scale and fast treat that alike; fast is without the check of each"
            " free." + OWN
        )
    if one_way >= MUCH * others:
        return (
            "Most memory that others free goes one way, from threads that allocate to threads that free. Lane scale sends it"
            " home in magazines, by the owner stash; lane fast has none, and its memory goes round by the transfer cache."
            + FLOWS
        )
    return (
        "Threads free each other's memory in both directions. Lane scale is made for that: whoever frees an object of"
        " 64 bytes or more uses it again. r90 is the same without the check of each free, which costs most here."
        + FLOWS
    )


def head(profile: Profile, flows: list[Flow]) -> str:
    freed = human(round(sum(flow.bytes for flow in flows)))
    return (
        f"{shown(profile.program)} ({profile.pid}): {freed} freed,"
        f" {own_share(profile):.0%} by the thread that allocated it"
    )


def nothing(profile: Profile) -> str:
    return f"{shown(profile.program)} ({profile.pid}): nothing that was sampled was freed"


def as_text(profile: Profile) -> str:
    flows = of(profile)
    if not flows:
        return nothing(profile)
    total = sum(flow.bytes for flow in flows)
    form = "{:>10} {:>6} {:>9} {:>10} {:>10}  {:<22}  {} -> {}".format
    lines = [head(profile, flows), form(*HEADS, "allocated by", "freed by")]
    lines += [form(*flow.cells(total), flow.by, flow.to) for flow in flows[:ROWS]]
    if rest := flows[ROWS:]:
        moved, objects = sum(flow.bytes for flow in rest), sum(flow.objects for flow in rest)
        lines.append(f"{human(round(moved)):>10} {moved / total:6.1%} {objects:9.0f}  {len(rest)} more")
    if len(names := matrix(flows)[0]) > 1:
        lines += ["", *_heatmap(flows, max(map(len, names)))]
    return "\n".join([*lines, "", advice(profile)])


def _heatmap(flows: list[Flow], width: int) -> list[str]:
    """A row for each allocating thread, and a column for each freeing one, in the same order."""
    names, cells = matrix(flows)
    most = max(cells.values())
    lines = [f"{'allocated by':>{width}}  freed by, in the same order"]
    for by in names:
        shades = (cells.get((by, to), 0) / most for to in names)
        row = "".join(SHADES[min(4, int(4 * shade) + (shade > 0))] * 2 for shade in shades)
        lines.append(f"{by:>{width}} |{row}|")
    return lines
