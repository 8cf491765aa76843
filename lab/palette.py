"""The colours of allocators in pictures."""

from collections.abc import Sequence
from typing import Any

from lab.peers import LIMIT

# Any two of the first three and the first eight are far apart in CIELAB, and no two of others have mark and hue alike.
OURS = ("#d00000", "#ff9f1c", "#7a0030", "#ff7fbf", "#a0522d", "#5a3d00")
OTHERS = (
    "#6b6b6b", "#0057b8", "#00a36c", "#7b2cbf", "#00b4d8", "#c0c000", "#1b2a49", "#e07be0", "#7fb069", "#8d99ae",
    "#4361ee", "#0b525b",
)  # fmt: skip
OUR_MARK, MARKS = "D", "osv^PX<>dhp*"


class Palette:
    """An allocator has the same colour in every picture.  hz3's lanes have warm ones."""

    def __init__(self, lanes: Sequence[str], others: Sequence[str]):
        self.colours = {name: OURS[i % len(OURS)] for i, name in enumerate(lanes)}
        self.colours |= {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(n for n in others if n != LIMIT)}
        self.colours[LIMIT] = "#222222"
        self.marks = {name: MARKS[i % len(MARKS)] for i, name in enumerate(n for n in others if n != LIMIT)}
        self.ours = set(lanes)
        self.first = next(iter(lanes), "")

    def __getitem__(self, arm: str) -> str:
        return self.colours[arm]

    def mark(self, arm: str) -> str:
        return "|" if arm == LIMIT else self.marks.get(arm, OUR_MARK)

    def name(self, arm: str) -> str:
        return f"hz3, {arm}" if arm in self.ours else arm

    def weight(self, arm: str) -> float:
        """The width of its lines: the first of our lanes, which is the default, stands out."""
        return 2.8 if arm == self.first else 1.1

    def line(self, arm: str) -> dict[str, Any]:
        """How the arm's line in a diagram looks."""
        return {
            "color": self[arm],
            "marker": self.mark(arm),
            "linewidth": self.weight(arm),
            "label": self.name(arm),
        }

    def size(self, arm: str) -> float:
        return 9.0 if arm == self.first else 5.0
