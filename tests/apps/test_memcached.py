import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from host import answers, free_port, require, wait_until
from pymemcache.client.base import Client


def exercise(port, worker):
    dice = random.Random(worker)
    values = {f"{worker}-{i}": dice.randbytes(int(2 ** dice.uniform(0, 17))) for i in range(1500)}
    with closing(Client(("127.0.0.1", port), default_noreply=False)) as client:
        for key, value in values.items():
            assert client.set(key, value)
        gone = set(dice.sample(sorted(values), 500))
        for key in gone:
            assert client.delete(key)
        for key in dice.sample(sorted(values), len(values)):
            assert client.get(key) == (None if key in gone else values[key])
        assert client.append(f"{worker}-new", b"x") is False
        assert client.set(f"{worker}-new", b"x") and client.append(f"{worker}-new", b"y" * 9000)
        assert client.get(f"{worker}-new") == b"x" + b"y" * 9000
        for _ in range(200):
            client.add("shared", b"0")
            client.incr("shared", 1)
    return len(values) - len(gone) + 1


def test_many_clients(host):
    program, port = require("memcached", "memcached"), free_port()
    as_root = ["-u", "root"] if os.geteuid() == 0 else []
    with host.running(program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "4", "-m", "512", *as_root):
        wait_until(lambda: answers(port), "memcached")
        with ThreadPoolExecutor(4) as pool:
            kept = sum(pool.map(lambda worker: exercise(port, worker), range(4)))
        with closing(Client(("127.0.0.1", port))) as client:
            assert client.get("shared") == b"800"
            assert client.stats()[b"curr_items"] == kept + 1
            assert client.stats()[b"evictions"] == 0
