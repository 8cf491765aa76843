import csv
import random

import pytest
import redis
from host import answers, free_port, require, wait_until

CASES = ["set", "get", "incr", "lpush", "rpop", "sadd", "hset", "zadd", "lrange_100", "mset"]


@pytest.fixture(scope="module")
def client(host):
    program, port = require("redis-server", "redis-server"), free_port()
    options = ["--port", str(port), "--save", "", "--enable-debug-command", "local", "--io-threads", "2"]
    with (
        host.running(program, "--bind", "127.0.0.1", *options),
        redis.Redis(port=port) as client,
    ):
        wait_until(lambda: answers(port), "redis-server")
        yield client


def fill(client):
    """Writes values of every type, from one byte to a megabyte.  Returns the plain strings."""
    dice = random.Random(1)
    strings = {b"s%d" % i: dice.randbytes(int(2 ** dice.uniform(0, 16))) for i in range(4000)}
    strings[b"big"] = dice.randbytes(1 << 20)
    with client.pipeline(transaction=False) as pipe:
        for key, value in strings.items():
            pipe.set(key, value)
        for i in range(4000):
            pipe.rpush(b"list%d" % (i % 7), dice.randbytes(i % 300))
            pipe.hset(b"hash%d" % (i % 50), b"f%d" % i, dice.randbytes(i % 200))
            pipe.zadd("zset", {b"m%d" % i: i * 7919 % 4001})
            pipe.xadd("stream", {"n": i})
        pipe.execute()
    return strings


def test_benchmark(host, client):
    program = require("redis-benchmark", "redis-tools")
    errors = client.info("errorstats")
    load = ["-n", "20000", "-c", "50", "-P", "8", "-d", "300", "-r", "10000", "--threads", "2", "-t", ",".join(CASES)]
    report = host.run(program, "-p", str(client.get_connection_kwargs()["port"]), "--csv", *load)
    rates = {row["test"].split()[0].lower(): float(row["rps"]) for row in csv.DictReader(report.decode().splitlines())}
    assert set(CASES) <= set(rates) and all(rates.values())
    assert client.info("errorstats") == errors


def test_answers(client):
    strings = fill(client)
    assert dict(zip(strings, client.mget(strings), strict=True)) == strings
    assert client.zrange("zset", 0, -1) == [b"m%d" % i for i in sorted(range(4000), key=lambda i: i * 7919 % 4001)]
    assert [int(entry[b"n"]) for _, entry in client.xrange("stream")] == list(range(4000))
    double = "local t = {} for i, v in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do t[i] = v .. v end return t"
    assert client.eval(double, 1, "list0") == [item * 2 for item in client.lrange("list0", 0, -1)]


def test_background_save(client):
    fill(client)
    digest = client.execute_command("DEBUG", "DIGEST")
    client.config_set("rdb-key-save-delay", 50)
    client.bgsave()
    client.unlink(*client.keys())  # while the child saves, a background thread frees the main thread's objects
    assert client.info("persistence")["rdb_bgsave_in_progress"] == 1
    wait_until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"], "BGSAVE")
    assert client.info("persistence")["rdb_last_bgsave_status"] == "ok"
    assert client.dbsize() == 0
    client.execute_command("DEBUG", "RELOAD", "NOSAVE")
    assert client.execute_command("DEBUG", "DIGEST") == digest
