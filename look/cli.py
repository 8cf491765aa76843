"""The verbs."""

import argparse
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from look import LookError, stats
from look.process import Process

TRIES = 3
T = TypeVar("T")


def gather(pid: int, make: Callable[[Process], T]) -> T:
    """What is read while threads change it may make no sense for once."""
    with Process(pid) as process:
        for _ in range(TRIES):
            try:
                return make(process)
            except (ValueError, KeyError, IndexError, OverflowError, MemoryError, struct.error):
                continue
        raise LookError(f"process {pid} has hz3, but what it says of itself makes no sense")


def openmetrics() -> Any:
    try:
        from look import openmetrics as module
    except ImportError:
        raise LookError(
            "OpenMetrics needs prometheus-client: apt install python3-prometheus-client, or pip install prometheus-client"
        ) from None
    return module


def show_stats(arguments: argparse.Namespace) -> str:
    form = openmetrics().text if arguments.prom else stats.as_json if arguments.json else stats.as_text
    return str(form(gather(arguments.pid, stats.read))).rstrip("\n")


def show_explain(arguments: argparse.Namespace) -> str:
    from look import explain

    return gather(arguments.pid, lambda process: explain.as_text(process, explain.read(process)))


def show_top(arguments: argparse.Namespace) -> str:
    gather(arguments.pid, stats.read)  # what cannot be read is said before the screen is taken
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise LookError("top needs a terminal; hz3 stats prints the figures once")
    try:
        from look.top import Top
    except ImportError:
        raise LookError("top needs textual: pip install textual") from None
    app = Top(lambda: gather(arguments.pid, stats.read))
    app.run()
    if app.error:
        raise app.error
    return ""


def show_doctor(arguments: argparse.Namespace) -> str:
    from look import doctor

    if re.fullmatch(r"[1-9]\d{0,9}", arguments.what):
        return doctor.as_text(gather(int(arguments.what), doctor.of_process))
    return doctor.as_text(doctor.of_program(arguments.what))


def on_hz3() -> Iterator[int]:
    """Processes with a library of hz3's name."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps", errors="replace") as maps:
                if re.search(r"/lib(hakozuna_)?hz3[^/\n]*\.so", maps.read()):
                    yield int(pid)
        except OSError:
            continue


def exporter(arguments: argparse.Namespace) -> str:
    def read() -> list[dict[str, Any]]:
        found = []
        for pid in arguments.pids or sorted(on_hz3()):
            try:
                found.append(gather(pid, stats.read))
            except LookError:  # it ended, or is no longer ours to read
                continue
        return found

    module = openmetrics()
    server, thread = module.serve(arguments.listen, read)
    host, port = server.server_address[:2]
    print(f"hz3: metrics at http://{f'[{host}]' if ':' in host else host}:{port}/metrics", file=sys.stderr, flush=True)
    thread.join()
    return ""


def number(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,9}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not the number of a process")
    return int(text)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.exit(2, f"hz3: {self.prog.removeprefix('hz3 ')}: {message} (see {self.prog} --help)\n")


def parser(verb: str) -> Parser:
    if verb == "stats":
        made = Parser("hz3 stats", description="The figures of a running process, read from outside.")
        form = made.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="as JSON, in bytes and objects")
        form.add_argument("--prom", action="store_true", help="as OpenMetrics text; needs prometheus-client")
        made.add_argument("pid", type=number, metavar="PID")
        made.set_defaults(run=show_stats)
    elif verb == "explain":
        made = Parser(
            "hz3 explain", description="Where the resident memory of a running process is: a sum that ends in RSS."
        )
        made.add_argument("pid", type=number, metavar="PID")
        made.set_defaults(run=show_explain)
    elif verb == "top":
        made = Parser("hz3 top", description="The figures of a running process, each second; needs textual.")
        made.add_argument("pid", type=number, metavar="PID")
        made.set_defaults(run=show_top)
    elif verb == "doctor":
        made = Parser(
            "hz3 doctor",
            description="What of a process, or of a program and this machine, stands in hz3's way: a line each.",
        )
        made.add_argument("what", metavar="PROG|PID")
        made.set_defaults(run=show_doctor)
    elif verb == "exporter":
        made = Parser(
            "hz3 exporter", description="Serves the figures of processes to Prometheus; needs prometheus-client."
        )
        made.add_argument(
            "--listen", required=True, metavar="ADDR", help="HOST:PORT; without HOST only this machine is answered"
        )
        made.add_argument(
            "pids", type=number, metavar="PID", nargs="*", help="all processes with a library of hz3's, unless given"
        )
        made.set_defaults(run=exporter)
    else:
        raise LookError(f"no verb '{verb}'")
    return made


def run() -> None:
    try:
        verb, *rest = sys.argv[1:]
        arguments = parser(verb).parse_args(rest)
        if text := arguments.run(arguments):
            print(text, flush=True)
    except LookError as error:
        sys.exit(f"hz3: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
