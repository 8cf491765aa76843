"""The statistics as OpenMetrics, written and served by prometheus-client."""

import os
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from look import LookError
from look.stats import MEANING

LABELS = ("pid", "program")
COUNTERS = ("purged",)  # among the figures in bytes; all refills are counters
OBJECTS = {"live": "with the program", "cached": "free, waiting for the next malloc", "free": "free, in runs in use"}


def _bytes(name: str) -> tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], str]:
    return (CounterMetricFamily if name in COUNTERS else GaugeMetricFamily), f"hz3_{name}_bytes"


class Processes(Collector):
    """One sample of each metric for each process.  Figures that its lane does not have are left out."""

    def __init__(self, read: Any):
        self._read = read

    def collect(self) -> Iterator[Metric]:
        processes: list[dict[str, Any]] = self._read()
        labels = [(str(stats["pid"]), stats["program"]) for stats in processes]
        info = InfoMetricFamily("hz3", "which hz3 a process runs on", labels=LABELS)
        threads = GaugeMetricFamily("hz3_threads", "threads that have magazines", labels=LABELS)
        refills = CounterMetricFamily(
            "hz3_refills",
            "mallocs that found no magazine, by what served them; and magazines away",
            labels=(*LABELS, "source"),
        )
        meanings = ", ".join(f"{state} is {meaning}" for state, meaning in OBJECTS.items())
        objects = GaugeMetricFamily(
            "hz3_class_bytes", f"objects of a size class, by state: {meanings}", labels=(*LABELS, "size", "state")
        )
        runs = GaugeMetricFamily("hz3_class_runs", "runs of a size class", labels=(*LABELS, "size"))
        for label, stats in zip(labels, processes, strict=True):
            info.add_metric(label, {"version": stats["version"], "lane": stats["lane"]})
            threads.add_metric(label, stats["threads"])
            for name, n in stats["refills"].items():
                refills.add_metric((*label, name), n)
            for c in stats["classes"]:
                runs.add_metric((*label, str(c["size"])), c["runs"])
                for state in OBJECTS:
                    objects.add_metric((*label, str(c["size"]), state), c[state] * c["size"])
        yield from (info, threads)
        for name, meaning in MEANING.items():
            family, metric = _bytes(name)
            samples = family(metric, meaning, labels=LABELS)
            for label, stats in zip(labels, processes, strict=True):
                if name in stats:
                    samples.add_metric(label, stats[name])
            if samples.samples:
                yield samples
        yield from (refills, runs, objects)


def registry(read: Any) -> CollectorRegistry:
    made = CollectorRegistry(auto_describe=False)
    made.register(Processes(read))
    return made


def text(stats: dict[str, Any]) -> str:
    made: bytes = generate_latest(registry(lambda: [stats]))  # type: ignore[no-untyped-call]
    return made.decode()


def serve(address: str, read: Any) -> tuple[Any, Any]:
    """address: [HOST]:PORT or PORT.  Without HOST only programs on this machine can connect."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise LookError(f"--listen takes HOST:PORT, not '{address}'")
    try:
        return start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry(read))
    except OSError as error:
        raise LookError(
            f"cannot listen on {address}: {os.strerror(error.errno) if error.errno and error.errno > 0 else error}"
        ) from None
