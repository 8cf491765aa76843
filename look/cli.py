"""The subcommands."""

import argparse
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from look import LookError, stats
from look.process import Process

TRIES = 3
RATE = 512 << 10  # bytes
PID = r"[1-9]\d{0,9}"
T = TypeVar("T")


def gather(pid: int, make: Callable[[Process], T]) -> T:
    """Reads again if the result makes no sense, as threads change the data meanwhile."""
    with Process(pid) as process:
        for _ in range(TRIES):
            try:
                return make(process)
            except (ValueError, LookupError, ArithmeticError, MemoryError, struct.error):
                continue
        raise LookError(f"process {pid} has hz3, but what it says of itself makes no sense")


def as_openmetrics(figures: dict[str, Any]) -> str:
    from look import openmetrics

    return openmetrics.text(figures)


def show_stats(arguments: argparse.Namespace) -> str:
    form = as_openmetrics if arguments.prom else stats.as_json if arguments.json else stats.as_text
    text = gather(arguments.pid, stats.threads_of if arguments.threads else lambda process: form(stats.read(process)))
    if not arguments.output:
        return text
    return written(
        arguments.output, "you to read", lambda: Path(arguments.output).write_text(f"{text}\n", encoding="utf-8")
    )


def show_explain(arguments: argparse.Namespace) -> str:
    from look import explain

    return gather(arguments.pid, lambda process: explain.as_text(process, explain.read(process)))


def show_top(arguments: argparse.Namespace) -> str:
    gather(arguments.pid, stats.read)  # so that an error is printed before the screen is taken over
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

    if re.fullmatch(PID, arguments.what):
        return doctor.as_text(gather(int(arguments.what), doctor.of_process))
    return doctor.as_text(doctor.of_program(arguments.what))


def profile_of(what: str) -> Any:
    from look import profile

    return gather(int(what), profile.of_process) if re.fullmatch(PID, what) else profile.read(what)


def written(path: str, reader: str, write: Callable[[], object]) -> str:
    try:
        write()
    except OSError as error:
        raise LookError(f"{path}: {error.strerror}") from None
    return f"hz3: {path} is written, for {reader}"


def show_profile(arguments: argparse.Namespace) -> str:
    from look import profile

    (word, wanted), what = arguments.start or ("", 0), arguments.what
    if word and not what:  # --start PID
        wanted, what = RATE, word
    if not what:
        parser("profile").error("of which process or file?")
    if arguments.start or arguments.stop:
        if not re.fullmatch(PID, what):
            raise LookError(f"'{what}' is not the number of a process")
        return f"hz3: {gather(int(what), lambda process: profile.want(process, wanted))}"
    found = profile_of(what)
    if not arguments.output:
        return profile.as_text(found)
    try:
        from look import pprof
    except ImportError:
        raise LookError(
            "pprof's format needs protobuf: apt install python3-protobuf, or pip install protobuf"
        ) from None
    return written(arguments.output, "pprof", lambda: pprof.write(found, arguments.output))


def show_flows(arguments: argparse.Namespace) -> str:
    from look import flows

    found = profile_of(arguments.what)
    if not arguments.html:
        return flows.as_text(found)
    page = flows.as_page(found)
    return written(arguments.html, "a browser", lambda: Path(arguments.html).write_text(page, encoding="utf-8"))


def rate(text: str) -> tuple[str, int]:
    """The word itself, too, as it is the process if none follows."""
    from look.profile import MAX_RATE

    match = re.fullmatch(r"([1-9]\d{0,12})([KMG]?)", text)
    found = int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0
    if not 0 < found <= MAX_RATE:
        raise argparse.ArgumentTypeError(f"'{text}' is no rate, as 512K is")
    return text, found


def on_hz3() -> Iterator[int]:
    """The processes that have mapped a library of hz3's name."""
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
            except LookError:  # it ended, or may no longer be read
                continue
        return found

    from look import openmetrics

    try:
        server, thread = openmetrics.serve(arguments.listen, read)
    except ImportError:
        raise LookError(
            "exporter needs prometheus-client: apt install python3-prometheus-client, or pip install prometheus-client"
        ) from None
    host, port = server.server_address[:2]
    print(f"hz3: metrics at http://{f'[{host}]' if ':' in host else host}:{port}/metrics", file=sys.stderr, flush=True)
    thread.join()
    return ""


def number(text: str) -> int:
    if not re.fullmatch(PID, text):
        raise argparse.ArgumentTypeError(f"'{text}' is not the number of a process")
    return int(text)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.exit(2, f"hz3: {self.prog.removeprefix('hz3 ')}: {message} (see {self.prog} --help)\n")


def parser(verb: str) -> Parser:
    if verb == "stats":
        made = Parser("hz3 stats", description="The figures of a running process, read from outside.")
        form = made.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print JSON, in bytes and objects")
        form.add_argument("--prom", action="store_true", help="as OpenMetrics text")
        form.add_argument("--threads", action="store_true", help="bytes allocated and freed by each thread")
        made.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead")
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
            description="What keeps hz3 from serving a process, or a program on this machine: a line each.",
        )
        made.add_argument("what", metavar="PROG|PID")
        made.set_defaults(run=show_doctor)
    elif verb == "exporter":
        made = Parser(
            "hz3 exporter", description="Serves the figures of processes to Prometheus; needs prometheus-client."
        )
        made.add_argument(
            "--listen", required=True, metavar="ADDR", help="HOST:PORT; without HOST only this machine can connect"
        )
        made.add_argument(
            "pids", type=number, metavar="PID", nargs="*", help="default: all processes with a library of hz3"
        )
        made.set_defaults(run=exporter)
    elif verb == "profile":
        made = Parser(
            "hz3 profile",
            usage="hz3 profile PID|FILE [-o OUT.pb.gz]\n       hz3 profile PID --start [RATE] | --stop",
            description="A heap profile: the stacks that hold most, or a file for pprof.",
        )
        made.add_argument(
            "what", metavar="PID|FILE", nargs="?", help="a process that samples, or a file that HZ3_PROFILE left"
        )
        made.add_argument("-o", dest="output", metavar="OUT.pb.gz", help="write it for pprof; needs protobuf")
        switch = made.add_mutually_exclusive_group()
        switch.add_argument("--start", nargs="?", const=("", RATE), type=rate, metavar="RATE",
                            help="the process begins to sample one byte in RATE (default 512K)")  # fmt: skip
        switch.add_argument("--stop", action="store_true", help="the process stops sampling; its samples stay")
        made.set_defaults(run=show_profile)
    elif verb == "flows":
        made = Parser(
            "hz3 flows", description="Who frees whose memory: a heap profile by the threads of malloc and free."
        )
        made.add_argument("what", metavar="PID|FILE")
        made.add_argument("--html", metavar="PAGE", help="write a heatmap for a browser")
        made.set_defaults(run=show_flows)
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
