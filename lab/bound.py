"""How large a figure of a process may be, on its own or beside that of another allocator."""

import math
from dataclasses import dataclass

from lab.plan import Arm


@dataclass(frozen=True)
class Bound:
    most: float
    least: float = -math.inf
    unit: str = ""
    of: str = ""  # the figure is a multiple of this allocator's, by turns in one run
    beyond: str = ""  # the figure is what goes beyond this allocator's
    lane: str = ""  # only this lane of hz3 is tried
    but: str = ""  # this lane is not
    alone: bool = False  # time counts, so nothing else runs meanwhile
    tries: int = 2  # until one holds

    @property
    def other(self) -> str:
        return self.of or self.beyond

    def concerns(self, arm: Arm) -> bool:
        words = arm.config.split()
        return (not self.lane or f"lane={self.lane}" in words) and (not self.but or f"lane={self.but}" not in words)

    def figure(self, own: list[float], others: list[float]) -> float:
        """The figure after some tries: the least of each counts."""
        if self.of:
            return min(own) / min(others) if min(others) else math.inf
        return min(own) - (min(others) if self.beyond else 0)

    def allows(self, figure: float) -> bool:
        return self.least <= figure <= self.most

    def is_far_from(self, figure: float) -> bool:
        """Whether nobody has to try again, since no disturbance does so much."""
        return figure > 3 * self.most > 0

    def __str__(self) -> str:
        if self.least == self.most == 0 and self.beyond:
            return f"as {self.beyond}"
        unit = f" {self.unit}" if self.unit else ""
        beside = f" times {self.of}'s" if self.of else f" beyond {self.beyond}'s" if self.beyond else ""
        return f"at most {number(self.most)}{unit}{beside}" if self.most else "none"


def number(value: float) -> str:
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{round(value, digits) + 0:,.{digits}f}"  # + 0: no -0
