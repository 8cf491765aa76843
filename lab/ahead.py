"""Where a peer is ahead of hz3.  The samples show where, and experiments/peers.toml says why."""

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import ROOT, LabError, peers
from lab.experiment import REASONS
from lab.samples import Samples
from lab.versus import MEMORY, SPEED, Estimate, estimate, paired

LANE = "scale"
FASTER, SMALLER = 5, 10  # per cent from which a peer is ahead; a peer counts as equally fast if it is slower by less
KINDS = {"speed": "faster", "memory": "smaller"}
UNEXPLAINED = "not explained yet"


@dataclass(frozen=True)
class Reason:
    cells: str  # a pattern for the cell's command
    kind: str
    why: str
    peers: str = ""  # a pattern for the peer's name
    cpus: int = 1  # only on machines with at least so many


def change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f}"


@dataclass(frozen=True)
class Lead:
    peer: str
    kind: str
    ratio: Estimate  # the peer's speed, or peak RSS, over the lane's

    def __str__(self) -> str:
        middle, low, high = map(change, self.ratio)
        return f"{self.peer} {middle} % [{low} {high}]"


def reasons(root: Path = ROOT) -> list[Reason]:
    """Reads the reasons.  Each must match an existing cell."""
    lists = [peers.cells(file) for file in root.glob("bench/cells-*.txt")]
    commands = [shlex.join(cell.argv) for cells in lists for cell in cells.values()]
    try:
        found = [Reason(**table) for table in tomllib.loads((root / "experiments" / REASONS).read_text())["reasons"]]
        for reason in found:
            if reason.kind not in KINDS:
                raise LabError(f"{REASONS}: '{reason.kind}' is no kind of reason: {', '.join(KINDS)}")
            if not any(re.search(reason.cells, command) for command in commands):
                raise LabError(f"{REASONS}: '{reason.cells}' is in no command of bench/cells-*.txt")
    except (OSError, ValueError, LookupError, TypeError, re.error) as error:
        raise LabError(f"{REASONS} is not a list of reasons: {error!r}") from None
    return found


def leads(run: Samples, cell: str, lane: str, among: list[str]) -> list[Lead]:
    """The peers that are faster with certainty, and those that are equally fast and smaller."""
    found = []
    for peer in among:
        speed, memory = (paired(run, cell, figure, peer, lane) for figure in (SPEED, MEMORY))
        if speed is None or len(speed) < 2 or np.median(speed) < 1 - FASTER / 100:
            continue
        if np.median(speed) > 1 + FASTER / 100 and estimate(speed)[1] > 1:
            found.append(Lead(peer, "speed", estimate(speed)))
        if memory is not None and np.median(memory) < 1 - SMALLER / 100:
            found.append(Lead(peer, "memory", estimate(memory)))
    return found


def furthest(found: list[Lead]) -> str:
    """The number of peers ahead of each kind, and how far the first of them is."""
    said = []
    for kind, word in KINDS.items():
        ratios = [lead.ratio[0] for lead in found if lead.kind == kind]
        if ratios:
            most = max(ratios, key=lambda ratio: abs(ratio - 1))
            said.append(f"{len(ratios)} {word}, to {change(most)} %")
    return "; ".join(said) or "nobody"


def why(command: str, cpus: int, found: list[Lead], known: list[Reason]) -> str:
    """Each reason once.  If several match a lead, the first counts."""

    def of(lead: Lead) -> str:
        fitting = (
            reason.why
            for reason in known
            if reason.kind == lead.kind
            and reason.cpus <= cpus
            and re.search(reason.cells, command)
            and re.search(reason.peers, lead.peer)
        )
        return f"{lead.kind}: {next(fitting, UNEXPLAINED)}"

    return "\n".join(dict.fromkeys(of(lead) for kind in KINDS for lead in found if lead.kind == kind))
