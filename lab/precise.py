"""`hz3 peers LIST --until precise`: adds blocks to real programs, until what is said of their CPU time is narrow enough."""

import math
import time
from collections.abc import Callable

from lab.comparison import Comparison
from lab.headline import CPU, program, ratios
from lab.peers import REFERENCE
from lab.quartile import mean
from lab.samples import Samples
from lab.until import block_seconds

OF_PROGRAM, OF_MEAN = 0.04, 0.015  # the widths that intervals may have, as shares: of a program's ratio, of a mean's


def widths(run: Samples) -> tuple[dict[str, float], float]:
    """Of each program the widest interval of any allocator's ratio to REFERENCE, by cell, and the widest of a mean.
    What cannot be compared has none."""
    comparison = Comparison(run)
    cells = {program(comparison, cell): cell for cell in comparison.cells}
    of_arms = [ratios(comparison, CPU, arm) for arm in comparison.arms if arm != REFERENCE]
    compared = {cell: [of[name].width() for of in of_arms if name in of] for name, cell in cells.items()}
    of_mean = max((mean(of.values()).width() for of in of_arms if of), default=0.0)
    return {cell: max(of_cell) for cell, of_cell in compared.items() if of_cell}, of_mean


def needs(run: Samples) -> dict[str, int]:
    """The blocks that each cell lacks, if its error falls with their root."""
    of_cells, of_mean = widths(run)
    # By which all have to become narrower for the mean's sake; if that has no end, one of them has none.
    squeeze = OF_MEAN / of_mean if OF_MEAN < of_mean < math.inf else 1.0
    bounds = {cell: min(OF_PROGRAM, width * squeeze) for cell, width in of_cells.items()}
    return {
        cell: lacking(run.planned(cell), width / bounds[cell])
        for cell, width in of_cells.items()
        if width > bounds[cell]
    }


def lacking(blocks: int, too_wide: float) -> int:
    return blocks if math.isinf(too_wide) else max(1, math.ceil(blocks * too_wide**2) - blocks)


def narrow(
    run: Samples, measure: Callable[[], None], budget: float, clock: Callable[[], float] = time.monotonic
) -> dict[str, int]:
    """Measures until the intervals are as narrow, or the next step would exceed the budget in seconds.  Returns what is
    still needed.  A step adds at most as many blocks as there are, since the first few say little of the error."""
    end, slower = clock() + budget, 1.0
    while wanted := needs(run):
        blocks = {cell: min(run.planned(cell), more) for cell, more in wanted.items()}
        measured = sum(more * block_seconds(run, cell) for cell, more in blocks.items())
        began = clock()
        if began + slower * measured > end:
            break
        for cell, more in blocks.items():
            run.extend(cell, more)
        measure()
        slower = (clock() - began) / measured
    return needs(run)
