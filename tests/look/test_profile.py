"""Heap profiles name the right function with the right bytes, and which thread frees which thread's objects.  They come
from files and from running processes, and other tools can read them."""

import gzip
import os
import re
import resource
import select
import shutil
import subprocess
import sys
from collections import Counter
from html import unescape

import pytest
from host import wait_until
from look_at import ROOT, WITH_OURS, hz3, refused, resting, said

from look import elf, symbols

LEAKED, MOVED = 400 * 500000, 1024 * 400 * 1000  # bytes, as leak.c has them
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
PPROF = "github.com/google/pprof@v0.0.0-20260709232956-b9395ee17fa0"


def size(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


def stacks(text):
    """(live, allocated, calls) of each stack, as they are written."""
    found = re.findall(r"^ *([+-]?[\d.]+ \w+) +([+-]?[\d.]+ \w+)  (.+(?:\n +< .+)*)", text, re.M)
    return [(live, allocated, re.split(r"\n +< ", calls)) for live, allocated, calls in found]


def rows(text):
    """(live, allocated, names of functions) of each stack."""
    return [(size(live), size(allocated), [call.split(" at ")[0] for call in calls])
            for live, allocated, calls in stacks(text)]


@pytest.fixture(scope="module")
def table(preload, program, tmp_path_factory):
    target = tmp_path_factory.mktemp("profile") / "of.profile"
    said("run", "--lane", preload.lane, "--profile", target, "--", program("leak"), env={**WITH_OURS, "HZ3_PROFILE": "32K"})
    return target


def test_what_leaks_is_named_with_its_bytes(table):
    live, allocated, calls = rows(said("profile", table))[0]
    assert calls[0] == "leaks" and "main" in calls
    assert live == pytest.approx(LEAKED, rel=0.05)
    assert allocated == pytest.approx(LEAKED, rel=0.05)
    others = {row[2][0]: row for row in rows(said("profile", table))[1:]}
    assert others["leaks_nothing"][0] == others["make"][0] == 0
    assert others["make"][1] == pytest.approx(MOVED, rel=0.05)


def test_flows_go_from_those_who_allocate_to_those_who_free(table):
    first, *lines = said("flows", table).splitlines()
    found = {line.split("  ")[-1].strip(): line.split()[:2] for line in lines[1:] if " -> " in line}
    assert size(" ".join(found["maker -> taker"])) == pytest.approx(MOVED, rel=0.05)
    assert "leak -> leak" in found and len(found) == 2
    assert 0 < int(re.search(r"(\d+)% by the thread that allocated it", first)[1]) < 70


def test_the_heatmap_has_a_row_for_who_allocates_and_a_column_for_who_frees(table, tmp_path):
    lines = said("flows", table).splitlines()
    rows = dict(re.findall(r"^ *(\S+) \|(.*)\|$", "\n".join(lines), re.MULTILINE))
    assert set(rows) == {"leak", "maker", "taker"}
    to_taker = 2 * list(rows).index("taker")
    assert rows["maker"][to_taker] != " " and rows["taker"].strip() == ""
    said("flows", table, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    moved, unit, share = next(line.split()[:3] for line in lines if line.endswith("maker -> taker"))
    assert f">{moved} {unit}<small>{share}</small></td>" in page
    (row,) = re.findall(r"<tr><td>maker</td><td>taker</td>(.*?)</tr>", page)
    cells = re.findall(r"<td>(.*?)</td>", row)
    assert cells[:2] == [f"{moved} {unit}", share] and re.fullmatch(r"< \d+ ms", unescape(cells[4]))
    assert unescape(cells[5]) == "<=1K 100%"
    assert ">freed by</th>" in page and ">allocated by</th>" in page and "title=" not in page
    assert refused("flows", table, "--html", tmp_path / "none/page.html").endswith("No such file or directory\n")


def test_threads_of_one_name_are_told_apart(preload, tmp_path):
    """As a user sees it: what producers allocate the consumers free."""
    words = ("--lane", preload.lane, "--profile", tmp_path / "p", "--", ROOT / "out/bench_prodcons", 2, 2, 40000, 16, 2000)
    said("run", *words, env={**WITH_OURS, "HZ3_PROFILE": "16K"})
    row = r"^ *[\d.]+ \w+ +([\d.]+)% +\d+ .+ <=\d+K? \d+%.*  (bench_prodcons#\d+) -> (bench_prodcons#\d+)$"
    flows = re.findall(row, said("flows", tmp_path / "p"), re.MULTILINE)
    allocate, free = Counter(), Counter()
    for share, by, to in flows:
        allocate[by] += float(share)
        free[to] += float(share)
    producers, consumers = ({name for name, _ in shares.most_common(2)} for shares in (allocate, free))
    assert len(producers) == len(consumers) == 2 and not producers & consumers
    assert sum(float(share) for share, by, to in flows if by in producers and to in consumers) >= 95


def test_a_list_of_many_flows_has_an_end(tmp_path):
    lines = said("flows", flowing(tmp_path, *((f"t{i}", "to", 40 - i) for i in range(30)))).splitlines()
    assert sum(" -> " in line for line in lines) == 21  # and the heads
    assert any(re.fullmatch(r" *155\.0 KiB +20\.3% +155  10 more", line) for line in lines)


def flowing(tmp_path, *flows):
    """Writes a profile with these flows: (allocating thread, freeing thread, objects of 1 KiB)."""
    names = sorted({name for flow in flows for name in flow[:2]})
    threads = [f"thread {i} {i} {name}" for i, name in enumerate(names, 2)]
    freed = [f"freed {count} 1 1024 {names.index(by) + 2} {names.index(to) + 2} 0" for by, to, count in flows]
    path = tmp_path / "flowing"
    head = ["hz3 heap profile 1", "rate 1", "pid 1", "program x"]
    path.write_text("\n".join([*head, *threads, "stack 1 0x1", *freed, "maps", ""]))
    return path


@pytest.mark.parametrize("flows, told", [
    ([("a", "a", 99), ("a", "b", 1)], "Threads free what they allocated."),
    ([("a", "c", 30), ("b", "c", 15), ("a", "a", 55)], "Most memory that others free goes one way"),
    ([("a", "b", 50), ("b", "a", 50)], "in both directions"),
], ids=["own", "one_way", "both_ways"])
def test_flows_say_which_lane_suits(tmp_path, flows, told):
    advice = said("flows", flowing(tmp_path, *flows)).splitlines()[-1]
    assert told in advice
    assert ("HZ3_TRANSFER_CACHE=64K costs no time" in advice) == (told == "Threads free what they allocated.")
    assert ("Leave HZ3_TRANSFER_CACHE at 1M or more" in advice) == (told != "Threads free what they allocated.")


@pytest.mark.parametrize("bench, flows", [
    (("bench_handover", "sleep", 8, 1000), True),
    (("bench_random_mixed_mt_remote", 4, 20000, 1000, 16, 2000, 0), False),
], ids=["one_way", "own"])
def test_the_option_that_flows_names_acts_where_memory_flows(bench, flows):
    def retired(**options):
        env = {**WITH_OURS, **options, "LD_PRELOAD": str(ROOT / "libhakozuna_hz3_scale.so"), "HZ3_STATS": "1"}
        done = subprocess.run([ROOT / "out" / bench[0], *map(str, bench[1:])], env=env, capture_output=True, text=True)
        return int(re.search(r" retired=(\d+)", done.stderr)[1])

    few, many = retired(), retired(HZ3_TRANSFER_CACHE="64K")
    assert many > 3 * max(few, 30) if flows else many < 2 * few


def test_a_heatmap_of_many_threads_has_a_rest(tmp_path):
    path = flowing(tmp_path, *((f"t{i}", f"t{i}", 40 - i) for i in range(40)))
    rows = re.findall(r"^ *(\S+) \|.*\|$", said("flows", path), re.MULTILINE)
    assert rows == [*(f"t{i}" for i in range(11)), "(rest)"]


def test_a_page_needs_jinja2(tmp_path):
    done = subprocess.run([sys.executable, "-S", ROOT / "look", "flows", flowing(tmp_path, ("a", "b", 1)), "--html", "x"],
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("hz3: a page needs jinja2, ")


@pytest.mark.skipif(not BROWSER, reason="no chromium-headless-shell")
@pytest.mark.parametrize("width", [800, 1600])
def test_a_browser_shows_the_whole_page(tmp_path, width):
    flows = [(f"a worker of connections#{i}", f"a worker of connections#{i * 7 % 14}", 400 - 20 * i) for i in range(14)]
    said("flows", flowing(tmp_path, *flows), "--html", tmp_path / "page.html")
    probe = ("<script>const root = document.documentElement, text = document.createRange(); "
             "const lines = td => (text.selectNodeContents(td), text.getClientRects().length); "
             "document.title = (root.scrollWidth - root.clientWidth) + "
             "' beyond, ' + [...document.querySelectorAll('.heat td')].filter(td => td.innerText.endsWith('%')).length + "
             "' cells, ' + document.querySelectorAll('[title]').length + ' hidden, ' + "
             "[...document.querySelectorAll('.flows td:nth-child(3)')].filter(td => lines(td) > 1).length + ' broken'"
             "</script></html>")  # fmt: skip
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(page.replace("</html>", probe), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", f"--window-size={width},900"]
    argv = [BROWSER, *options, "--dump-dom", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert "<title>0 beyond, " in done.stdout and " cells, 0 hidden, 0 broken</title>" in done.stdout, done.stderr
    assert int(re.search(r"beyond, (\d+) cells", done.stdout)[1]) >= 11


def test_names_cannot_write_into_the_page(tmp_path):
    said("flows", flowing(tmp_path, ("<b>", '"x"', 1)), "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in page and "<td>&lt;b&gt;</td><td>&#34;x&#34;</td>" in page


def test_pprof_reads_it(table, tmp_path):
    pytest.importorskip("google.protobuf")
    if not shutil.which("go"):
        pytest.skip("go is not installed: pprof comes from its module proxy")
    bins = ROOT / "build/go"
    if not (bins / "pprof").exists():
        got = subprocess.run(
            ["go", "install", PPROF], env={**os.environ, "GOBIN": str(bins)}, capture_output=True, text=True
        )
        if got.returncode:
            pytest.skip(f"pprof cannot be had: {got.stderr.strip().splitlines()[-1]}")
    said("profile", table, "-o", tmp_path / "out.pb.gz")

    def pprof(*words):
        argv = [bins / "pprof", *words, "-unit=B", tmp_path / "out.pb.gz"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    top = next(line.split() for line in pprof("-top").splitlines() if line.endswith("leaks"))
    assert float(top[0].removesuffix("B")) == pytest.approx(LEAKED, rel=0.05)
    assert "freed_by" in pprof("-tags", "-sample_index=alloc_space") and "taker" in pprof(
        "-tags", "-sample_index=alloc_space"
    )


INLINED = """#include <vector>
std::vector<std::vector<char> *> kept;
static inline __attribute__((always_inline)) void keep() { /* keeps */
    kept.push_back(new std::vector<char>(1000)); /* allocates */ }
__attribute__((noinline)) void fill() {
    for (int i = 0; i < 3000; i++)
        keep(); /* calls keep */ }
int main() { fill(); /* calls fill */ }
"""
CALLS = ["std::vector::vector", "keep at inlined.cpp:4", "fill at inlined.cpp:7", "main at inlined.cpp:8"]
PLAIN = """#include <stdlib.h>
void *volatile kept;
static inline __attribute__((always_inline)) void keep(void) { /* keeps */
    kept = malloc(1000); /* allocates */ }
__attribute__((noinline)) void fill(void) {
    for (int i = 0; i < 3000; i++)
        keep(); /* calls keep */ }
int main() { fill(); /* calls fill */ }
"""
RUST = """#[inline(always)] fn keep(all: &mut Vec<Vec<u8>>) {
    all.push(vec![1; 1000]); }
#[inline(never)] fn fill() -> usize { let mut all = Vec::new();
    for _ in 0..3000 { keep(&mut all); }
    let n = all.len(); std::mem::forget(all); n }
fn main() {
    println!("{}", fill()); }
"""


def profiled(preload, compiler, name, text, folder):
    """Where the profile is of a program that was compiled from this text."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (folder / name).write_text(text)
    subprocess.run([compiler, "-O", "-g", folder / name, "-o", folder / "prog"], check=True)
    env = {**WITH_OURS, "HZ3_PROFILE": "4K"}
    said("run", "--lane", preload.lane, "--profile", folder / "p", "--", folder / "prog", env=env)
    return folder / "p"


def test_calls_have_their_lines_also_where_they_are_inlined(preload, tmp_path):
    path = profiled(preload, "c++", "inlined.cpp", INLINED, tmp_path)
    (of_vectors,) = [calls for live, _, calls in stacks(said("profile", path)) if size(live) > 2 << 20]
    assert [re.sub(r"\(\)| at stl.*", "", call) for call in of_vectors[:4]] == CALLS, "the library's own calls are one"
    (short,) = [calls for live, _, calls in stacks(said("profile", path, "--depth", 2)) if size(live) > 2 << 20]
    assert short == [*of_vectors[:2], f"... {len(of_vectors) - 2} more"]
    assert "'0' is no number of calls" in hz3("profile", path, "--depth", 0).stderr


def test_a_stack_is_twelve_calls_deep_unless_asked(preload, program, tmp_path):
    text = "#include <stdlib.h>\n" + HIDDEN_CALLS
    path = program("deep", text=text)
    said("run", "--lane", preload.lane, "--profile", tmp_path / "p", "--", path, env={**WITH_OURS, "HZ3_PROFILE": "4K"})
    calls = rows(said("profile", tmp_path / "p"))[0][2]
    assert calls[:12] == [f"f{i}" for i in range(12)] and calls[12].startswith("... ") and len(calls) == 13


def in_pprof(path, tmp_path):
    """[(live bytes, [(function, file, line)...])...] of a written profile, which is read where its program is gone."""
    pytest.importorskip("google.protobuf")
    said("profile", path, "-o", tmp_path / "out.pb.gz")
    made = message(tmp_path / "out.pb.gz")
    text, functions = made.string_table, {function.id: function for function in made.function}
    lines = {of.id: [(functions[line.function_id], line.line) for line in of.line] for of in made.location}
    assert all(lines.values()), "each location says something"
    flags = {text[m.filename]: (m.has_functions, m.has_line_numbers, m.has_inline_frames) for m in made.mapping}
    assert flags[str(tmp_path / "prog")] == (True, True, True)
    return [(sample.value[3], [(text[function.name].removesuffix("()"), text[function.filename], line)
                               for i in sample.location_id for function, line in lines[i]]) for sample in made.sample]


@pytest.mark.parametrize("compiler, name, text, calls", [
    ("c++", "inlined.cpp", INLINED, [("keep", 4), ("fill", 7), ("main", 8)]),
    ("cc", "plain.c", PLAIN, [("keep", 4), ("fill", 7), ("main", 8)]),
    ("rustc", "prog.rs", RUST, [("prog::keep", 2), ("prog::fill", 4), ("prog::main", 7)]),
], ids=["c++", "c", "rust"])
def test_pprof_gets_names_files_and_lines(preload, tmp_path, compiler, name, text, calls):
    found = in_pprof(profiled(preload, compiler, name, text, tmp_path), tmp_path)
    stack = max(found)[1]
    ours = [(function, line) for function, file, line in stack if file == str(tmp_path / name)]
    assert ours == calls
    assert sum(live for live, stack in found if calls[0][0] in [f for f, _, _ in stack]) == pytest.approx(3e6, rel=0.25)


@pytest.mark.parametrize("old", ["old.pb.gz", "old"])
def test_what_grew_is_told_from_what_stays(preload, program, tmp_path, old):
    """A leak beside a table that is as large in the second profile as it was in the first."""
    text = ("#include <stdlib.h>\nvoid *volatile kept;\n"
            "void table(int n) { for (int i = 0; i < n; i++) kept = malloc(1000); }\n"
            "void leak(int n) { for (int i = 0; i < n; i++) kept = malloc(1000); }\n"
            "int main(int count, char **words) { table(9000); leak(atoi(words[count - 1])); }\n")
    path, files = program("grows", text=text), {"old": 1000, "new": 5000}
    for name, leaks in files.items():
        words = ("--lane", preload.lane, "--profile", tmp_path / name, "--", path, leaks)
        said("run", *words, env={**WITH_OURS, "HZ3_PROFILE": "1"})
    assert rows(said("profile", tmp_path / "new"))[0][2][0] == "table"
    if old.endswith("gz"):
        pytest.importorskip("google.protobuf")
        said("profile", tmp_path / "old", "-o", tmp_path / old)
    told = said("profile", tmp_path / "new", "--base", tmp_path / old)
    assert f" since {tmp_path / old}; " in told.splitlines()[0]
    ((live, allocated, calls),) = stacks(told)
    assert calls[0] == "leak" and live == allocated == "+3.8 MiB"  # 4000 of 1008 bytes
    shrank = stacks(said("profile", tmp_path / "old", "--base", tmp_path / "new"))
    assert [(row[0], row[2][0]) for row in shrank] == [("-3.8 MiB", "leak")]


@pytest.mark.parametrize("text, why", [
    (None, "No such file or directory"), (b"x", "no heap profile of hz3"),
    (b"\x1f\x8bx", "cut off or damaged"), (gzip.compress(b"x", mtime=0), "cut off or damaged"),
    (gzip.compress(b"hz3" * 99, mtime=0)[:-9], "cut off or damaged"), (gzip.compress(b"", mtime=0), "no heap profile of hz3"),
])
def test_an_older_profile_that_is_none_is_told_in_one_line(table, tmp_path, text, why):
    pytest.importorskip("google.protobuf")
    path = tmp_path / "old"
    if text is not None:
        path.write_bytes(text)
    assert refused("profile", table, "--base", path) == f"hz3: {path}: {why}\n"


@pytest.mark.parametrize("function, name", [
    ("void std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"),
    ("std::map<int, A>::at(int const&) const", "std::map::at"),
    ("std::string named<int>(int)", None), ("std::set<int> (anonymous namespace)::made()", None), ("main", None),
    ("std::operator<< <std::char_traits<char> >(std::ostream&, char)", "std::operator<<"),
    ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
    ("<u8 as alloc::vec::SpecFromElem>::from_elem", "<u8 as alloc::vec::SpecFromElem>::from_elem"),
    ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
    ("<mine::Row as core::clone::Clone>::clone", None), ("stdlike::f()", None),
])
def test_what_is_of_the_language_s_own_library(function, name):
    """None: it is not, and is shown as it is."""
    frame = symbols.Frame(function)
    assert symbols.of_language(frame) == (name is not None) and str(frame) == (name or function)


@pytest.mark.parametrize("calls, shown", [
    (["operator new(unsigned long)", "std::vector<int>::push_back(int)", "main"], ["std::vector::push_back", "main"]),
    (["sampled", "hz3_malloc", "keep", "main"], ["keep", "main"]),
    (["watched", "<hz3::Hz3 as core::alloc::GlobalAlloc>::alloc", "__rustc::__rust_alloc", "alloc::vec::from_elem",
      "x::keep", "std::rt::lang_start::{{closure}}", "std::rt::lang_start", "main"],
     ["alloc::vec::from_elem", "x::keep", "std::rt::lang_start", "main"]),
    (["malloc"], ["malloc"]), ([], []),
])
def test_the_allocator_s_own_calls_are_left_out(calls, shown):
    assert list(map(str, symbols.folded(list(map(symbols.Frame, calls))))) == shown


def test_a_segment_need_not_begin_with_a_page():
    """As lld lays them out: the page of the code's first byte is in both mappings."""
    file = elf.File.__new__(elf.File)
    file.segments = [elf.Segment(elf.LOAD, 0, 0, 0x1364C, False), elf.Segment(elf.LOAD, 0x13650, 0x14650, 0x5000, True)]
    assert file.address(0x13F00) == 0x14F00 and file.address(0x13000) == 0 and file.address(0x18650) == 0


HIDDEN_CALLS = "void *volatile kept;\n__attribute__((noinline)) void f0(int n) { while (n--) kept = malloc(1000); }\n" + "".join(
    f"__attribute__((noinline)) void f{i}(int n) {{ f{i - 1}(n); kept = 0; }}\n" for i in range(1, 15)
) + "int main() { f14(3000); }\n"
HIDDEN = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static __attribute__((noinline)) void *hidden(void *p) { for (int i = 0; i < 3000; i++) *(void **)p = malloc(1000); return p; }
__attribute__((noinline)) void *named(void *p) { p = malloc(8); return hidden(p); }
int main(int argc, char **argv) { (void)argv; named(0); if (argc > 1) puts("ready"), fflush(stdout), pause(); }
"""


def test_a_function_without_a_symbol_has_no_other_one_s_name(preload, program, tmp_path):
    path = program("stripped", "-rdynamic", "-s", text=HIDDEN)
    said("run", "--lane", preload.lane, "--profile", tmp_path / "p", "--", path, env={**WITH_OURS, "HZ3_PROFILE": "4K"})
    calls = rows(said("profile", tmp_path / "p"))[0][2]
    assert re.fullmatch(r"stripped\+0x[0-9a-f]+", calls[0]) and calls[1:3] == ["named", "main"]


def test_another_file_of_the_same_name_names_nothing(preload, program, tmp_path):
    path = shutil.copy(program("replaced", text=HIDDEN), tmp_path)
    said("run", "--lane", preload.lane, "--profile", tmp_path / "p", "--", path, env={**WITH_OURS, "HZ3_PROFILE": "4K"})
    assert rows(said("profile", tmp_path / "p"))[0][2][0] == "hidden"
    assert build_ids(tmp_path)[path]
    os.replace(shutil.copy(program("leak"), tmp_path / "other"), path)
    assert rows(said("profile", tmp_path / "p"))[0][2][0].startswith("replaced+0x")
    assert path not in build_ids(tmp_path)


def message(path):
    from look.profile_pb2 import Profile

    return Profile.FromString(gzip.decompress(path.read_bytes()))


def test_the_module_is_what_protoc_makes_of_the_format(tmp_path):
    pytest.importorskip("google.protobuf")
    if not shutil.which("protoc"):
        pytest.skip("protobuf-compiler is not installed")
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    from look import profile_pb2

    words = ["protoc", f"-I{ROOT}/look", f"--descriptor_set_out={tmp_path}/set", "profile.proto"]
    subprocess.run(words, check=True)
    (file,) = FileDescriptorSet.FromString((tmp_path / "set").read_bytes()).file
    file.ClearField("source_code_info")
    made = type(file)()
    profile_pb2.DESCRIPTOR.CopyToProto(made)
    for one in (file, made):  # protoc writes names for JSON, which the module leaves out
        for field in (field for message in one.message_type for field in message.field):
            field.ClearField("json_name")
    assert file == made


def build_ids(tmp_path):
    """Of the files that pprof is told of."""
    pytest.importorskip("google.protobuf")
    said("profile", tmp_path / "p", "-o", tmp_path / "out.pb.gz")
    made = message(tmp_path / "out.pb.gz")
    return {made.string_table[m.filename]: made.string_table[m.build_id] for m in made.mapping}


def test_without_libgcc_samples_are_counted(preload, program):
    """Where glibc's backtrace finds nothing."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    found = re.search(r"libgcc_s\.so\.1 .* => (\S+)", listed)[1]
    path = program("inside", text=HIDDEN)
    script = f"mount --bind /dev/null {found} && LD_PRELOAD={preload.library} HZ3_PROFILE=4K exec {path} wait"
    with resting("unshare", "-rm", "sh", "-c", script, stderr=subprocess.DEVNULL) as (process, line):
        if not line:
            pytest.skip("no mount namespaces here")
        live = sum(row[0] for row in rows(said("profile", process.pid)))
        assert live == pytest.approx(3000 * 1000, rel=0.25)  # some 700 samples: six standard deviations


def test_a_process_in_another_mount_namespace_is_named_by_its_own_files(preload, program, tmp_path):
    inside = shutil.copy(program("inside", text=HIDDEN), tmp_path / "hidden")
    path = shutil.copy(program("leak"), tmp_path / "prog")
    script = f"mount --bind {inside} {path} && LD_PRELOAD={preload.library} HZ3_PROFILE=4K exec {path} wait"
    with resting("unshare", "-rm", "sh", "-c", script, stderr=subprocess.DEVNULL) as (process, line):
        if not line:
            pytest.skip("no mount namespaces here")
        assert rows(said("profile", process.pid))[0][2][:3] == ["hidden", "named", "main"]


def test_an_idle_process_has_not_begun(preload, program):
    with resting(program("leak"), "wait", env=preload.env) as (process, _):
        head = f"hz3: process {process.pid}"
        line = refused("profile", process.pid)
        assert line == f"{head} keeps no heap profile: hz3 profile {process.pid} --start begins one\n"
        assert "samples one byte in 524288" in said("profile", "--start", process.pid)
        for words in ("--start", "4K", process.pid), (process.pid, "--start", "4K"):
            assert f"{head} samples one byte in 4096" in said("profile", *words)
        assert refused("profile", process.pid) == f"{head} was asked for a heap profile: it begins with its next malloc\n"


@pytest.mark.parametrize("reads", ["-o", "--base", "--depth"])
def test_what_only_reading_takes_is_refused_with_start(reads):
    done = hz3("profile", "1", "--start", reads, "3")
    said = "-o, --base and --depth go with what is read, not with --start or --stop"
    assert (done.returncode, done.stderr) == (2, f"hz3: profile: {said} (see hz3 profile --help)\n")


def test_a_process_that_never_goes_slow_begins_and_ends(preload, program):
    """What it allocates comes from its magazine for ever."""
    text = '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n' \
           'int main() { for (puts("there"), fflush(stdout);;) usleep(100), free(malloc(1000)); }'

    def samples(pid):
        return int(re.search(r" (\d+) samples", said("profile", pid))[1])

    with resting(program("steady", text=text), env=preload.env) as (process, _):
        said("profile", process.pid, "--start", "4K")
        wait_until(lambda: hz3("profile", process.pid).returncode == 0, "a profile")
        line = said("profile", process.pid, "--start", "2K")
        assert "sampled at one in 4096, and counts wrongly from then on" in line
        assert "counts wrongly" not in said("profile", process.pid, "--start", "2K")
        said("profile", process.pid, "--stop")
        wait_until(lambda: samples(process.pid) == samples(process.pid), "an end of the samples")


def test_the_probes_of_opentelemetry_fire_for_samples(preload, program, tmp_path):
    sdt = subprocess.run(["cc", "-E", "-"], input="#include <sys/sdt.h>", text=True, capture_output=True)
    if sdt.returncode or not shutil.which("gdb"):
        pytest.skip("systemtap-sdt-dev or gdb is not installed")
    path = program("one", "-g", text="#include <stdio.h>\n#include <stdlib.h>\n"
                                     "int main(void) { void *p = malloc(1000); free(p); dprintf(1, \"object %p\\n\", p); }")
    env = {"HZ3_PROFILE": "1", "HZ3_PROFILE_FILE": tmp_path / "x", "LD_PRELOAD": preload.library}  # every object
    commands = tmp_path / "commands"
    commands.write_text("\n".join([
        *(f"set environment {name} {value}" for name, value in env.items()), "break main", "run",
        "break -probe-stap otel_memory:alloc", "commands", "silent",
        r'printf "alloc %#lx %lu %lu\n", (long)$_probe_arg0, (long)$_probe_arg1, (long)$_probe_arg2', "continue", "end",
        "break -probe-stap otel_memory:free", "commands", "silent", r'printf "free %#lx\n", (long)$_probe_arg0', "continue",
        "end", "continue"]))
    done = subprocess.run(["gdb", "-batch", "-nx", "-x", commands, path], capture_output=True, text=True, timeout=60)
    if why := re.search(r"^.*ptrace: .*$", done.stderr, re.M):
        pytest.skip(why[0])
    (address,) = re.findall(r"^object (0x\w+)$", done.stdout, re.M)
    fired = [line.split() for line in re.findall(r"^(?:alloc|free) 0x.*$", done.stdout, re.M)]
    of_object = [line for line in fired if line[1] == address][:2]
    assert of_object == [["alloc", address, "1008", "1008"], ["free", address]], "rounded up to 16 bytes, and stands for itself"


def test_redis_is_profiled_while_it_runs(redis_on, preload):
    with redis_on(preload.library, busy=lambda pid: said("profile", pid, "--start", "64K")) as pid:
        text = said("profile", pid)
        live = sum(row[0] for row in rows(text))
        assert any("createStringObject" in row[2] for row in rows(text)) and live > 10 << 20
        assert "samples no more" in said("profile", pid, "--stop")


def test_a_file_without_its_end_is_read_up_to_there(table, tmp_path):
    text = table.read_text()
    cut = tmp_path / "cut"
    cut.write_text(text[: text.index("\nmaps\n") - 5])
    assert "the end of the file is missing" in said("profile", cut)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        ("", "no heap profile of hz3"),
        ("hz3 heap profile 2\n", "written by another version of hz3"),
        ("hz3 heap profile 1\nrate 1\nfreed 1 x\nmaps\n", "line 3 makes no sense"),
        ("hz3 heap profile 1\nprogram x\nrate 1e9\nmaps\n", "line 3 makes no sense"),
    ],
)
def test_what_is_no_profile_is_told_in_one_line(tmp_path, text, why):
    path = tmp_path / "it"
    if text is not None:
        path.write_text(text)
    assert refused("profile", path) == f"hz3: {path}: {why}\n"


def test_names_cannot_write_on_the_terminal(tmp_path):
    path = tmp_path / "wild"
    path.write_text(
        "hz3 heap profile 1\nrate 1\npid 1\nprogram a\x1b[31m\nthread 2 1 b\x1b]\nfreed 1 1 16 2 2 0\nstack 1 0x1\nmaps\n"
    )
    assert "\x1b" not in said("profile", path) + said("flows", path)


def test_nor_by_way_of_pprof(preload, program, tmp_path):
    path = shutil.copy(program("replaced", text=HIDDEN), tmp_path / "a\x1b[31m")
    said("run", "--lane", preload.lane, "--profile", tmp_path / "p", "--", path)
    assert "\x1b" not in "".join(build_ids(tmp_path)) and str(path).replace("\x1b", "\\x1b") in build_ids(tmp_path)


def test_a_profile_that_cannot_be_written_stops_nothing(preload, tmp_path):
    env = {**preload.env, "HZ3_PROFILE": "1K", "HZ3_PROFILE_FILE": f"{tmp_path}/none/x"}
    done = subprocess.run(["/bin/echo", "there"], env=env, capture_output=True, text=True)
    line = f"hz3: warning: cannot write the heap profile to {tmp_path}/none/x: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "there\n", line * 2)


def test_a_limit_on_files_stops_nothing(preload, tmp_path):
    env = {**preload.env, "HZ3_PROFILE": "1K", "HZ3_PROFILE_FILE": f"{tmp_path}/x"}
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))  # noqa: E731
    done = subprocess.run(["/bin/true"], env=env, capture_output=True, text=True, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (0, f"hz3: warning: cannot write the heap profile to {tmp_path}/x: File too large\n")


@pytest.mark.parametrize("reads, why", [(False, "No such device or address"), (True, "Broken pipe")])
def test_a_pipe_that_nobody_reads_stops_nothing(preload, program, tmp_path, reads, why):
    os.mkfifo(tmp_path / "x")
    reader = os.open(tmp_path / "x", os.O_RDONLY | os.O_NONBLOCK) if reads else None
    env = {**preload.env, "HZ3_PROFILE": "16", "HZ3_PROFILE_FILE": f"{tmp_path}/x"}
    text = "#include <stdlib.h>\nint main() { for (int i = 16; i < 1 << 16; i += 16) free(malloc(i)); }"
    with subprocess.Popen([program("sizes", text=text)], env=env, stderr=subprocess.PIPE, text=True) as process:
        if reads:  # it goes while a part of the profile does not fit into the pipe yet
            assert select.select([reader], [], [], 60)[0]
            os.close(reader)
        assert process.communicate(timeout=60)[1] == f"hz3: warning: cannot write the heap profile to {tmp_path}/x: {why}\n"
    assert process.returncode == 0


def test_of_what_a_program_starts_each_process_has_a_file(preload, program, tmp_path):
    forks = program("forks", text="#include <stdlib.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
                                  "int main(int count, char **words) { free(malloc(99)); if (fork()) wait(NULL);\n"
                                  "else memset(words[0], 'x', strlen(words[0])); /* as PostgreSQL's do */ exit(count - 1); }")
    for name in ("of", "of.%p"):
        target, env = tmp_path / name, {**WITH_OURS, "HZ3_PROFILE": "1"}
        said("run", "--lane", preload.lane, "--profile", target, "--", "bash", "-c", f"{forks}; true", env=env)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [re.sub(r"\d+", "N", name) for name in names] == ["of", *["of.N"] * 3, *["of.forks-N"] * 2]
    for name in names:
        program_, pid = re.match(r"(\S+) \((\d+)\)", said("profile", tmp_path / name)).groups()
        assert name.endswith(("." if name[3:].isdigit() else f".{program_}-") + pid) or (name, program_) == ("of", "bash")


def test_children_write_files_of_their_own(preload, tmp_path):
    env = {**preload.env, "HZ3_PROFILE": "1K"}
    script = "import os; p = os.fork(); x = [bytes(i) for i in range(5000)]; p and os.waitpid(p, 0)"
    subprocess.run([sys.executable, "-c", script], env=env, cwd=tmp_path, check=True)
    files = list(tmp_path.glob("hz3.*.profile"))
    assert len(files) == 2
    for file in files:
        assert f"({file.name.split('.')[1]})" in said("profile", file)


@pytest.mark.parametrize("verb", ["profile", "flows"])
def test_wild_numbers_and_names_are_left_out(tmp_path, verb):
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / "it"
    good, *wild = "1 1 16 2 2 3", "1 1 0 2 2 0", "1 1 16 2 2 99999", f"1 1 {1 << 70} 2 2 3", "-1 1 16 2 2 3"
    cells = [f"freed {cell}" for cell in (good, *wild)]
    maps = [f"0-1000 r-xp 0 0:0 0 {tmp_path}/fifo", "2000-3000 r-xp 0 0:0 0 /a\0b", f"0-{1 << 70:x} r-xp 0 0:0 0 /c"]
    path.write_text("\n".join(["hz3 heap profile 1", "rate 1", "program x", *cells, "stack 1 0x10 0x2010", "maps", *maps, ""]))
    assert "1.0 KiB" not in said(verb, path)
    assert "x (0): 16 B freed" in said("flows", path)
    path.write_text("hz3 heap profile 1\nprogram x\nrate -1\nmaps\n")
    assert refused(verb, path) == "hz3: x: a rate of -1 makes no sense\n"


@pytest.mark.parametrize("cell, offset", [(f"{1 << 62} 1 4096 2", 0), ("1 1 4096 2", 1 << 64)])
def test_numbers_that_pprof_has_no_room_for(tmp_path, cell, offset):
    pytest.importorskip("google.protobuf")
    path, head = tmp_path / "it", "hz3 heap profile 1\nrate 1\nprogram x\n"
    path.write_text(f"{head}allocated {cell}\nstack 1 0x10\nmaps\n0-1000 r-xp {offset:x} 0:0 0 /a\n")
    assert "no room in pprof's format" in refused("profile", path, "-o", tmp_path / "out.pb.gz")


def test_a_name_with_a_carriage_return_is_one_line(tmp_path):
    path = tmp_path / "it"
    path.write_bytes(b"hz3 heap profile 1\nrate 1\nprogram x\nallocated 1 1 4096 2\nstack 1 0x10\nmaps\n"
                     b"0-1000 r-xp 0 0:0 0 /a\rb\n")
    assert r"a\x0db" in said("profile", path)


def test_an_old_name_cannot_write_on_the_terminal(tmp_path):
    pytest.importorskip("google.protobuf")
    path, old = tmp_path / "it", tmp_path / "old.pb.gz"
    path.write_text("hz3 heap profile 1\nrate 1\nprogram x\nallocated 1 1 4096 2\nstack 1 0x10\nmaps\n0-1000 r-xp 0 0:0 0 /abc\n")
    said("profile", path, "-o", old)
    old.write_bytes(gzip.compress(gzip.decompress(old.read_bytes()).replace(b"/abc", b"/a\x1bc")))
    path.write_text("hz3 heap profile 1\nrate 1\nprogram x\nmaps\n")
    assert r" a\x1bc+" in said("profile", path, "--base", old)


def test_an_old_protobuf_is_said(tmp_path):
    pytest.importorskip("google.protobuf")
    path = tmp_path / "it"
    path.write_text("hz3 heap profile 1\nrate 1\nprogram x\nmaps\n")
    script = "import sys, runpy; sys.modules['google.protobuf.internal.builder'] = None; sys.argv = sys.argv[1:]; " \
             "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", script, ROOT / "look", "profile", path, "-o", tmp_path / "out"],
                          capture_output=True, text=True)
    assert done.stderr == f"hz3: pprof's format needs a newer protobuf than {sys.executable} has\n"


def test_a_program_of_large_blocks_alone_begins_too(preload, program):
    text = '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n' \
           'int main() { for (puts("there"), fflush(stdout);;) usleep(1000), free(malloc(100000)); }'
    with resting(program("large", text=text), env=preload.env) as (process, _):
        said("profile", process.pid, "--start", "4K")
        wait_until(lambda: hz3("profile", process.pid).returncode == 0, "a profile")
        assert "main" in said("profile", process.pid)


def test_a_block_that_shrinks_counts_as_what_it_is(preload, program, tmp_path):
    text = '#include <stdlib.h>\nvoid *kept[3000];\nint main() { for (int i = 0; i < 3000; i++) ' \
           'kept[i] = realloc(malloc(524288), 70000); }'
    said("run", "--lane", preload.lane, "--profile", tmp_path / "p", "--", program("shrink", text=text))
    live = sum(row[0] for row in rows(said("profile", tmp_path / "p")))
    assert live == pytest.approx(3000 * 70000, rel=0.3)  # about 400 samples: six standard deviations
