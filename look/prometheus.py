"""The statistics for Prometheus: as text in its format 0.0.4, which node_exporter reads too, or served by
prometheus-client, whose parser the tests hold both to."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, NamedTuple

from look import LookError
from look.stats import MEANING

COUNTERS = ("purged",)  # among the figures in bytes; all refills are counters
OBJECTS = {"live": "with the program", "cached": "free, waiting for the next malloc", "free": "free, in runs in use"}
ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})  # of labels


class Family(NamedTuple):
    kind: str
    name: str  # of its samples
    meaning: str
    samples: list[tuple[dict[str, str], int]]  # labels and value


def families(processes: list[dict[str, Any]]) -> Iterator[Family]:
    """One sample of each metric for each process.  Figures that its lane does not have are left out."""
    labelled = [({"pid": str(stats["pid"]), "program": stats["program"]}, stats) for stats in processes]
    info = [(who | {"version": stats["version"], "lane": stats["lane"]}, 1) for who, stats in labelled]
    yield Family("gauge", "hz3_info", "which hz3 a process runs on", info)
    threads = [(who, stats["threads"]) for who, stats in labelled]
    yield Family("gauge", "hz3_threads", "threads that have magazines", threads)
    for name, meaning in MEANING.items():
        kind, end = ("counter", "_total") if name in COUNTERS else ("gauge", "")
        if samples := [(who, stats[name]) for who, stats in labelled if name in stats]:
            yield Family(kind, f"hz3_{name}_bytes{end}", meaning, samples)
    refills = [(who | {"source": name}, n) for who, stats in labelled for name, n in stats["refills"].items()]
    served = "mallocs that found no magazine, by what served them; and magazines away"
    yield Family("counter", "hz3_refills_total", served, refills)
    classes = [(who | {"size": str(c["size"])}, c) for who, stats in labelled for c in stats["classes"]]
    yield Family("gauge", "hz3_class_runs", "runs of a size class", [(which, c["runs"]) for which, c in classes])
    meanings = ", ".join(f"{state} is {meaning}" for state, meaning in OBJECTS.items())
    objects = [(which | {"state": state}, c[state] * c["size"]) for which, c in classes for state in OBJECTS]
    yield Family("gauge", "hz3_class_bytes", f"objects of a size class, by state: {meanings}", objects)


def text(stats: dict[str, Any]) -> str:
    """Written without prometheus-client, which takes longer to load than the process takes to read."""
    lines = []
    for kind, name, meaning, samples in families([stats]):
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            said = ",".join(f'{label}="{text.translate(ESCAPES)}"' for label, text in labels.items())
            lines.append(f"{name}{{{said}}} {value}")
    return "\n".join(lines)


class Server(ThreadingHTTPServer):
    server_bind = TCPServer.server_bind  # HTTPServer's asks for the host's name, which may take as long as DNS does

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client may leave before it has the answer
            super().handle_error(request, client_address)


def server(address: str, read: Callable[[], list[dict[str, Any]]]) -> ThreadingHTTPServer:
    """address: [HOST]:PORT or PORT.  Without HOST only programs on this machine can connect.  It is not started."""
    from prometheus_client import CollectorRegistry, MetricsHandler
    from prometheus_client.core import Metric

    class Processes:  # no Collector, a class that versions before 0.14 do not have
        def collect(self) -> Iterator[Metric]:
            for kind, name, meaning, samples in families(read()):
                metric = Metric(name.removesuffix("_total"), meaning, kind)
                for labels, value in samples:
                    metric.add_sample(name, labels, value)
                yield metric

    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise LookError(f"--listen takes HOST:PORT, not '{address}'")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Processes())
    try:
        # prometheus-client's own start_http_server returns what it started in later versions only.
        family, *_, at = socket.getaddrinfo(host.strip("[]") or "127.0.0.1", int(port), type=socket.SOCK_STREAM)[0]
        made = type("Server", (Server,), {"address_family": family})
        return made(at[:2], MetricsHandler.factory(registry))  # type: ignore[no-any-return]
    except UnicodeError:  # no host is called so
        raise LookError(f"--listen takes HOST:PORT, not '{address}'") from None
    except OSError as error:
        raise LookError(
            f"cannot listen on {address}: {os.strerror(error.errno) if error.errno and error.errno > 0 else error}"
        ) from None
