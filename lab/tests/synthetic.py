"""Synthetic runs: samples with a known effect."""

from pathlib import Path

import numpy as np

from lab import session, until
from lab.plan import BASELINE, COPY, Arm, Cell, Plan
from lab.samples import Samples
from lab.session import rounds

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
    """The variant is faster by `gain` per cent, one for each case, and uses `memory` times as much memory.

    All runs of a block share a random factor.  `heavy` noise has the tails of Student's t with 2 degrees of freedom.
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
                for arm in result.plan.arms_of(phase, cell):
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


class Rig:
    """A run with simulated measurements.  The variant is faster by `gain` per cent, with noise; both lists have an
    entry for each case.  Each measurement takes a second of a simulated clock.  `kind`: noise is normal; or heavy, with
    the tails of Student's t with 2 degrees of freedom; or correlated, as 0.8 of it is that of the run before."""

    def __init__(self, path, gates, gain, noise, seed=0, blocks=10, aa_blocks=6, kind="normal"):
        table = experiment(gates, cases=len(gain))
        cells = {case["name"]: Cell([case["name"]], case["group"]) for case in table["cases"]}
        arms = {name: Arm() for name in (BASELINE, COPY, "variant")}
        plan = Plan("ab", "x", arms, cells, blocks, seed, aa_blocks, experiment=table, until=until.DECIDED)
        self.run = Samples.create(path, plan, {}) if path else Memory(plan)
        self.truth = {cell: (1 + g / 100, n) for cell, g, n in zip(cells, gain, noise, strict=True)}
        self.chance, self.now, self.kind, self.before = np.random.default_rng(seed), 0.0, kind, 0.0
        self.others = np.random.default_rng((seed, 1))
        self.measure()
        self.now = 0.0

    def deviation(self):
        fresh = (
            float(np.clip(self.chance.standard_t(2), -100, 100))
            if self.kind == "heavy"
            else self.chance.standard_normal()
        )
        self.before = 0.8 * self.before + 0.6 * fresh if self.kind == "correlated" else fresh
        return self.before

    def take(self, arm, _, cell):
        self.now += 1
        faster, noise = self.truth[cell.argv[0]]
        true = faster if arm == "variant" else 1
        speed = float(true * np.exp(noise * self.deviation()))
        ratios = 1 / (true * np.exp(noise * self.others.standard_normal(2)))
        memory = {"peak_kib": 5000.0, "end_kib": 5000.0, "a_ratio": float(ratios[0]), "b_ratio": float(ratios[1])}
        return {"seconds": 1.0, "ops_per_s": 1e8 * speed, **memory}

    def measure(self):
        session.run(self.run, self.take)

    def decide(self, budget=1e9):
        return until.decide(self.run, self.measure, budget, lambda: self.now)


class Memory(Samples):
    """Samples that are not written to a file."""

    def __init__(self, plan):
        super().__init__(None, plan, {})

    def _append(self, line):
        pass


def written(run: Samples, path: Path) -> Path:
    """Writes the run's samples to a file, as the lab does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    copy = Samples.create(path, run.plan, run.machine)
    for round_, arms in rounds(run.plan):
        for arm in arms:
            if (round_.cell, arm) not in run.unable:
                place = {"phase": round_.phase, "block": round_.block, "cell": round_.cell}
                copy.add({**place, "attempt": 0, "arm": arm, "figures": run.attempts[round_][0][arm]})
    for (cell, arm), reason in run.unable.items():
        copy.give_up(cell, arm, reason)
    return path


SPEEDS = {"scale": 2.0, "r90": 2.9, "glibc": 2.8, "jemalloc": 4.0, "limit": 5.0}
MEMORIES = {"scale": 4000.0, "r90": 4000.0, "glibc": 3000.0, "jemalloc": 12000.0, "limit": 16000.0}


def peers(
    seed: int = 0,
    blocks: int = 6,
    speeds: dict[str, float] = SPEEDS,
    memories: dict[str, float] = MEMORIES,
    noise: float = 0.02,
    name: str = "peers-synthetic",
    untouched: str = "",
) -> Samples:
    """A synthetic run of two lanes, two peers and the limit on cells of every kind."""
    chance = np.random.default_rng(seed)
    arms = {
        "scale": Arm("x.so", config="version=1 lane=scale"),
        "r90": Arm("y.so", config="version=1 lane=r90"),
        "glibc": Arm(version="2.36"),
        "jemalloc": Arm("j.so", version="5.3"),
        "limit": Arm("limit.so"),
    }
    cells = {f"mt {threads}": Cell(["bench_mt", str(threads)], "bench_mt") for threads in (2, 8)}
    cells |= {"idle": Cell(["bench_idle"], "bench_idle"), "<timed>": Cell(["bench_timed"], "bench_timed")}
    plan = Plan("peers", name, arms, cells, blocks, 0, missing={"snmalloc": "no compiler"})
    run = Samples(Path("synthetic.jsonl"), plan, MACHINE)
    for phase, block in (*(("ab", block) for block in range(blocks)), ("warmup", 0)):
        for cell, of in cells.items():
            for arm in arms:
                asked, found = peer_figures(
                    of.argv, speeds[arm] * np.exp(noise * chance.standard_normal()), memories[arm]
                )
                asked |= {"touch": "none"} if cell == untouched else {}
                figures = {"bench": of.argv[0], **asked, "seconds": 1.0, "peak_kib": memories[arm], **found}
                run._take({"phase": phase, "block": block, "cell": cell, "attempt": 0, "arm": arm, "figures": figures})
    return run


def peer_figures(argv: list[str], speed: float, kib: float) -> tuple[dict, dict]:
    """Returns the program's parameters and its figures."""
    match argv:
        case ["bench_mt", threads]:
            asked = {"threads": float(threads), "max": 2048.0, "remote_pct": 50.0}
            return asked, {"ops_per_s": 1e7 * speed * float(threads), "end_kib": 3000.0}
        case ["bench_idle"]:
            return {}, {"rss_over_time": f"0:100,500:{kib:g},1500:{kib / 4:g}", "end_kib": kib / 4}
    percentiles = enumerate(("p50", "p90", "p99", "p999", "p9999"), 1)
    return {"latency": 1.0}, {f"{call}_{p}_ns": 20.0 * speed * n for n, p in percentiles for call in ("malloc", "free")}
