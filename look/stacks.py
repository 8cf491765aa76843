"""A heap profile as text: the stacks that hold most memory, or those that hold more than an older profile has."""

from collections import defaultdict

from look import shown, symbols
from look.profile import Place, Profile
from look.stats import human

TOP = 10
DEPTH = 12  # calls
Stack = tuple[Place, ...]  # innermost first
Sizes = dict[Stack, tuple[float, float]]  # bytes live, and bytes allocated


def sizes(profile: Profile) -> Sizes:
    of_stack: defaultdict[Stack, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for i, cells in enumerate((profile.live(), profile.allocated)):
        for cell in cells:
            stack = tuple(map(profile.place, profile.calls(cell.stack)))
            of_stack[stack][i] += profile.bytes([cell])
    return {stack: (live, allocated) for stack, (live, allocated) in of_stack.items()}


def grown(now: Sizes, before: Sizes, least: float) -> Sizes:
    """By how much.  Less than half a sample is what files round."""
    found = {}
    for stack in {**now, **before}:
        (new, ever), (old, once) = (of.get(stack, (0.0, 0.0)) for of in (now, before))
        live, allocated = (change if abs(change) > least else 0.0 for change in (new - old, ever - once))
        if live or allocated:
            found[stack] = live, allocated
    return found


def _head(profile: Profile, found: Sizes, base: str) -> list[str]:
    live, allocated = (_size(sum(each[i] for each in found.values()), base) for i in (0, 1))
    samples = sum(cell.samples for cell in profile.allocated)
    since = f" since {shown(base)}" if base else ""
    lines = [
        f"{shown(profile.program)} ({profile.pid}): {live} live of {allocated} allocated{since};"
        f" {samples} samples, one in {human(profile.rate)}"
    ]
    if not profile.whole:
        lines.append("the end of the file is missing: this is what comes before")
    if profile.lost:
        lines.append(f"{profile.lost} samples found no room in the table")
    return lines


def _size(size: float, base: str) -> str:
    sign = ("-" if size < 0 else "+") if base and round(size) else ""
    return sign + human(abs(round(size)))


def as_text(profile: Profile, depth: int = DEPTH, base: str = "", before: Sizes | None = None) -> str:
    """before: what the profile in the file `base` has."""
    found = grown(sizes(profile), before, profile.rate / 2) if before is not None else sizes(profile)
    most = sorted(found.items(), key=lambda item: -item[1][0])[:TOP]
    known = symbols.frames(profile, (place for stack, _ in most for place in stack))
    lines = [*_head(profile, found, base), f"{'live':>10} {'allocated':>10}  allocated by"]
    for stack, (live, allocated) in most:
        calls = [frame for place in stack for frame in known.get(place, [symbols.unnamed(place)])]
        said = [str(frame) for frame in symbols.folded(calls)] or ["?"]
        rest = [f"... {len(said) - depth} more"] if len(said) > depth else []
        begins = f"{_size(live, base):>10} {_size(allocated, base):>10}  "
        lines += [begins + said[0], *(" " * 22 + f"< {call}" for call in said[1:depth] + rest)]
    return "\n".join(lines)
