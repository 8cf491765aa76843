"""Looks into running processes from outside: hz3 ps, stats, explain, top, profile, flows, doctor, exporter.  It needs only
Python, but exporter needs prometheus-client, pprof's format protobuf, and the page of flows Jinja2.  No code runs in the
process that is looked into, and only --start and --stop write to it."""


class LookError(Exception):
    """An error message for the user, in one line."""


def shown(text: str) -> str:
    """Escapes characters that act on a terminal, as a process's name may have any."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
