"""Debian's packages, the crate and the wheel are made, installed in an otherwise empty place, and used there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab import ROOT

BUILT = ROOT / "build/packages"
VERSION = ".".join(re.findall(r"^#define HZ3_VERSION_\w+ (\d+)$", (ROOT / "include/hz3.h").read_text(), re.M))
pytestmark = pytest.mark.timeout(900)


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def need(command, package):
    if not shutil.which(command):
        pytest.skip(f"needs {command}: Debian's package {package}")


def make(kind):
    run(ROOT / "packaging/build.sh", kind)
    return BUILT / kind


@pytest.fixture(scope="module")
def debs():
    need("dpkg-buildpackage", "build-essential")
    need("dh", "debhelper")
    return make("deb")


def test_the_packages_are_the_three(debs):
    names = {path.name.split("_")[0].removesuffix("-dbgsym") for path in debs.glob("*.deb")}
    assert names == {"libhz3", "libhz3-dev", "hz3-tools"}
    assert {path.name.split("_")[1] for path in debs.glob("*.deb")} == {VERSION}


def test_lintian_finds_no_error(debs):
    need("lintian", "lintian")
    (changes,) = debs.glob("*.changes")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
    assert not re.findall(r"^[EW]: .*", said, re.M)


def test_cleaning_spares_what_debian_did_not_build(debs):
    found = debs / "hz3/build/found"
    found.parent.mkdir(exist_ok=True)
    found.touch()
    assert (debs / "hz3/debian/build").is_dir()
    run("debian/rules", "clean", cwd=debs / "hz3")
    assert found.exists() and not (debs / "hz3/debian/build").exists()


IN_THE_ROOT = f"""
set -eux
dpkg -i /debs/libhz3_*.deb /debs/hz3-tools_*.deb
test "$(hz3 version)" = "hz3 {VERSION}"
for library in /usr/lib/*/libhz3*.so.0; do
    grep -q otel_memory $library # the probes of OpenTelemetry
    case $library in *-dlopen.so.0) ;; *) grep -q _vgw00000ZU_VgSoSynhz3_hz3_malloc $library ;; esac # what memcheck sees
done
for lane in scale fast memory secure; do
    hz3 run --lane $lane --stats -- ls /debs 2>&1 | grep "this process ran on hz3 {VERSION} ($lane)"
    hz3 options --lane $lane | grep ^HZ3_DECAY=
done
LD_PRELOAD=libhz3.so.0 HZ3_STATS=1 ls 2>&1 | grep "this process ran on hz3 {VERSION} (scale)"
hz3 record -o /debs/t -- ls /debs
hz3 run --lane fast -- /usr/lib/*/hz3/hz3-play /debs/t | grep "program=ls .* lane=fast "
test "$(hz3 stats 1 2>&1)" = "hz3: stats needs python3, which is not installed"
dpkg -r hz3-tools libhz3
! ls /usr/lib/*/libhz3* /usr/bin/hz3* /usr/share/hz3
"""
# What a verb lacks it gets by the command that it names, and no other.
WITH_PYTHON = """
set -eux
export DEBIAN_FRONTEND=noninteractive
echo 'APT::Get::Assume-Yes "yes";' >/etc/apt/apt.conf.d/yes
for deb in /debs/libhz3_*.deb /debs/hz3-tools_*.deb; do # which may ask for the C library of the release that built them
    dpkg-deb -x $deb /
done
trap 'kill $resting $exporter' EXIT
exporter=
HZ3_PROFILE=1 hz3 run -- python3 -c "import time; time.sleep(600)" & resting=$!
until hz3 profile $resting | grep -q "one in 1 B"; do sleep 0.1; done
lacks() { # PACKAGE PIP-PACKAGE VERB...
    package=$1 of=$2
    shift 2
    said=$("$@" 2>&1 | tee /dev/stderr) || :
    case $said in *" needs $of, which /usr/bin/python3 lacks: apt install $package") ;; *) exit 1 ;; esac
    ${said##*: }
}
hz3 stats --prom $resting | grep "^hz3_info{"
lacks python3-prometheus-client prometheus-client hz3 exporter --listen 9183
hz3 exporter --listen 9183 & exporter=$!
python3 - <<end
import time, urllib.request
for _ in range(100):
    try:
        text = urllib.request.urlopen("http://127.0.0.1:9183/metrics").read().decode()
        break
    except OSError:
        time.sleep(0.1)
assert 'hz3_allocated_bytes{pid="$resting",program="python3"} ' in text, text
end
lacks python3-protobuf protobuf hz3 profile $resting -o /of.pb.gz
hz3 profile $resting -o /of.pb.gz
hz3 profile $resting --base /of.pb.gz | grep " since /of.pb.gz; "
(sleep 3; echo q) | TERM=xterm script -qec "hz3 top $resting" /dev/null | grep "free bytes"
"""
# Debian 13's Redis calls jemalloc's own functions, too.
WITH_REDIS = """
set -eux
for deb in /debs/libhz3_*.deb /debs/hz3-tools_*.deb; do
    dpkg-deb -x $deb /
done
hz3 run --stats -- redis-server --port 7777 --save '' >/log 2>&1 &
for _ in $(seq 100); do ! redis-cli -p 7777 ping || break; sleep 0.1; done
redis-benchmark -p 7777 -t set,lpush -n 20000 -r 20000 -d 300 -P 20 -q
redis-cli -p 7777 eval "return 1" 0
redis-cli -p 7777 shutdown nosave
wait
grep "redis-server\\] this process ran on hz3" /log
"""
WITH_A_COMPILER = """
set -eux
dpkg -i /debs/libhz3_*.deb /debs/libhz3-dev_*.deb
for lane in scale fast memory secure; do
    cc -Wall -Werror /debs/main.c $(pkg-config --cflags --libs hz3$(test $lane = scale || echo -$lane)) -o /linked
    /linked | grep "lane=$lane "
done
dpkg -r libhz3-dev
! ls /usr/include/hz3* /usr/lib/*/pkgconfig/hz3*
/linked | grep "lane=secure " # what was built needs the libraries alone
"""


def in_a_clean_root(script, debs, tmp_path, *options, release=None):
    """Runs the script where the packages and nothing else but essential ones and the options' are, in this machine's
    release of Debian or another."""
    need("mmdebstrap", "mmdebstrap")
    folder = tmp_path / "debs"
    folder.mkdir()
    for deb in debs.glob("*.deb"):
        shutil.copy(deb, folder)
    (folder / "main.c").write_text("#include <hz3.h>\n#include <stdio.h>\nint main(void) { puts(hz3_config_string()); }\n")
    (folder / "test.sh").write_text(script)
    here = dict(re.findall(r"^(\w+)=(.*)$", Path("/etc/os-release").read_text(), re.M))
    run("mmdebstrap", "--variant=essential", "--format=null", *options, f"--customize-hook=copy-in {folder} /",
        "--customize-hook=chroot \"$1\" sh /debs/test.sh", release or here["VERSION_CODENAME"], "/dev/null")


def test_they_install_in_a_clean_root_and_serve_programs(debs, tmp_path):
    in_a_clean_root(IN_THE_ROOT, debs, tmp_path)


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_each_verb_names_what_it_lacks_and_runs_with_it(debs, tmp_path, release):
    in_a_clean_root(WITH_PYTHON, debs, tmp_path, "--include=apt,python3,binutils", release=release)


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_debian_s_redis_runs_on_it(debs, tmp_path, release):
    in_a_clean_root(WITH_REDIS, debs, tmp_path, "--include=redis-server,redis-tools", release=release)


def test_programs_are_built_where_the_development_package_is_installed(debs, tmp_path):
    in_a_clean_root(WITH_A_COMPILER, debs, tmp_path, "--include=gcc,libc6-dev,pkg-config")


@pytest.fixture(scope="module")
def cargo():
    need("cargo", "cargo-web")
    return {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "build/rust")}


def test_the_crate_keeps_its_promises(cargo):
    said = run("cargo", "test", "--locked", "--features", "allocator-api2", cwd=ROOT / "packaging/rust", env=cargo)
    assert re.findall(r"test result: ok. (\d+) passed; 0 failed; 0 ignored", said) == ["0", "10", "4", "1"]


def test_a_program_can_have_the_crate_from_its_package(cargo, tmp_path):
    crate = make("crate") / f"hz3-{VERSION}.crate"
    run("tar", "-xf", crate, "-C", tmp_path)
    run("cargo", "init", "--quiet", "--name", "user", tmp_path / "user")
    with open(tmp_path / "user/Cargo.toml", "a") as file:
        file.write(f'hz3 = {{ path = "../hz3-{VERSION}" }}\n')
    (tmp_path / "user/src/main.rs").write_text(
        "#[global_allocator]\nstatic GLOBAL: hz3::Hz3 = hz3::Hz3;\n"
        'fn main() { println!("{}", String::from(hz3::config().to_str().unwrap())); }\n')
    said = run("cargo", "run", "--quiet", cwd=tmp_path / "user", env=cargo | {"CARGO_TARGET_DIR": str(tmp_path / "target")})
    assert f"version={VERSION} lane=scale" in said


def test_the_wheel_runs_programs(tmp_path):
    (wheel,) = make("wheel").glob("*.whl")
    assert wheel.name.startswith(f"hz3-{VERSION}-py3-none-linux_")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel)
    hz3 = (python, "-m", "hz3")
    assert run(*hz3, "version", cwd=tmp_path) == f"hz3 {VERSION}\n"
    said = run(*hz3, "run", "--stats", "--", python, "-c", "print('a' * 3)", cwd=tmp_path)
    assert said.startswith("aaa\n") and f"this process ran on hz3 {VERSION} (scale)" in said
    run(*hz3, "record", "-o", tmp_path / "t", "--", "true", cwd=tmp_path)
    assert (tmp_path / "t").stat().st_size > 0
    assert "usage: hz3 explain " in run(*hz3, "explain", "--help", cwd=tmp_path)
    done = subprocess.run([*hz3, "exporter", "--listen", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.stderr == (f"hz3: exporter needs prometheus-client, which {python} lacks: "
                           f"{python} -m pip install prometheus-client\n")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "prometheus-client", "protobuf")
    with subprocess.Popen([*hz3, "exporter", "--listen", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as exporter:
        assert exporter.stderr.readline().startswith("hz3: metrics at http://127.0.0.1:")
        exporter.kill()
    run(*hz3, "run", "--profile", tmp_path / "p", "--", "true", cwd=tmp_path)
    assert "is written, for pprof" in run(*hz3, "profile", tmp_path / "p", "-o", tmp_path / "p.pb.gz", cwd=tmp_path)
    assert subprocess.run([*hz3, "run", "--", "false"], cwd=tmp_path).returncode == 1
    library = run(python, "-c", "import hz3; print(hz3.LIBRARY)", cwd=tmp_path).strip()
    assert "(scale)" in run("true", env={**os.environ, "LD_PRELOAD": library, "HZ3_STATS": "1"})
