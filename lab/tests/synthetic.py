"""Runs that never took place: samples with a known effect."""

from pathlib import Path

import numpy as np

from lab.plan import BASELINE, COPY, Arm, Cell, Plan
from lab.samples import Samples

MACHINE = {"cpu": "A CPU", "cpus_allowed": 4, "virtual": False, "kernel": "6.1", "load": 0.1}


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
    plan = Plan("ab", "synthetic", arms, cells, blocks, 0, aa_blocks, experiment=table)
    result = Samples(Path("synthetic.jsonl"), plan, MACHINE)
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


def peers(seed: int = 0, blocks: int = 6) -> Samples:
    """A run of three allocators and the limit on cells of every kind."""
    chance = np.random.default_rng(seed)
    arms = {
        "scale": Arm("x.so", config="version=1 lane=scale"),
        "glibc": Arm(version="2.36"),
        "jemalloc": Arm("j.so", version="5.3"),
        "limit": Arm("limit.so"),
    }
    cells = {f"mt {threads}": Cell(["bench_mt", str(threads)], "bench_mt") for threads in (2, 8)}
    cells |= {"idle": Cell(["bench_idle"], "bench_idle"), "<timed>": Cell(["bench_timed"], "bench_timed")}
    run = Samples(
        Path("synthetic.jsonl"),
        Plan("peers", "peers-synthetic", arms, cells, blocks, 0, missing={"snmalloc": "no compiler"}),
        MACHINE,
    )
    for block in range(blocks):
        for cell in cells:
            for i, arm in enumerate(arms):
                speed = (2 + i) * 1e7 * np.exp(0.02 * chance.standard_normal())
                figures = {
                    "bench": cells[cell].argv[0],
                    "seconds": 1.0,
                    "peak_kib": 4000.0 * (i + 1),
                    "end_kib": 3000.0,
                }
                if cell.startswith("mt"):
                    threads = float(cells[cell].argv[1])
                    figures = {
                        "bench": "bench_mt",
                        "threads": threads,
                        "max": 2048.0,
                        **figures,
                        "ops_per_s": speed * threads,
                    }
                elif cell == "idle":
                    figures["rss_over_time"] = f"0:100,500:{4000 * (i + 1)},1500:{1000 * i}"
                else:
                    figures |= {
                        f"{call}_{p}_ns": 20.0 * (i + 1) * (n + 1)
                        for call in ("malloc", "free")
                        for n, p in enumerate(("p50", "p90", "p99", "p999", "p9999"))
                    }
                run._take({"phase": "ab", "block": block, "cell": cell, "attempt": 0, "arm": arm, "figures": figures})
    return run
