#!/usr/bin/env python3
"""Raw lines of compare.py --jsonl as a Markdown table: per cell the ratio of each hz3 lane's median to the fastest
peer's, and of its peak RSS to the smallest of the peers that are at least half as fast.

    bench/table.py RAW.jsonl
"""
import json
import statistics
import sys
from collections import defaultdict

OURS = ("scale", "fast")


def main():
    samples = defaultdict(lambda: defaultdict(list))
    for line in open(sys.argv[1]):
        sample = json.loads(line)
        samples[sample["command"]][sample["library"]].append((sample["ops_per_s"], sample["peak_kib"]))
    print("| cell | fastest peer | " + " | ".join(f"{lane}: speed [range] | RSS" for lane in OURS) + " |")
    print("|---|---|" + "---|---|" * len(OURS))
    for command, libraries in samples.items():
        medians = {name: [statistics.median(column) for column in zip(*runs)] for name, runs in libraries.items()}
        peers = {name: median for name, median in medians.items() if name not in OURS}
        fastest = max(peers, key=lambda name: peers[name][0])
        row = [command.removeprefix("bench_").replace("random_mixed_mt_remote_malloc", "mt_remote"), fastest]
        for lane in OURS:
            speed, rss = medians[lane]
            runs = [ops / peers[fastest][0] for ops, _ in libraries[lane]]
            rivals = [peer[1] for peer in peers.values() if 2 * peer[0] >= speed]
            row.append(f"{speed / peers[fastest][0]:.2f}x [{min(runs):.2f} {max(runs):.2f}]")
            row.append(f"{rss / min(rivals):.2f}x" if rivals else "-")
        print("| " + " | ".join(row) + " |")


main()
