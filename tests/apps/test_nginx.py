import gzip
import os
import random
import signal
import urllib.request

import pytest
from host import answers, children, free_port, require, wait_until

FILES = 24
CONFIG = """
daemon off;
%(user)s
worker_processes 2;
pid pid;
error_log error.log;
events { worker_connections 512; }
http {
    access_log access.log;
    client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    gzip on; gzip_types *; gzip_min_length 100;
    server {
        listen 127.0.0.1:%(port)d;
        root www;
        location / { add_header X-File $uri; }
        location /again/ { proxy_pass http://127.0.0.1:%(port)d/; proxy_buffers 4 4k; }
    }
}
"""
# Each thread of wrk has its own Lua state.  done() adds them up and prints the numbers of right and wrong answers.
WRK_SCRIPT = """
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args)
    right, wrong, asked, files, bodies = 0, 0, 0, tonumber(args[2]), {}
    for i = 0, files - 1 do bodies['/f' .. i] = io.open(args[1] .. '/f' .. i, 'rb'):read('*a') end
end
function request()
    asked = asked + 1
    return wrk.format('GET', (asked % 5 == 0 and '/again' or '') .. '/f' .. asked % files)
end
function response(status, headers, body)
    if status == 200 and body == bodies[headers['X-File']] then right = right + 1 else wrong = wrong + 1 end
end
function done(summary)
    local right, wrong, errors = 0, 0, summary.errors
    for _, thread in ipairs(threads) do right, wrong = right + thread:get('right'), wrong + thread:get('wrong') end
    print('sum', right, wrong, errors.connect + errors.read + errors.write + errors.status + errors.timeout)
end
"""


@pytest.fixture(scope="module")
def files(host):
    dice = random.Random(2)
    (host.folder / "www").mkdir()
    bodies = {f"f{i}": bytes(dice.choices(b"abcdefgh \n", k=1 << i * 18 // FILES)) for i in range(FILES)}
    for name, body in bodies.items():
        (host.folder / "www" / name).write_bytes(body)
    return bodies


@pytest.fixture(scope="module")
def nginx(host, files):
    """The running master process, which listens on host.port."""
    program, host.port = require("nginx", "nginx-light"), free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    (host.folder / "nginx.conf").write_text(CONFIG % {"port": host.port, "user": user})
    arguments = ["-p", f"{host.folder}/", "-e", "error.log", "-c", "nginx.conf"]
    with host.running(program, *arguments, end=signal.SIGQUIT) as master:
        wait_until(lambda: answers(host.port), "nginx")
        yield master
    assert b"hz3:" not in (host.folder / "error.log").read_bytes()


def fetch(host, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{host.port}/{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        body = answer.read()
        return gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body


def test_bodies(host, nginx, files):
    for name, body in files.items():
        for path in (name, f"again/{name}"):
            assert fetch(host, path) == body
            assert fetch(host, path, **{"Accept-Encoding": "gzip"}) == body
    tail = files[f"f{FILES - 1}"][-1000:]
    assert fetch(host, f"f{FILES - 1}", Range="bytes=-1000") == tail


def test_reload_gives_new_workers(host, nginx):
    old = set(children(nginx.pid))
    nginx.send_signal(signal.SIGHUP)
    wait_until(lambda: old.isdisjoint(children(nginx.pid)) and len(children(nginx.pid)) == 2, "reload")
    for worker in children(nginx.pid):
        host.assert_on_hz3(worker)


def test_load(host, nginx):
    wrk = require("wrk", "wrk")
    (host.folder / "check.lua").write_text(WRK_SCRIPT)
    url = f"http://127.0.0.1:{host.port}/"
    report = host.run(wrk, "-t2", "-c32", "-d3s", "-s", "check.lua", url, "--", str(host.folder / "www"), str(FILES))
    right, wrong, errors = map(int, report.rpartition(b"sum")[2].split())
    assert (wrong, errors) == (0, 0)
    assert right > 1000
