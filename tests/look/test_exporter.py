"""hz3 exporter: statistics of several processes over HTTP."""

import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

from look_at import HZ3, WITH_OURS, refused, resting
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]


@contextmanager
def exporter(*pids):
    argv = [HZ3, "exporter", "--listen", "127.0.0.1:0", *map(str, pids)]
    with subprocess.Popen(argv, env=WITH_OURS, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.fullmatch(r"hz3: metrics at (http://127.0.0.1:\d+/metrics)\n", process.stderr.readline())[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=10)
    assert process.returncode == 130


def seen(url):
    request = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        families = parse(answer.read().decode())
    return {int(s.labels["pid"]) for family in families if family.name == "hz3_allocated_bytes" for s in family.samples}


def test_all_processes_on_hz3_or_those_named(preload):
    on_hz3 = {"env": preload.env}
    with resting(*RESTS, **on_hz3) as (one, _), resting(*RESTS, **on_hz3) as (two, _), resting(*RESTS) as (other, _):
        with exporter() as url:
            assert seen(url) >= {one.pid, two.pid} and other.pid not in seen(url)
            two.kill()
            two.wait()
            assert one.pid in seen(url) and two.pid not in seen(url)
        with exporter(one.pid, other.pid) as url:
            assert seen(url) == {one.pid}


def test_an_address_that_is_none_or_taken():
    assert refused("exporter", "--listen", "nowhere") == "hz3: --listen takes HOST:PORT, not 'nowhere'\n"
    assert refused("exporter", "--listen", "127.0.0.1:70000") == "hz3: --listen takes HOST:PORT, not '127.0.0.1:70000'\n"
    with exporter() as url:
        address = re.search(r"127.0.0.1:\d+", url)[0]
        assert refused("exporter", "--listen", address) == f"hz3: cannot listen on {address}: Address already in use\n"
