"""Runs that never took place: samples with a known effect."""

from pathlib import Path

import numpy as np

from lab.plan import BASELINE, COPY, Arm, Cell, Plan
from lab.samples import Samples


def experiment(gates: list[dict], cases: int = 1, **more) -> dict:
    return {
        "name": "synthetic",
        "work_order": "none",
        "question": "?",
        "baseline": {"lane": "scale"},
        "variants": [{"name": "variant", "lane": "scale", "flags": {"HZ3_FREE_CHECK": 0}}],
        "cases": [{"name": f"case {i}", "group": "g", "command": "bench"} for i in range(cases)],
        "gates": [{"group": "g", **gate} for gate in gates],
        **more,
    }


def samples(
    table: dict,
    seed: int,
    gain: list[float],
    noise: float = 0.02,
    blocks: int = 20,
    aa_blocks: int = 6,
    heavy: bool = False,
    mood: float = 0.2,
    memory: float = 1.0,
) -> Samples:
    """The variant is faster by `gain` per cent, one for each case, and uses `memory` times as much.

    All runs of a block share the machine's mood; `heavy` noise has the tails of Student's t with 2 degrees.
    """
    chance = np.random.default_rng(seed)
    cells = {case["name"]: Cell(["bench"], case["group"]) for case in table["cases"]}
    arms = {name: Arm() for name in (BASELINE, COPY, "variant")}
    result = Samples(
        Path("synthetic.jsonl"), Plan("ab", "synthetic", arms, cells, blocks, 0, aa_blocks, experiment=table), {}
    )
    for phase, count in (("warmup", 1), ("aa", aa_blocks), ("ab", blocks)):
        for block in range(count):
            for cell, effect in zip(cells, gain, strict=True):
                level = 1e8 * np.exp(mood * chance.standard_normal())
                for arm in result.plan.arms_of(phase):
                    deviation = noise * (chance.standard_t(2) if heavy else chance.standard_normal())
                    true = 1 + effect / 100 if arm == "variant" else 1
                    kib = 5000.0 * (memory if arm == "variant" else 1)
                    result._take(
                        {
                            "phase": phase,
                            "block": block,
                            "cell": cell,
                            "attempt": 0,
                            "arm": arm,
                            "figures": {"ops_per_s": level * true * np.exp(deviation), "peak_kib": kib, "end_kib": kib},
                        }
                    )
    return result
