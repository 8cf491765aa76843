"""hz3 exporter: statistics of several processes over HTTP; and what Prometheus and node_exporter make of them."""

import json
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import contextmanager

from host import free_port, require, wait_until
from look_at import HZ3, ROOT, WITH_OURS, refused, resting, said
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from look import prometheus

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]


@contextmanager
def exporter(*pids, wrote=None):
    """wrote: takes what it wrote to stderr after its first line."""
    argv = [HZ3, "exporter", "--listen", "127.0.0.1:0", *map(str, pids)]
    with subprocess.Popen(argv, env=WITH_OURS, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.fullmatch(r"hz3: metrics at (http://127.0.0.1:\d+/metrics)\n", process.stderr.readline())[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        if wrote is not None:
            wrote.append(process.stderr.read())
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


def test_named_processes_are_there_at_its_start_and_count_once(preload):
    with resting(*RESTS, env=preload.env) as (process, _), exporter(process.pid, process.pid) as url, \
            urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.read().count(b"\nhz3_allocated_bytes{") == 1
    assert "no process" in refused("exporter", "--listen", "0", process.pid)


def test_who_leaves_before_the_answer_is_no_error(preload):
    wrote = []
    with resting(*RESTS, env=preload.env) as (process, _), exporter(wrote=wrote) as url:
        for _ in range(5):
            client = socket.create_connection(("127.0.0.1", urllib.parse.urlparse(url).port))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close resets the connection
            client.close()
        assert process.pid in seen(url)
    assert wrote == [""]


def test_an_address_that_is_none_or_taken():
    assert refused("exporter", "--listen", "nowhere") == "hz3: --listen takes HOST:PORT, not 'nowhere'\n"
    assert refused("exporter", "--listen", "127.0.0.1:70000") == "hz3: --listen takes HOST:PORT, not '127.0.0.1:70000'\n"
    assert refused("exporter", "--listen", "a..b:1") == "hz3: --listen takes HOST:PORT, not 'a..b:1'\n"
    with exporter() as url:
        address = re.search(r"127.0.0.1:\d+", url)[0]
        assert refused("exporter", "--listen", address) == f"hz3: cannot listen on {address}: Address already in use\n"


def test_no_name_is_looked_up_before_it_serves(monkeypatch):
    def waits(*_):
        raise AssertionError("DNS may not answer")

    monkeypatch.setattr(socket, "getfqdn", waits)
    prometheus.server("127.0.0.1:0", list).server_close()


def fetched(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read().decode()
    except OSError:
        return ""


@contextmanager
def server(tmp_path, command, *arguments):
    """Yields the address at which it listens."""
    address = f"127.0.0.1:{free_port()}"
    argv = [require(command, command), f"--web.listen-address={address}", "--log.level=error", *arguments]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://{address}"
        finally:
            process.kill()


def indented(page, after):
    """The code of the page that comes next after these words."""
    return re.search(r"\n\n((?: {4}.*\n|\n(?= {4}))+)", page.partition(after)[2])[1].replace("\n    ", "\n")[4:]


def test_each_expression_of_the_page_gives_what_it_says(preload, program, tmp_path):
    page = (ROOT / "docs/use/prometheus.md").read_text()
    share, purged = indented(page, "Two expressions to begin with").splitlines()
    with resting(program("rests"), env=preload.env) as (process, _), exporter(process.pid) as url:
        config = indented(page, "In `prometheus.yml`").replace("localhost:9183", url.split("/")[2])
        (tmp_path / "prometheus.yml").write_text(f"global: {{ scrape_interval: 500ms }}\n{config}")
        with server(tmp_path, "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data") as prometheus:
            def values(expression):
                answer = fetched(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
                found = json.loads(answer)["data"]["result"] if answer else []
                return {row["metric"]["program"]: float(row["value"][1]) for row in found}

            wait_until(lambda: values(purged), "a second scrape")
            assert values(purged) == {"rests": 0}
            assert values(share).keys() == {"rests"} and 0 < values(share)["rests"] < 1


def test_node_exporter_takes_a_file_of_a_process(preload, tmp_path):
    with resting(*RESTS, env=preload.env) as (process, _):
        (tmp_path / "hz3.prom").write_text(said("stats", "--prom", process.pid))
    chosen = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={tmp_path}")
    with server(tmp_path, "prometheus-node-exporter", *chosen) as node_exporter:
        wait_until(lambda: fetched(f"{node_exporter}/metrics"), "node_exporter")
        text = fetched(f"{node_exporter}/metrics")
    assert "\nnode_textfile_scrape_error 0\n" in text
    assert re.search(rf'^hz3_allocated_bytes{{pid="{process.pid}",program="python\S*"}} [\d.e+]+$', text, re.M)
    assert re.search(r"^hz3_purged_bytes_total{.*} [\d.e+]+$", text, re.M)
