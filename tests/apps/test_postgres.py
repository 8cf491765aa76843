import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from host import Host, children, free_port, require, wait_until

# An invariant of pgbench's transactions: what changed accounts also changed tellers and branches.
BALANCES = """
SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers),
       (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history),
       (SELECT count(*) FROM pgbench_history)
"""
# Hash joins, aggregates, sorts, arrays, JSON and regular expressions.  The answers were worked out by hand.
QUESTIONS = {
    "SELECT count(*), sum(a.i) FROM generate_series(1, 200000) a(i)"
    " JOIN generate_series(2, 300000, 2) b(i) USING (i)": "100000|10000100000",
    "SELECT max(n) FROM (SELECT count(*) n FROM generate_series(1, 200000) i GROUP BY md5((i % 5000)::text)) t": "40",
    "SELECT cardinality(array_agg(DISTINCT i % 777)) FROM generate_series(1, 100000) i": "777",
    "SELECT sum((j->>'a')::int) FROM generate_series(1, 50000) i,"
    " LATERAL (SELECT jsonb_build_object('a', i, 'b', repeat('x', i % 90)) j) t": "1250025000",
    "SELECT count(*) FROM generate_series(1, 99999) i WHERE i::text ~ '^(\\d)\\d*\\1$' AND i > 9": "9999",
    "SELECT length(string_agg(repeat('y', 100), '')) FROM generate_series(1, 200000)": "20000000",
}


@pytest.fixture(scope="module")
def server(preload):
    """A running PostgreSQL.  It refuses root, and the user that it runs as must be able to read the library."""
    programs = {name: require(name, "postgresql") for name in ("postgres", "initdb", "psql", "pgbench", "pg_isready")}
    with tempfile.TemporaryDirectory(prefix="hz3-postgres-") as folder:
        folder = Path(folder)
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        library = Path(shutil.copy(preload.library, folder))
        host = Host(replace(preload, library=library, env={**preload.env, "LD_PRELOAD": str(library)}), folder, user)
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        host.env |= {"PGHOST": str(folder), "PGPORT": str(free_port()), "PGUSER": "hz3", "PGDATABASE": "postgres"}
        host.run(programs["initdb"], "-D", "data", "-U", "hz3", "--no-sync", "-A", "trust", "-E", "UTF8")
        host.programs = programs
        settings = ["fsync=off", f"unix_socket_directories={folder}", "listen_addresses="]
        options = [word for setting in settings for word in ("-c", setting)]
        with host.running(programs["postgres"], "-D", "data", *options, end=signal.SIGINT) as postmaster:
            ready = [programs["pg_isready"], "-q"]
            wait_until(lambda: subprocess.run(ready, env=host.plain_env()).returncode == 0, "postgres")
            host.postmaster = postmaster
            yield host


def ask(server, sql):
    return server.run(server.programs["psql"], "-X", "-A", "-t", "-c", sql).decode().strip()


def test_helpers_and_backends_are_on_hz3(server):
    command = [server.programs["psql"], "-XAt"]
    with server.running(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        session.stdin.write(b"SELECT pg_backend_pid();\n")
        session.stdin.flush()
        backend = int(session.stdout.readline())
        processes = children(server.postmaster.pid)
        assert backend in processes and len(processes) > 2
        for pid in processes:
            server.assert_on_hz3(pid)
        session.communicate()


def test_answers(server):
    for question, answer in QUESTIONS.items():
        assert ask(server, question) == answer, question


def test_pgbench(server):
    pgbench = server.programs["pgbench"]
    server.run(pgbench, "-i", "-s", "2", "-q")
    report = server.run(pgbench, "-c", "8", "-j", "2", "-t", "250", "-M", "prepared").decode()
    assert "number of transactions actually processed: 2000/2000" in report
    assert "number of failed transactions: 0" in report
    accounts, tellers, branches, history, count = ask(server, BALANCES).split("|")
    assert accounts == tellers == branches == history
    assert count == "2000"
