"""Looks into running processes from outside: hz3 stats, explain, top, profile, flows, doctor, exporter.  Needs Python
alone; only OpenMetrics (--prom, exporter) comes from prometheus-client, the screen of top from textual, and pprof's
format from protobuf.  Nothing runs in the process that is looked into, but what --start asks for."""


class LookError(Exception):
    """What the user is told, in one line."""


def shown(text: str) -> str:
    """A process names itself as it likes: nothing that it says may act on a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
