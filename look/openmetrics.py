"""The statistics as OpenMetrics: as text, or served by prometheus-client, whose parser the tests hold both to."""

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from look import LookError
from look.stats import MEANING

COUNTERS = ("purged",)  # among the figures in bytes; all refills are counters
SUFFIX = {"gauge": "", "counter": "_total", "info": "_info"}  # of a sample's name, by kind
OBJECTS = {"live": "with the program", "cached": "free, waiting for the next malloc", "free": "free, in runs in use"}
ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Family(NamedTuple):
    kind: str
    name: str
    meaning: str
    samples: list[tuple[dict[str, str], int]]  # labels and value


def families(processes: list[dict[str, Any]]) -> Iterator[Family]:
    """One sample of each metric for each process.  Figures that its lane does not have are left out."""
    labelled = [({"pid": str(stats["pid"]), "program": stats["program"]}, stats) for stats in processes]
    info = [(who | {"version": stats["version"], "lane": stats["lane"]}, 1) for who, stats in labelled]
    yield Family("info", "hz3", "which hz3 a process runs on", info)
    threads = [(who, stats["threads"]) for who, stats in labelled]
    yield Family("gauge", "hz3_threads", "threads that have magazines", threads)
    for name, meaning in MEANING.items():
        if samples := [(who, stats[name]) for who, stats in labelled if name in stats]:
            yield Family("counter" if name in COUNTERS else "gauge", f"hz3_{name}_bytes", meaning, samples)
    refills = [(who | {"source": name}, n) for who, stats in labelled for name, n in stats["refills"].items()]
    served = "mallocs that found no magazine, by what served them; and magazines away"
    yield Family("counter", "hz3_refills", served, refills)
    classes = [(who | {"size": str(c["size"])}, c) for who, stats in labelled for c in stats["classes"]]
    yield Family("gauge", "hz3_class_runs", "runs of a size class", [(which, c["runs"]) for which, c in classes])
    meanings = ", ".join(f"{state} is {meaning}" for state, meaning in OBJECTS.items())
    objects = [(which | {"state": state}, c[state] * c["size"]) for which, c in classes for state in OBJECTS]
    yield Family("gauge", "hz3_class_bytes", f"objects of a size class, by state: {meanings}", objects)


def text(stats: dict[str, Any]) -> str:
    """Written without prometheus-client, which takes longer to load than the process takes to read."""
    lines = []
    for kind, name, meaning, samples in families([stats]):
        lines += [f"# HELP {name} {meaning.translate(ESCAPES)}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            said = ",".join(f'{label}="{text.translate(ESCAPES)}"' for label, text in labels.items())
            lines.append(f"{name}{SUFFIX[kind]}{{{said}}} {value}")
    return "\n".join([*lines, "# EOF"])


def serve(address: str, read: Callable[[], list[dict[str, Any]]]) -> tuple[Any, Any]:
    """address: [HOST]:PORT or PORT.  Without HOST only programs on this machine can connect."""
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector

    class Processes(Collector):
        def collect(self) -> Iterator[Metric]:
            for kind, name, meaning, samples in families(read()):
                metric = Metric(name, meaning, kind)
                for labels, value in samples:
                    metric.add_sample(name + SUFFIX[kind], labels, value)
                yield metric

    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise LookError(f"--listen takes HOST:PORT, not '{address}'")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Processes())
    try:
        return start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
    except OSError as error:
        raise LookError(
            f"cannot listen on {address}: {os.strerror(error.errno) if error.errno and error.errno > 0 else error}"
        ) from None
