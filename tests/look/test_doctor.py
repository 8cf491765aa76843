"""hz3 doctor: which library serves malloc, and what in the program or the machine keeps hz3 from working well."""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from look_at import WITH_OURS, hz3, refused, resting, said
from variants import variant

from look import LookError, doctor
from look.elf import GNU_HASH, HEADER
from look.layout import HEAD, MAGIC
from look.process import Process

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]
MAIN = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(\"there\"); fflush(stdout); getchar(); }\n"
ROOT = Path(__file__).resolve().parents[2]
OWN = "void *__libc_malloc(unsigned long);\nvoid *malloc(unsigned long n) { return __libc_malloc(n); }\n"


def lines(*arguments, **options):
    """{the text of a line: whether it is ok}"""
    found = [re.fullmatch(r"(ok  |look)  (.+)", line) for line in said("doctor", *arguments, **options).splitlines()]
    assert all(found)
    return {line[2]: line[1] == "ok  " for line in found}


def one(findings, pattern):
    (found,) = [(text, well) for text, well in findings.items() if re.search(pattern, text)]
    return found


def test_redis_on_hz3_has_a_second_allocator(redis, preload):
    text, well = one(lines(redis), "^malloc is served by")
    assert well and str(preload.library) in text and f"lane {preload.lane}" in text
    text, well = one(lines(redis), "libjemalloc")
    assert not well and "fragmentation" in text
    text, well = one(lines("redis-server"), "libjemalloc")
    assert not well and "is linked in" in text


def test_a_process_without_hz3():
    with resting(*RESTS) as (process, _):
        text, well = one(lines(process.pid), "^malloc is served by .*libc")
        assert not well and "hz3 run" in text


def test_a_process_with_another_allocator(program):
    other = program("libother.so", "-shared", "-fPIC", text=OWN)
    folder, _, name = other.rpartition("/")
    path = program("linked_to_other", "-Wl,--no-as-needed", f"-L{folder}", f"-l:{name}", f"-Wl,-rpath,{folder}", text=MAIN)
    with resting(path, env=WITH_OURS) as (process, _):
        text, well = one(lines(process.pid), "^malloc is served by .*libother")
        assert not well and "hz3 run" in text


def test_an_hz3_of_another_layout(tmp_path, preload):
    data = preload.library.read_bytes()
    at = data.index(MAGIC) + HEAD.size - 16  # of the version
    changed = tmp_path / "libhz3_changed.so"
    changed.write_bytes(data[:at] + b"\7\0\0\0" + data[at + 4 :])
    with resting(*RESTS, env={**os.environ, "LD_PRELOAD": str(changed)}) as (process, _):
        text, well = one(lines(process.pid), "^malloc is served by .*libhz3_changed")
        assert not well and text.endswith("whose layout is 7: this hz3 reads 2") and "comes before" not in text


@pytest.mark.parametrize("how, where", [("LD_PRELOAD", "folder/liblink.so"), ("LD_LIBRARY_PATH", "folder")])
def test_hz3_is_known_by_its_links(program, preload, tmp_path, how, where):
    dynamic = subprocess.run(["readelf", "-d", preload.library], capture_output=True, text=True, check=True).stdout
    for link in "liblink.so", re.search(r"SONAME.*\[(.*)\]", dynamic)[1]:
        (tmp_path / link).symlink_to(preload.library)
    (tmp_path / "folder").symlink_to(tmp_path)
    linked = how == "LD_LIBRARY_PATH"
    path = program("linked", *["-Wl,--no-as-needed", preload.library] * linked, text=MAIN)
    at = {"cwd": tmp_path, "env": {**WITH_OURS, how: where}}
    with resting(path, **at) as (process, _):
        found = [lines(process.pid)]
    text, well = one(found[0], "^malloc is served by")
    assert well and where in text and f"lane {preload.lane})" in text
    if linked:
        found.append(lines(path, **at))
        text, well = one(found[1], "is linked with hz3")
        assert well and where in text and f"lane {preload.lane} " in text
    assert not any("an allocator too" in text or "hz3 can serve" in text for findings in found for text in findings)


def test_a_program_that_calls_hz3_by_its_names(program):
    """As Rust programs with the crate do, whose hz3 has no standard names."""
    library = variant("scale").library
    text = "void *hz3_malloc(unsigned long);\n" + MAIN.replace("puts", "hz3_malloc(9), puts")
    path = program("by_name", library, f"-Wl,-rpath,{library.parent}", text=text)
    with resting(path, env=WITH_OURS) as (process, _):
        found = lines(process.pid)
    assert one(found, "^what calls hz3 by its names, as the Rust crate does, is served by hz3 .*, lane scale$")[1]
    text, well = one(found, "^malloc is served by .*libc")
    assert well and "hz3 run" in text
    assert one(lines(path), "^hz3 can serve ")[1]


def test_a_program_that_has_hz3_in_it_by_its_names_alone(program, tmp_path):
    path = shutil.copy(program("plain", text=MAIN), tmp_path / "crate")
    with open(path, "ab") as file:
        file.write(MAGIC + b"hz3-config: version=9.8.7 lane=scale\0")
    found = lines(path)
    assert one(found, r"/crate has hz3 9\.8\.7, lane scale, for what calls it by its names, as the Rust crate does$")[1]
    assert one(found, "^hz3 can serve ")[1] and not any("is linked with" in text for text in found)


def test_a_program_that_takes_it():
    _, well = one(lines("sort"), "^hz3 can serve .*/sort")
    assert well


def test_auditors_take_the_room_of_thread_local_storage():
    audited, room = {"LD_AUDIT": "/none.so"}, {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=4096"}
    for env, well in (({}, True), (audited, False), (audited | room, True)):
        with resting(*RESTS, env={**os.environ, **env}) as (process, _):
            text, found = one(lines(process.pid), "thread-local storage")
            assert found == well and ("optional_static_tls" in text) != well


def test_a_static_program(program):
    path = program("fixed", "-static", text=MAIN)
    with resting(path, env=WITH_OURS) as (process, _):
        for findings in lines(path), lines(process.pid):
            assert not one(findings, "linked statically: nothing can be preloaded")[1]
            assert not any("thread-local storage" in text for text in findings)
    assert hz3("run", "--", path).stderr == f"hz3: {one(lines(path), 'linked statically')[0]}\n"


def test_a_static_program_with_hz3(program, tmp_path):
    """As far as its file shows it: hz3's two texts stand in it."""
    path = shutil.copy(program("fixed", "-static", text=MAIN), tmp_path / "ours")
    with open(path, "ab") as file:
        file.write(MAGIC + b"hz3-config: version=9.8.7 lane=fast\0")
    assert one(lines(path), r"/ours is linked with hz3 9\.8\.7, lane fast$")[1]


def test_a_program_with_its_own_malloc(program, preload):
    path = program("own", "-rdynamic", text=OWN + MAIN)
    assert not one(lines(path), "brings its own malloc")[1]
    with resting(path, env=preload.env) as (process, _):
        text, well = one(lines(process.pid), "^malloc is served by")
        assert not well and path in text and "that is the program itself" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user's set-id")
def test_a_program_that_gains_rights(program, tmp_path):
    path = shutil.copy(program("plain", text=MAIN), tmp_path / "gains")
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    found = lines(path)
    assert not one(found, "gains rights when it starts")[1] and not any("hz3 can serve" in text for text in found)


def compile_by(compiler, folder):
    """Makes the program `m` in the folder."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = folder / "m.c"
    source.write_text(MAIN)
    os.spawnlp(os.P_WAIT, compiler, compiler, str(source), "-o", str(folder / "m"))


def test_a_program_on_musl(tmp_path, monkeypatch):
    compile_by("musl-gcc", tmp_path)
    text, well = one(lines(tmp_path / "m"), "runs on musl")
    assert not well
    assert hz3("run", "--", tmp_path / "m").stderr == f"hz3: {text}\n", "one probe for both"
    with resting(tmp_path / "m") as (process, _):
        assert not one(lines(process.pid), "it runs on musl")[1]
        with Process(process.pid) as read:
            served = next(of for of in read.maps if of.name.endswith("/libc.so"))  # by what stands in for a library of hz3's
            layout = SimpleNamespace(version="9", lane="scale", file=(served.device, served.inode))
            monkeypatch.setattr(doctor, "find", lambda _: layout)
            assert all(finding.ok for finding in doctor._served(read))
            monkeypatch.undo()
            monkeypatch.setattr(doctor.platform, "libc_ver", lambda: ("", ""))  # what Python says on musl
            unserved = doctor._served(read)
            assert not unserved[0].ok and not [finding for finding in unserved if "runs on musl" in finding.what]
    monkeypatch.setattr(doctor, "_libraries", lambda _: [served.name])  # what ldd would say there
    assert doctor.of_program(str(tmp_path / "m"))[0] == doctor.Finding(True, f"hz3 can serve {tmp_path}/m",
                                                                      f"hz3 run -- {tmp_path}/m")


def test_a_program_of_another_processor(tmp_path):
    compile_by("aarch64-linux-gnu-gcc", tmp_path)
    text, well = one(lines(tmp_path / "m"), "is not loaded by this machine's loader")
    assert not well and hz3("run", "--", tmp_path / "m").stderr == f"hz3: {text}\n"


def test_a_script_is_its_interpreter_s(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n:\n")
    assert one(lines(script), "^hz3 can serve /bin/sh")[1]


def test_a_sandbox(program):
    text = ("#include <linux/seccomp.h>\n#include <stdio.h>\n#include <sys/prctl.h>\n#include <unistd.h>\n"
            "int main(void) { char c; prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);\n"
            "write(1, \"there\\n\", 6); read(0, &c, 1); }\n")
    with resting(program("locked", "-Wno-unused-result", text=text)) as (process, _):
        assert not one(lines(process.pid), "^it is in a seccomp sandbox")[1]
    with resting(*RESTS) as (process, _):
        assert one(lines(process.pid), "^it is in no seccomp sandbox")[1]


@pytest.mark.parametrize("files, words, well", [
    ({"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, "of everything: .*HZ3_THP=never", False),
    ({"/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}, "on request$", True),
    ({}, "huge pages are made never$", True),
    ({"/proc/sys/vm/overcommit_memory": "2\n"}, "never overcommitted: ", False),
    ({"/proc/sys/vm/overcommit_memory": "0\n"}, "memory is overcommitted$", True),
])
def test_the_machine(monkeypatch, files, words, well):
    monkeypatch.setattr(doctor, "_text", lambda path: files.get(path, ""))
    (finding,) = [f for f in doctor.machine() if re.search(words, str(f))]
    assert finding.ok is well


def test_mappings_that_run_out(monkeypatch):
    monkeypatch.setattr(doctor, "_text", lambda _: "1000\n")
    assert not doctor.mappings(300).ok and "max_map_count" in str(doctor.mappings(300))
    assert doctor.mappings(200).ok


@pytest.mark.parametrize("used, well", [(950, False), (100, True)])
def test_the_group_with_least_room_counts(monkeypatch, used, well):
    files = {"/sys/fs/cgroup/a/memory.max": f"{1 << 30}\n", "/sys/fs/cgroup/a/memory.current": f"{used << 20}\n",
             "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/b/memory.current": f"{used << 19}\n"}
    monkeypatch.setattr(doctor, "_text", lambda path: files.get(path, ""))
    finding = doctor.group("0::/a/b\n")
    assert finding.ok is well and f"{(1024 - used)}.0 MiB left of 1.0 GiB" in str(finding)
    assert doctor.group("0::/\n") == doctor.Finding(True, "no control group limits its memory")


@pytest.mark.parametrize("line", ["4:memory:/a\n0::/a\n", "4:cpu,memory:/gone/a\n"])
def test_a_group_of_version_1_counts_too(monkeypatch, line):
    files = {"/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{64 << 20}\n",
             "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{60 << 20}\n",
             "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
             "/sys/fs/cgroup/memory/a/memory.usage_in_bytes": "4096\n"}
    monkeypatch.setattr(doctor, "_text", lambda path: files.get(path, ""))
    finding = doctor.group(line)
    assert not finding.ok and "4.0 MiB left of 64.0 MiB" in str(finding)


def test_what_is_only_cached_leaves_room(monkeypatch):
    files = {"/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{64 << 20}\n",
             "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{60 << 20}\n",
             "/sys/fs/cgroup/memory/memory.stat": f"cache 1\nrss 2\ntotal_rss {20 << 20}\ntotal_shmem {4 << 20}\n",
             "/sys/fs/cgroup/a/memory.max": f"{1 << 30}\n",
             "/sys/fs/cgroup/a/memory.stat": f"anon {1 << 20}\nfile 3\nkernel {20 << 20}\nshmem {4 << 20}\n"
                                             f"slab_reclaimable {18 << 20}\n"}
    monkeypatch.setattr(doctor, "_text", lambda path: files.get(path, ""))
    assert "40.0 MiB left of 64.0 MiB" in str(doctor.group("4:memory:/\n0::/a\n"))
    assert "1017.0 MiB left of 1.0 GiB" in str(doctor.group("0::/a\n"))


def test_the_library_reads_the_same_files():
    source = (ROOT / "src/os/cgroup.c").read_text()
    table = re.search(r"hierarchies\[\] = \{\n(.*?)\n\};", source, re.S)[1]
    rows = [re.findall(r"\{([^{}]*)\}|\"([^\"]*)\"", row) for row in re.findall(r"^    \{(.*)\},$", table, re.M)]
    words = [[tuple(re.findall(r'"([^"]*)"', listed)) if listed else word for listed, word in row] for row in rows]
    assert [doctor.Hierarchy(*row) for row in words] == list(doctor.HIERARCHIES)


def test_the_library_and_doctor_agree_on_a_group(preload, tmp_path):
    group = Path(f"/sys/fs/cgroup/memory/hz3-doctor-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no group of version 1 can be made here: {error.strerror}")
    try:
        (group / "memory.limit_in_bytes").write_text(str(200 << 20))
        script = f"echo $$ >{group}/cgroup.procs; exec sleep 60"
        env = {**preload.env, "HZ3_VERBOSE": "1"}
        process = subprocess.Popen(["/bin/sh", "-c", script], env=env, stderr=subprocess.PIPE, text=True)
        limits = (line for line in iter(process.stderr.readline, "") if "HZ3_SOFT_LIMIT" in line)
        next(limits)  # of the shell, when it was still outside
        soft = next(limits)
        found = str(doctor.group(Path(f"/proc/{process.pid}/cgroup").read_text()))
        process.kill()
        process.wait()
        assert f"HZ3_SOFT_LIMIT=auto = {(200 << 20) // 10 * 9} (default)" in soft and " left of 200.0 MiB" in found
    finally:
        group.rmdir()


def test_what_there_is_not(tmp_path):
    assert refused("doctor", "4194305") == "hz3: there is no process 4194305\n"
    assert refused("doctor", "no-such") == "hz3: there is no process and no program no-such\n"
    assert refused("doctor", "/etc/passwd") == "hz3: /etc/passwd is not a program of 64-bit Linux\n"
    (tmp_path / "cut").write_bytes(b"\x7fELF\x02" + bytes(20))
    assert refused("doctor", tmp_path / "cut") == f"hz3: {tmp_path}/cut is not a program of 64-bit Linux\n"


def test_an_odd_file_is_no_traceback(tmp_path):
    """A dynamic section whose table of hashes names malloc, without symbols; and a version that is no text."""
    wanted = 5381
    for byte in b"malloc":
        wanted = (wanted * 33 + byte) & 0xFFFFFFFF
    hashes = struct.pack("<IIIIQII", 1, 1, 1, 0, 0, 1, wanted | 1)
    dynamic = struct.pack("<QQQQ", GNU_HASH, 0x200, 0, 0)
    segments = [(1, 4, 0, 0, 0, 0x300, 0x300, 1), (2, 4, 0x100, 0x100, 0, 32, 32, 1)]
    image = bytearray(0x300)
    image[:16] = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    image[16:64] = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    image[64:64 + 112] = b"".join(HEADER.pack(*segment) for segment in segments)
    image[0x100:0x120], image[0x200:0x200 + len(hashes)] = dynamic, hashes
    odd = tmp_path / "odd"
    odd.write_bytes(image)
    odd.chmod(0o755)
    assert "Traceback" not in hz3("doctor", odd).stderr
    odd.write_bytes(image + MAGIC + b"hz3-config: version=\xff lane=x\0")
    assert "Traceback" not in hz3("doctor", odd).stderr


def test_without_ldd(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LookError, match="ldd"):
        doctor.of_program("/bin/sh")


def test_a_name_cannot_write_on_the_terminal(tmp_path):
    wild = tmp_path / "a\x1b[31m"
    shutil.copy(shutil.which("true"), wild)
    assert one(lines(wild), r"^hz3 can serve .*/a\\x1b\[31m")[1]
