"""The subcommands."""

import argparse
import os
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar

from look import LookError, stats
from look.process import Process, descendants, numbers
from look.snapshot import Snapshot

TRIES = 3
RATE = 512 << 10  # bytes
PID = r"[1-9]\d{0,9}"
T = TypeVar("T")


def gather(pid: int | str, make: Callable[[Process], T]) -> T:
    """Reads again if the result makes no sense, as threads change the data meanwhile.  A name is a snapshot's."""
    with Process(pid) if isinstance(pid, int) else Snapshot(pid) as process:
        for _ in range(TRIES):
            try:
                return make(process)
            except (ValueError, LookupError, ArithmeticError, MemoryError, struct.error):
                continue
        raise LookError(f"process {process.pid} has hz3, but what it says of itself makes no sense")


def for_prometheus(figures: dict[str, Any]) -> str:
    from look import prometheus

    return prometheus.text(figures)


def show_stats(arguments: argparse.Namespace) -> str:
    form = for_prometheus if arguments.prom else stats.as_json if arguments.json else stats.as_text
    text = gather(arguments.pid, stats.threads_of if arguments.threads else lambda process: form(stats.read(process)))
    if not arguments.output:
        return text
    return written(
        arguments.output, "you to read", lambda: Path(arguments.output).write_text(f"{text}\n", encoding="utf-8")
    )


def asked_for(arguments: argparse.Namespace) -> list[int | str]:
    whole = arguments.children
    pids = (each for pid in arguments.pids for each in (descendants(pid) if whole and isinstance(pid, int) else [pid]))
    return list(dict.fromkeys(pids))


def gather_some(pids: Sequence[int | str], make: Callable[[Process], T]) -> tuple[list[T], list[LookError]]:
    """Of those that can be read, which are one at least; and why the others cannot."""
    found, reasons = list[T](), list[LookError]()
    for pid in pids:
        try:
            found.append(gather(pid, make))
        except LookError as error:
            reasons.append(error)
    if not found:
        raise reasons[0]
    return found, reasons


def gather_all(arguments: argparse.Namespace, make: Callable[[Process], T]) -> tuple[list[T], list[LookError]]:
    """Of each process that is asked for; and the reasons why children are left out that cannot be read."""
    if arguments.children:
        return gather_some(asked_for(arguments), make)
    return [gather(pid, make) for pid in asked_for(arguments)], []


def show_explain(arguments: argparse.Namespace) -> str:
    from look import explain

    sums, reasons = gather_all(arguments, explain.read)
    return explain.as_text(sums, [f"Left out: {reason}." for reason in reasons])


def show_ps(arguments: argparse.Namespace) -> str:
    from look import explain, ps

    for line in ps.lines(list(on_hz3()), lambda pid: gather(pid, explain.read)):
        say(line)
    return ""


def show_top(arguments: argparse.Namespace) -> str:
    gather_all(arguments, stats.read)  # so that an error is printed before the screen is taken over
    if not (os.isatty(0) and os.isatty(1)):  # sys.stdin is None where it is closed
        raise LookError("top needs a terminal; hz3 stats prints the figures once")
    try:
        from look import top
    except ImportError:
        raise LookError(f"top needs Python's module curses, which {sys.executable} was built without") from None
    top.Top(lambda: gather_some(asked_for(arguments), top.read)[0]).run()  # as long as one is there
    return ""


def show_doctor(arguments: argparse.Namespace) -> str:
    from look import doctor

    if re.fullmatch(PID, arguments.what):
        return doctor.as_text(gather(int(arguments.what), doctor.of_process))
    return doctor.as_text(doctor.of_program(arguments.what))


@contextmanager
def needing(what: str, package: str, module: str) -> Iterator[None]:
    """package: its name for pip.  Debian's Python takes none from there."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith(f"{module}."):
            raise LookError(f"{what} needs a newer {package} than {sys.executable} has") from None
        debian = sys.prefix == "/usr" and shutil.which("apt-get")
        install = f"apt install python3-{package}" if debian else f"{sys.executable} -m pip install {package}"
        raise LookError(f"{what} needs {package}, which {sys.executable} lacks: {install}") from None


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
    from look import profile, stacks

    (word, wanted), what = arguments.start or ("", 0), arguments.what
    if word and not what:  # --start PID
        wanted, what = RATE, word
    if not what:
        parser("profile").error("of which process or file?")
    if arguments.start or arguments.stop:
        if arguments.output or arguments.base or arguments.depth:
            parser("profile").error("-o, --base and --depth go with what is read, not with --start or --stop")
        if not re.fullmatch(PID, what):
            raise LookError(f"'{what}' is not the number of a process")
        return f"hz3: {gather(int(what), lambda process: profile.want(process, wanted))}"
    found = profile_of(what)
    if arguments.output:
        return written(arguments.output, "pprof", lambda: pprof().write(found, arguments.output))
    base = arguments.base
    return stacks.as_text(found, arguments.depth or stacks.DEPTH, base, sizes_in(base) if base else None)


def pprof() -> Any:
    with needing("pprof's format", "protobuf", "google.protobuf"):
        from look import pprof

        return pprof


def sizes_in(path: str) -> Any:
    """path: what hz3 profile -o or HZ3_PROFILE left."""
    from look import profile, stacks

    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"  # gzip's
    except OSError as error:
        raise LookError(f"{path}: {error.strerror}") from None
    return pprof().sizes(path) if packed else stacks.sizes(profile.read(path))


def show_flows(arguments: argparse.Namespace) -> str:
    from look import flows

    found = profile_of(arguments.what)
    if not arguments.html:
        return flows.as_text(found)
    with needing("a page", "jinja2", "jinja2"):
        from look.flows_page import as_page
    page = as_page(found)
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
    for pid in numbers():
        try:
            with open(f"/proc/{pid}/maps", errors="replace") as maps:
                if re.search(r"/lib(hakozuna_)?hz3[^/\n]*\.so", maps.read()):
                    yield pid
        except OSError:
            continue


def exporter(arguments: argparse.Namespace) -> str:
    pids = list(dict.fromkeys(arguments.pids))

    def read() -> list[dict[str, Any]]:
        found = []
        for pid in pids or sorted(on_hz3()):
            try:
                found.append(gather(pid, stats.read))
            except LookError:  # it ended, or may no longer be read
                continue
        return found

    if pids:
        gather_some(pids, stats.read)
    from look import prometheus

    with needing("exporter", "prometheus-client", "prometheus_client"):
        server = prometheus.server(arguments.listen, read)
    host, port = server.socket.getsockname()[:2]
    print(f"hz3: metrics at http://{f'[{host}]' if ':' in host else host}:{port}/metrics", file=sys.stderr, flush=True)
    server.serve_forever()
    return ""


def pid(text: str) -> int:
    if not re.fullmatch(PID, text):
        raise argparse.ArgumentTypeError(f"'{text}' is not the number of a process")
    return int(text)


def pid_or_file(text: str) -> int | str:
    """A file's name has a / or a . in it."""
    return text if re.search(r"[/.]", text) else pid(text)


def depth(text: str) -> int:
    if not re.fullmatch(PID, text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of calls")
    return int(text)


class Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        say(self.format_help().rstrip())  # argparse would not say that it cannot write

    def error(self, message: str) -> Any:
        self.exit(2, f"hz3: {self.prog.removeprefix('hz3 ')}: {message} (see {self.prog} --help)\n")


def add_pids(made: Parser, what: Callable[[str], int | str] = pid, metavar: str = "PID") -> None:
    made.add_argument("pids", type=what, metavar=metavar, nargs="+")
    made.add_argument("--children", action="store_true", help="and the processes that these started")


def parser(verb: str) -> Parser:
    if verb == "stats":
        made = Parser("hz3 stats", description="The figures of a running process, read from outside.")
        form = made.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print JSON, in bytes and objects")
        form.add_argument("--prom", action="store_true", help="as text for Prometheus")
        form.add_argument("--threads", action="store_true", help="bytes allocated and freed by each thread")
        made.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead")
        made.add_argument("pid", type=pid, metavar="PID")
        made.set_defaults(run=show_stats)
    elif verb == "explain":
        made = Parser(
            "hz3 explain",
            description="Where the resident memory of processes is: a sum that ends in RSS.  FILE: a snapshot that "
            "HZ3_STATS=explain left of a process that ended.",
        )
        add_pids(made, pid_or_file, "PID|FILE")
        made.set_defaults(run=show_explain)
    elif verb == "ps":
        made = Parser("hz3 ps", description="The processes on hz3: what is live and free, and what would make it less.")
        made.set_defaults(run=show_ps)
    elif verb == "top":
        made = Parser("hz3 top", description="The figures of running processes, each second.")
        add_pids(made)
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
            "pids", type=pid, metavar="PID", nargs="*", help="default: all processes with a library of hz3"
        )
        made.set_defaults(run=exporter)
    elif verb == "profile":
        from look.stacks import DEPTH

        made = Parser(
            "hz3 profile",
            usage="hz3 profile PID|FILE [--depth N] [--base OLD | -o OUT.pb.gz]\n"
            "       hz3 profile PID --start [RATE] | --stop",
            description="A heap profile: the stacks that hold most, or a file for pprof.",
        )
        made.add_argument(
            "what", metavar="PID|FILE", nargs="?", help="a process that samples, or a file that HZ3_PROFILE left"
        )
        form = made.add_mutually_exclusive_group()
        form.add_argument("-o", dest="output", metavar="OUT.pb.gz", help="write it for pprof; needs protobuf")
        form.add_argument("--base", metavar="OLD", help="print what grew since OLD, a file that -o or HZ3_PROFILE left")
        made.add_argument("--depth", type=depth, metavar="N", help=f"print N calls of each stack (default {DEPTH})")
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
        made.add_argument("--html", metavar="PAGE", help="write a heatmap for a browser; needs jinja2")
        made.set_defaults(run=show_flows)
    else:
        raise LookError(f"no verb '{verb}'")
    return made


def let_stdout_go() -> None:
    """Else Python would write to it once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:  # the disk is full
        let_stdout_go()
        raise LookError(f"cannot write: {error.strerror}") from None


def run() -> None:
    try:
        verb, *rest = sys.argv[1:]
        if sys.__stdout__ is None and verb != "exporter":  # before a process is asked for anything
            raise LookError("cannot write: stdout is closed")
        arguments = parser(verb).parse_args(rest)
        if isinstance(sys.stdout, TextIOWrapper):  # not every locale has all that is said
            sys.stdout.reconfigure(encoding="utf-8" if vars(arguments).get("prom") else None, errors="backslashreplace")
        if text := arguments.run(arguments):
            say(text)
    except LookError as error:
        sys.exit(f"hz3: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        let_stdout_go()
