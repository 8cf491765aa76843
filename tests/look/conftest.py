import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from host import answers, free_port, require, wait_until


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def made(name, *options, text=None):
        source = folder / f"{name}.c"
        source.write_text(text or (Path(__file__).parent / f"{name}.c").read_text())
        words = ["-O1", "-fno-builtin", "-D_GNU_SOURCE", "-pthread", *options]
        subprocess.run(["cc", source, *words, "-o", folder / name], check=True)
        return str(folder / name)

    return made


@pytest.fixture(scope="session")
def redis_on(tmp_path_factory):
    """redis_on(library): a Redis with 200000 values of 300 bytes, most of which were then replaced by smaller ones."""

    @contextmanager
    def started(library, busy=None):
        server, load, port = require("redis-server", "redis-server"), require("redis-benchmark", "redis-tools"), free_port()
        options = {"cwd": tmp_path_factory.mktemp("redis"), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        argv = [server, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--io-threads", "2"]
        with subprocess.Popen(argv, env={**os.environ, "LD_PRELOAD": str(library)}, **options) as process:
            try:
                wait_until(lambda: answers(port), "redis-server")
                if busy:
                    busy(process.pid)
                for size in ("300", "100"):
                    words = ["-t", "set", "-n", "300000", "-r", "200000", "-d", size, "-P", "50", "-q"]
                    subprocess.run([load, "-p", str(port), *words], check=True, stdout=subprocess.DEVNULL)
                yield process.pid
            finally:
                process.kill()

    return started


@pytest.fixture(scope="module")
def redis(redis_on, preload):
    with redis_on(preload.library) as pid:
        yield pid
