"""hz3 record and the player of hz3 replay: the trace has exactly the calls that were made, and bad traces are
refused."""

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import trace_file
from trace_file import ALIGNED, CALLOC, FREE, MALLOC, MMAP, MUNMAP, REALLOC, Event
from tracing import HERE, HZ3, ROOT, build, play, preloading, record, words

END = trace_file.chunk(0, 0, b"")  # the last chunk of a trace


def refused(done):
    """The one line that gives the reason."""
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hz3: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def of_others(events):
    """How often, in the order of time, a free has no object, or a malloc's address is still live.  Either is an event
    of another thread that is recorded too late."""
    steps = []
    for event in events:
        if event.kind in (FREE, MUNMAP, REALLOC):
            steps.append((event.time - event.took, 0, event.old or event.address))
        if event.kind not in (FREE, MUNMAP):
            steps.append((event.time, 1, event.address))
    live, unknown = set(), 0
    for _, comes, address in sorted(steps):
        unknown += address in live if comes else address not in live
        (live.add if comes else live.discard)(address)
    return unknown


def test_every_call_is_recorded_with_its_size_and_alignment(calls, tmp_path):
    record(tmp_path / "t", calls, "each")
    events, ended = trace_file.read(tmp_path / "t")
    assert ended and len({event.thread for event in events}) == 1
    first = next(i for i, event in enumerate(events) if event.size == 1001)
    mine = events[first : first + 21]
    page = os.sysconf("SC_PAGESIZE").bit_length() - 1
    assert [(e.kind, e.size, e.align) for e in mine] == [
        (MALLOC, 1001, 0), (CALLOC, 3009, 0), (ALIGNED, 1152, 7), (ALIGNED, 1013, 8), (MALLOC, 2038, 0),
        (ALIGNED, 1021, page), (ALIGNED, 1031, 0), (ALIGNED, 1033, 6), (ALIGNED, 1007, 6), (REALLOC, 100003, 0),
        *[(FREE, 0, 0)] * 9,
        (MMAP, 3 << 16, 0), (MUNMAP, 3 << 16, 0),
    ]
    assert mine[9].old == mine[0].address
    came = [mine[i].address for i in (9, 1, 8, 2, 3, 4, 5, 6, 7)]
    assert [event.address for event in mine[10:19]] == came and mine[20].address == mine[19].address
    assert not [event for event in events if event.size == 5 << 16], "nothing can be written there"
    assert of_others(events) == 0


@pytest.mark.parametrize("under", [None, "hz3", "libjemalloc.so.2"])
def test_operators_of_cpp_are_calls_too(under, tmp_path):
    program = build(tmp_path / "operators", "g++", "-std=c++17", "-O0", HERE / "operators.cc")
    record(tmp_path / "t", program, env=preloading(under))
    events, _ = trace_file.read(tmp_path / "t")
    found = Counter((event.kind, event.size, event.align) for event in events)
    for of in ((MALLOC, 4001, 0), (ALIGNED, 128 * 17, 7), (MALLOC, 4003, 0)):
        assert found[of] == 1
    assert of_others(events) == 0


def test_nothing_of_threads_is_lost_and_objects_keep_their_order(calls, player, tmp_path):
    record(tmp_path / "t", calls, "threads")
    events, ended = trace_file.read(tmp_path / "t")
    assert ended and len({event.thread for event in events}) == 5
    sizes = Counter(event.size for event in events if event.kind == MALLOC)
    assert sum(sizes[100 + i] for i in range(100)) == 4 * 20000
    late = {event.address for event in events if event.size == 777}
    assert sizes[777] == 4 + 1 + 1, "each thread's, the last, and that of a destructor after the recorder's"
    assert of_others(events) == 0
    assert sum(event.kind == FREE and event.address in late for event in events) >= 6
    by = {event.address: event.thread for event in events if event.kind == MALLOC and 100 <= event.size < 200}
    passed = sum(event.kind == FREE and by.get(event.address, event.thread) != event.thread for event in events)
    assert passed > 3 * 20000
    facts = words(play(player, "--facts", tmp_path / "t"))
    assert (int(facts["events"]), int(facts["threads"])) == (len(events), 5)
    assert float(facts["event_bytes"]) <= 8
    assert float(facts["event_bytes"]) == pytest.approx((tmp_path / "t").stat().st_size / len(events), abs=0.01)


def test_what_realloc_frees_is_free_before_another_has_it(calls, tmp_path):
    record(tmp_path / "t", calls, "zero")
    events, _ = trace_file.read(tmp_path / "t")
    assert Counter(event.kind for event in events if event.size == 5000)[MALLOC] == 4 * 20000
    assert of_others(events) == 0


def test_a_constructor_may_wait_for_a_thread_that_maps(calls, tmp_path):
    code = "extern void wait_for_a_map(void); __attribute__((constructor)) static void wait(void) { wait_for_a_map(); }"
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", tmp_path / "l.so"], input=code, text=True, check=True)
    record(tmp_path / "t", calls, "load", tmp_path / "l.so", timeout=20)
    events, _ = trace_file.read(tmp_path / "t")
    assert [event.kind for event in events if event.size == 7 << 16] == [MMAP, MUNMAP]


def test_processes_have_traces_of_their_own(calls, tmp_path):
    record(tmp_path / "t", calls, "fork")
    of_parent, ended = trace_file.read(tmp_path / "t")
    assert ended and {3001, 3003} <= {event.size for event in of_parent} and 3002 not in {e.size for e in of_parent}
    others = [trace_file.read(path)[0] for path in tmp_path.glob("t.calls-*")]
    sizes = sorted({event.size for event in events} & {1001, 3001, 3002, 3003} for events in others)
    assert [found for found in sizes if found] in ([{3002}, {1001}], [{1001}, {3002}])


def test_what_was_written_before_a_signal_stays(calls, player, tmp_path):
    record(tmp_path / "t", calls, "killed", status=-9)
    events, ended = trace_file.read(tmp_path / "t")
    assert not ended and len(events) >= 2 * 20000 - 32768 / 3
    done = play(player, "--facts", tmp_path / "t")
    assert int(words(done)["events"]) == len(events) and "its end is missing" in done.stderr


@pytest.mark.parametrize("mode, why", [("limit", "File too large"), ("gone", "No such file")])
def test_a_trace_that_cannot_be_written_stops_nobody(calls, player, mode, why, tmp_path):
    done = record(tmp_path / "t", calls, mode, tmp_path / "t", said="hz3: record: cannot write ")
    assert done.stdout == "done\n" and done.stderr.count("\n") == 1 and why in done.stderr
    if mode == "limit":
        done = play(player, "--facts", tmp_path / "t")
        assert int(words(done)["events"]) > 10000 and "its end is missing" in done.stderr


def test_a_trace_that_cannot_be_written_stops_nobody_whose_errors_nobody_reads(calls, tmp_path):
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([HZ3, "record", "-o", tmp_path / "t", "--", calls, "gone", tmp_path / "t"], stdout=subprocess.PIPE,
                          stderr=writes, text=True)
    os.close(writes)
    assert (done.returncode, done.stdout) == (0, "done\n")


@pytest.mark.parametrize("arguments, why", [
    (["--", "true"], "which file"),
    (["-o", "/nowhere/t", "--", "true"], "cannot be written"),
    (["-o", "/tmp", "--", "true"], "is no file"),
    (["-o", "{tmp}/t"], "no program"),
    (["--lane", "fast", "-o", "{tmp}/t", "--", "true"], "unknown option"),
])
def test_what_cannot_be_recorded_is_not_started(arguments, why, tmp_path):
    done = subprocess.run([HZ3, "record", *(word.format(tmp=tmp_path) for word in arguments)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (125, "") and done.stderr.count("\n") == 1 and why in done.stderr


def test_a_folder_that_is_gone_has_no_trace(tmp_path):
    """It would be written into the root's folder."""
    (tmp_path / "gone").mkdir()
    argv = ["sh", "-c", 'rmdir ../gone && exec "$@"', "sh", HZ3, "record", "-o", "t", "--", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path / "gone")
    assert done.returncode == 125 and done.stderr.endswith("hz3: record: './t' cannot be written\n")


@pytest.mark.parametrize("under", ["", str(ROOT / "libhakozuna_hz3_scale.so")], ids=["libc", "scale"])
def test_a_replay_has_the_peak_of_the_program(calls, player, under, tmp_path):
    record(tmp_path / "t", calls, "grow", env={**os.environ, "LD_PRELOAD": under})
    figures = words(play(player, tmp_path / "t", env={"LD_PRELOAD": under}))
    assert Path(figures["alloc_path"].strip('"')).name == Path(figures["recorded_on"]).name
    for peak in ("recorded_peak", "peak_kib"):
        assert 93 << 10 < int(figures[peak]) < 105 << 10, "196608 blocks of 496 bytes, and at most 16 more for each"


def test_pauses_are_kept(player, tmp_path):
    events = [Event(0, 10**9, MALLOC, 64, 100), Event(0, 2 * 10**9, FREE, 64), Event(1, 15 * 10**8, MALLOC, 128, 100)]
    trace_file.write(tmp_path / "t", events)
    started = os.times().elapsed
    assert float(words(play(player, tmp_path / "t"))["span"]) == 1
    assert 0.9 < os.times().elapsed - started < 30


def test_a_free_waits_for_its_object(strict, tmp_path):
    """One thread allocates slowly, and the other frees its objects.  It also frees an address that was never
    allocated."""
    events = [Event(0, i * 1000, MALLOC, 4096 + 64 * i, 1 << 20) for i in range(500)]
    events += [Event(1, i * 1000 + 1, FREE, 4096 + 64 * i) for i in range(500)]
    events += [Event(1, 10**6, FREE, 64)]
    trace_file.write(tmp_path / "t", events)
    figures = words(play(strict, tmp_path / "t"))
    assert (int(figures["events"]), int(figures["objects"])) == (1001, 500)


def test_waiting_takes_little_cpu_time(player, tmp_path):
    """Sixteen threads wait 50 times for 10 ms, as what they free is allocated that much later by others, which slept."""
    events, ms = [], 10**6
    for thread, i in ((thread, i) for thread in range(0, 32, 2) for i in range(50)):
        time, address = 20 * i * ms, 64 * (1000 * thread + i + 1)
        events += [Event(thread, time + 98 * ms // 10, MALLOC, address, 100),
                   Event(thread + 1, time, MALLOC, 1 << 40 | address, 100),
                   Event(thread + 1, time + 99 * ms // 10, FREE, address)]
    trace_file.write(tmp_path / "t", events)
    assert float(words(play(player, tmp_path / "t"))["cpu_s"]) < 0.4


def test_a_realloc_in_one_thread_may_take_what_another_freed(strict, player, tmp_path):
    """The realloc takes 20 ns.  Its old object ends first, then the other thread frees the address that it returns."""
    trace_file.write(tmp_path / "t", [
        Event(0, 10, MALLOC, 64, 100), Event(1, 20, MALLOC, 128, 100), Event(1, 40, FREE, 128),
        Event(0, 50, REALLOC, 128, 200, old=64, took=20), Event(1, 60, MALLOC, 64, 300), Event(0, 70, FREE, 128),
        Event(1, 80, FREE, 64),
    ])
    assert int(words(play(strict, tmp_path / "t"))["objects"]) == 4


KINDS = [MALLOC, MALLOC, CALLOC, ALIGNED, REALLOC, FREE, FREE, FREE, MMAP, MUNMAP, MUNMAP]


def nonsense(dice):
    """Random calls on few addresses, such as frees of what is not live."""
    time, events = Counter(), []
    for _ in range(dice.randint(1, 400)):
        thread, kind = dice.randrange(3), dice.choice(KINDS)
        took = dice.randrange(50)
        time[thread] += took + dice.randrange(100)
        address, old = (64 * dice.randint(1, 9) for _ in range(2))
        size, align = dice.choice([0, 1, 100, 5000, 1 << 16]), dice.choice([0, 3, 6, 12])
        events.append(Event(thread, time[thread], kind, address, size if kind != FREE else 0,
                            align if kind == ALIGNED else 0, *((old, took) if kind == REALLOC else (0, 0))))
    return events


@pytest.mark.parametrize("seed", range(12))
def test_calls_without_sense_never_end_in_a_wrong_free(strict, seed, tmp_path):
    trace_file.write(tmp_path / "t", nonsense(random.Random(seed)))
    assert words(play(strict, tmp_path / "t"))


@pytest.fixture(scope="session")
def small(calls, tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "t"
    record(path, calls, "fork")
    return path.read_bytes()


def test_an_end_that_is_missing_is_said(small, strict, tmp_path):
    dice = random.Random(1)
    for at in [0, 100, 255, 256, 300, *(dice.randrange(len(small)) for _ in range(15))]:
        (tmp_path / "t").write_bytes(small[:at])
        done = play(strict, "--facts", tmp_path / "t")
        if done.returncode == 0:
            assert "its end is missing: read up to byte " in done.stderr
        else:
            assert re.search("no trace|nothing was recorded in it", done.stderr) and "ERROR" not in done.stderr


def test_damage_is_said_in_one_line(small, strict, tmp_path):
    dice = random.Random(2)
    for at in [0, 8, 16, 250, 256, 280, 290, *(dice.randrange(len(small) - len(END)) for _ in range(25))]:
        spoilt = bytearray(small)
        spoilt[at] ^= 1 << dice.randrange(8)
        (tmp_path / "t").write_bytes(spoilt)
        assert re.search("damaged|no trace|another version", refused(play(strict, "--facts", tmp_path / "t")))


def test_what_is_spoilt_to_the_end_is_a_missing_end(strict, tmp_path):
    chunks = trace_file.chunk(0, 1, b"\x08\2\2" * 20), trace_file.chunk(1, 1, b"\x08\2\2" * 10)
    two = trace_file.head() + b"".join(chunks)
    for good, bad, events in (
        (two, bytes(65536), 30), (two, os.urandom(500), 30), (two, END[:-1] + b"\1", 30),
        (two[: -len(chunks[1])], chunks[1][:-1] + b"\3", 20),
    ):
        (tmp_path / "t").write_bytes(good + bad)
        done = play(strict, "--facts", tmp_path / "t")
        assert int(words(done)["events"]) == events
        assert f"its end is missing: read up to byte {len(good)} of {len(good + bad)}\n" in done.stderr
        (tmp_path / "t").write_bytes(good + bad + END)
        assert f"damaged at byte {len(good)}" in refused(play(strict, "--facts", tmp_path / "t"))


def test_damage_that_sums_do_not_show_is_bounded(strict, tmp_path):
    dice = random.Random(3)
    for _ in range(25):
        own = dice.randbytes(dice.randint(1, 300))
        data = trace_file.head() + trace_file.chunk(dice.choice([0, 1, 65535, 65536]), dice.choice([0, 1 << 61, 1 << 62]), own)
        (tmp_path / "t").write_bytes(data + trace_file.chunk(0, 0, b""))
        done = play(strict, "--facts", tmp_path / "t")
        assert done.returncode == 0 or refused(done)


@pytest.mark.parametrize("data, why", [
    (b"", "no trace"), (b"#!/bin/sh\n" * 100, "no trace"), (trace_file.head(version=2), "another version"),
    (trace_file.head() + trace_file.chunk(0, 0, b""), "nothing was recorded"),
])
def test_what_is_no_trace_is_refused(data, why, player, tmp_path):
    (tmp_path / "t").write_bytes(data)
    assert why in refused(play(player, tmp_path / "t"))
    assert why in refused(play(player, "--facts", tmp_path / "t"))


@pytest.mark.parametrize("events, why", [
    ([Event(0, i, MALLOC, 64 * i, 1 << 46) for i in range(1, 9)], "more than this machine has"),
    ([Event(0, 0, MALLOC, 64, 1 << 47)], "make no sense"),
    ([Event(0, 0, ALIGNED, 64, 1, align=41)], "make no sense"),
    ([Event(0, 0, 7, 64, 1)], "make no sense"),
])
def test_what_no_program_did_is_refused(events, why, player, tmp_path):
    trace_file.write(tmp_path / "t", events)
    assert why in refused(play(player, tmp_path / "t"))


def test_an_empty_trace_names_the_one_that_was_meant(tmp_path):
    """A script that ends by exec leaves none; what it ran has a file of its own."""
    command = [HZ3, "replay", tmp_path / "t", "--only", "glibc"]
    (tmp_path / "t").write_bytes(trace_file.head() + trace_file.chunk(0, 0, b""))
    assert refused(subprocess.run(command, capture_output=True, text=True)).endswith(": nothing was recorded in it\n")
    for name, size in ("t.sed-7", 256), ("t.python3-4711", 9000), ("t.sh-8", 300), ("other-9", 99999):
        (tmp_path / name).write_bytes(bytes(size))
    said = refused(subprocess.run(command, capture_output=True, text=True))
    assert said.endswith(": nothing was recorded in it; of the programs that it started t.python3-4711 has most\n")


def test_replay_refuses_before_it_builds_and_ends_in_one_sentence(calls, tmp_path):
    name = f"of calls {os.getpid()}"
    (tmp_path / name).write_text("nothing")
    command = [HZ3, "replay", tmp_path / name, "--on", f"glibc,mine={ROOT / 'libhakozuna_hz3_scale.so'}", "--blocks", "2"]
    assert "no trace" in refused(subprocess.run(command, capture_output=True, text=True))
    record(tmp_path / name, calls, "grow")
    done = subprocess.run(command, capture_output=True, text=True)
    shutil.rmtree(ROOT / "build/compare" / f"replay-{name}")
    assert done.returncode == 0, done.stderr
    _, _, said = " ".join(done.stdout.split()).partition("recorded on ")
    assert re.match(r"libc.so.6: 9\d.\d MiB at the peak, .* replayed on glibc: 9\d.\d MiB \(\d.\d\dx\)", said)
    assert re.search(r"hz3: .*CPU time.*peak memory.*\(medians, 50 % intervals, 2 runs each\)$", said)
