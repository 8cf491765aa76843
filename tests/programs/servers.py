"""Servers under load: what they answer, and how much memory they hold when they are idle afterwards."""

import hashlib
import io
import os
import shutil
import signal
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

from commands import SCRIPTS, digest
from redis import Redis

from lab import Json, LabError, programs
from lab.stage import Command, Stage, answers_at, as_nobody, found, free_port, quietly, served


def answered(figures: Json, *answer: object) -> Json:
    return {**figures, "answer": " ".join(map(str, answer))}


def redis(stage: Stage) -> Json:
    """Redis with I/O threads and keys of every type.  Half of the keys are freed in the background while a child
    saves."""
    path = stage.path("redis")
    for left in (path, stage.path("dump.rdb")):
        left.unlink(missing_ok=True)
    command: Command = [found("redis-server"), "--port", "0", "--unixsocket", path, "--dir", stage.folder, "--save", "",
                        "--io-threads", "4", "--io-threads-do-reads", "yes", "--lazyfree-lazy-user-del", "yes",
                        "--enable-debug-command", "yes"]  # fmt: skip
    answers = []

    def fill(worker: int) -> None:
        with Redis(unix_socket_path=str(path)) as client:
            for batch in range(0, stage.work // 4, 500):
                pipe = client.pipeline(transaction=False)
                for n in range(batch, batch + 500):
                    pipe.set(f"s{worker}:{n}", b"x" * (n * 7919 % 1000))
                    pipe.rpush(f"l{worker}:{n % 50}", n, "y" * (n % 300))
                    pipe.hset(f"h{worker}:{n % 200}", str(n), "z" * (n % 100))
                    pipe.zadd(f"z{worker}", {f"m{n}": n * 31 % 997})
                pipe.execute()

    def load() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(fill, range(4)))
        with Redis(unix_socket_path=str(path)) as client:
            answers.append(client.execute_command("DEBUG", "DIGEST"))
            client.config_set("rdb-key-save-delay", 10)
            client.bgsave()
            client.delete(*(key for key in sorted(client.keys()) if len(key) % 2))
            client.config_set("rdb-key-save-delay", 0)
            while client.info("persistence")["rdb_bgsave_in_progress"]:
                time.sleep(0.1)
            answers.append(client.info("persistence")["rdb_last_bgsave_status"])
            answers.append(client.execute_command("DEBUG", "DIGEST"))

    return answered(served(stage, command, lambda: answers_at(path), load), *answers)


def memcached(stage: Stage) -> Json:
    read = [hashlib.sha256() for _ in range(4)]
    figures = programs.memcached(stage, lambda connection, said: read[connection].update(said))
    return answered(figures, *(each.hexdigest() for each in read))


def postgres(stage: Stage) -> Json:
    """The server forks a process for each transaction.  In which order they come does not change the sums."""
    sums = ("select count(*), sum(delta), sum(delta::bigint * aid) from pgbench_history;"
            "select sum(abalance), sum(abalance::bigint * aid) from pgbench_accounts;"
            "select sum(tbalance), sum(tbalance::bigint * tid) from pgbench_tellers;"
            "select sum(bbalance) from pgbench_branches")  # fmt: skip
    answers: list[str] = []

    def ask() -> None:
        answers.append(quietly(found("psql"), "-h", stage.folder, "-U", "lab", "-AtX", "-c", sums, "postgres"))

    return answered(programs.postgres(stage, "-C", after=ask), *" ".join(answers).split())


def mariadb(stage: Stage) -> Json:
    """sysbench reads and writes over eight connections, in two rounds."""
    data, path, user = stage.path("mariadb"), stage.path("mariadb.sock"), as_nobody(stage)
    shutil.rmtree(data, ignore_errors=True)
    where = [f"--datadir={data}", f"--socket={path}"]
    quietly(found("mariadb-install-db"), "--no-defaults", *where, "--auth-root-authentication-method=normal", **user)
    client = [found("mariadb"), "--no-defaults", "-uroot", f"--socket={path}", "-N", "-B", "-e"]
    sysbench = [found("sysbench"), "oltp_read_write", f"--mysql-socket={path}", "--mysql-user=root", "--mysql-db=lab",
                "--tables=2", "--table-size=10000", "--rand-seed=1", "--threads=8", "--time=0"]  # fmt: skip
    answers = []

    def load() -> None:
        quietly(*client, "create database lab")
        quietly(*sysbench, "prepare")
        for _ in range(2):
            quietly(*sysbench, f"--events={stage.work}", "run")
        answers.append(quietly(*client, "check table lab.sbtest1, lab.sbtest2; select count(*), sum(id) from lab.sbtest1"))

    command: Command = [found("mariadbd"), "--no-defaults", *where, "--skip-networking", "--innodb-buffer-pool-size=16M",
                        "--thread-cache-size=0"]  # fmt: skip
    return answered(served(stage, command, lambda: answers_at(path), load, **user), *answers)


def bodies(said: bytes) -> Iterator[bytes]:
    """The bodies of answers by HTTP/1.1, one after the other, as they were before they were compressed."""
    stream = io.BytesIO(said)
    while stream.readline():
        head = {}
        while line := stream.readline().strip().lower():
            name, _, value = line.partition(b": ")
            head[name] = value
        body = b"" if b"content-length" not in head else stream.read(int(head[b"content-length"]))
        while head.get(b"transfer-encoding") == b"chunked":
            size = int(stream.readline(), 16)
            body += stream.read(size)
            stream.readline()
            if not size:
                break
        yield zlib.decompress(body, wbits=31) if head.get(b"content-encoding") == b"gzip" else body


def nginx(stage: Stage) -> Json:
    read: dict[int, str] = {}

    def keep(connection: int, said: bytes) -> None:
        read[connection] = digest(" ".join(map(digest, bodies(said))))

    figures = programs.nginx(stage, keep)
    return answered(figures, digest(" ".join(read[connection] for connection in sorted(read))))


def apache(stage: Stage) -> Json:
    """PHP makes pages for four connections, while the server restarts several times."""
    www, port = stage.path("www-apache"), free_port()
    www.mkdir(exist_ok=True)
    shutil.copy(SCRIPTS / "work.php", www)
    modules = Path("/usr/lib/apache2/modules")
    user, php = "User nobody" if os.geteuid() == 0 else "", str(next(modules.glob("libphp*.so")))
    programs.configure(stage, SCRIPTS / "apache.conf", USER=user, PORT=str(port), MODULES=str(modules), PHP=php)

    def ask(n: int) -> str:
        with urlopen(f"http://127.0.0.1:{port}/work.php?rounds={n % 3}", timeout=60) as page:
            return digest(page.read())

    def restart(ended: threading.Event) -> None:
        while not ended.wait(0.5):
            os.kill(int(stage.path("apache.pid").read_text()), signal.SIGUSR1)

    pages: list[str] = []

    def load() -> None:
        ended = threading.Event()
        with ThreadPoolExecutor(5) as pool:
            pool.submit(restart, ended)
            pages.extend(pool.map(ask, range(stage.work)))
            ended.set()

    def ready() -> bool:
        try:
            return bool(ask(0))
        except OSError:
            return False

    # setsid, since Apache sends SIGTERM to its whole process group when it ends.
    command: Command = [found("setsid"), found("apache2"), "-DFOREGROUND", "-f", stage.path("apache.conf")]
    try:
        figures = served(stage, command, ready, load)
    finally:
        if stage.path("apache.pid").exists():
            os.killpg(int(stage.path("apache.pid").read_text()), signal.SIGKILL)
    if len(set(pages)) != 3:
        raise LabError(f"three pages were asked for, and {len(set(pages))} came")
    return answered(figures, digest("".join(pages)))
