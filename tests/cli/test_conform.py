"""hz3 conform finds which rows hold on an allocator, and refuses a file that is no allocator."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from lab import conform, invisible
from lab.bound import Bound
from lab.closing import closing, status
from lab.plan import Arm, library_arm

ROOT = Path(__file__).resolve().parents[2]
SCALE = ROOT / "libhakozuna_hz3_scale.so"
TOY = """
#include <errno.h>
#include <stddef.h>
#include <string.h>
void *__libc_malloc(size_t), *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *p)
{
    if ((size_t)p % 16 == 0) __libc_free(p);
}
void *calloc(size_t count, size_t size)
{
    void *p = malloc(count * size);
    return p ? memset(p, 0, count * size) : p;
}
int posix_memalign(void **p, size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);
    return block ? (*p = block, 0) : ENOMEM;
}
"""
BROKEN = {  # rows that hold on glibc, and not on the toy
    "api.errors/products_that_overflow_are_ENOMEM",
    "api.aligned/posix_memalign_refuses_with_EINVAL",
    "misuse.interior_plus_1",
    "misuse.interior_plus_8",
}
# What a library can do that somebody notices, beside the toy above, and the rows that then do not hold.
VISIBLE = {
    "fcntl(2, F_DUPFD, 100);": {"descriptors", "descriptors_stats_file", "daemon"},
    "pthread_create(&(pthread_t){0}, 0, wait_for_ever, 0);": {"tasks", "libc_counts_threads", "unshare", "signals"},
    "free_sets = EBUSY;": {"errno"},
    "signal(SIGUSR1, SIG_IGN);": {"signals"},
    "setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 1000});": {"rlimits"},
    "umask(077);": {"process_state"},
}
QUICK = ("tasks", "libc_counts_threads", "unshare", "descriptors", "descriptors_stats_file", "daemon", "signals", "rlimits",
         "process_state", "errno", "addresses", "fork_little")
NOTICED = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
""" + TOY.replace("void free(void *p)\n{", """static int free_sets;
void free(void *p)
{
    if (free_sets) errno = free_sets;""") + """
__attribute__((unused)) static void *wait_for_ever(void *p)
{
    for (;;) pause();
    return p;
}
__attribute__((constructor)) static void start(void)
{
    DEED
}
"""


def compile_c(source, target):
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-x", "c", "-", "-o", target], input=source, text=True, check=True)
    return target


def tried(*arguments):
    return subprocess.run([ROOT / "bin/hz3", "conform", *arguments], capture_output=True, text=True)


def failing(outcomes):
    return {outcome.row.name for outcome in outcomes if outcome.word == conform.FAILED}


@pytest.mark.timeout(300)
def test_each_row_that_an_allocator_does_not_hold_is_told(tmp_path):
    toy = compile_c(TOY, tmp_path / "toy.so")
    rows = ("--rows", "api.*", "--rows", "misuse.*")  # others take minutes, and some depend on time
    done = tried(*rows, "--json", tmp_path / "table.json", SCALE, "glibc", toy)
    assert done.returncode == 1 and done.stderr == ""
    table = json.loads((tmp_path / "table.json").read_text())
    hz3, glibc, broken = conform.from_json(table).values()
    own = ["mallinfo2_counts_what_is_free", "mallinfo2_knows_blocks_that_are_mapped_one_by_one",
           "malloc_stats_writes_to_the_stream"]
    assert [outcome.row.name for outcome in hz3 if outcome.word != conform.HELD] == [f"api.figures/{case}" for case in own]
    assert {outcome.word for outcome in hz3} == {conform.HELD, conform.SKIPPED}  # those are of hz3's own figures
    assert [outcome.row.name for outcome in glibc
            if outcome.word == conform.FAILED and outcome.row.promise in conform.STANDARDS] == []
    assert failing(broken) - failing(glibc) == BROKEN
    assert re.search(rf"^{re.escape(str(toy))}: .*; \d+ passed, \d+ failed, \d+ skipped$", done.stdout, re.M)
    assert f"| {toy} |" in conform.page(table | {"allocators": {"scale": table["allocators"][str(SCALE)], **table["allocators"]}})
    said = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in said if " rows of the standards held, " in line] == [str(SCALE), "glibc", str(toy)]
    assert "not held  misuse.interior_plus_1: free of a pointer 1 byte into a block ends the program. (hz3; " in done.stdout


def test_what_is_no_allocator_is_refused_with_status_2(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    empty = compile_c("", tmp_path / "empty.so")
    for library, words in (
        (tmp_path / "none.so", "no such file"),
        (tmp_path / "text.so", "is not a shared library"),
        (empty, "does not take malloc over"),
        ("nonsense", "nonsense"),
    ):
        done = tried(library)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith("hz3: ") and done.stderr.count("\n") == 1 and words in done.stderr, library


def test_rows_that_nobody_has_are_refused_and_those_there_are_listed():
    done = tried("--rows", "nonsense.*", SCALE)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("hz3: ") and done.stderr.count("\n") == 1
    assert "nonsense.*" in done.stderr and "api.*, bite.*, invisible.*, misuse.*, reliability.*, stress.*" in done.stderr


def test_every_test_has_a_row_or_a_reason_to_be_left_out():
    there = conform.listed(conform.Kit.build())
    rows = [row.name for row in conform.rows()]
    left_out = set(" ".join(conform.sections()[conform.LEFT_OUT].values()).split())
    assert {row.partition("/")[0] for row in rows} | left_out == there.keys()
    assert not {row.partition("/")[0] for row in rows} & left_out
    with_cases = {row.partition("/")[0] for row in rows if "/" in row}
    cases = {f"{test}/{case}" for test in with_cases for case in re.findall(
        r"cmocka_unit_test\((\w+)\)", (ROOT / "tests" / (test.replace(".", "/") + ".c")).read_text())}
    assert cases == {row for row in rows if "/" in row}


def test_a_row_is_judged_by_its_status_and_misuse_by_its_end():
    plain, misuse = conform.Row("api.x", "C", ""), conform.Row("misuse.x", "hz3", "")
    assert [conform.judged(plain, status, "").word for status in (0, 1, -6, None, 77)] == [
        "held", "not held", "not held", "not held", "skipped"]
    assert conform.judged(plain, 0, "not ok 1 # SKIP x\n").word == "skipped"
    failed, held = conform.judged(plain, 1, "tried=9 held=7\n"), conform.judged(plain, 0, "tried=9 held=9\n")
    assert failed.how == "it ended with status 1, 7 of 9 times it held"
    assert conform.times(failed) == [9, 7] and conform.times(held) == [9, 9]
    assert conform.line(held) == "held      api.x (9 of 9 times)"
    accused = "0x10 1\n"
    assert [conform.judged(misuse, status, accused).word for status in (0, 104, -6, -11, None)] == [
        "not held", "not held", "held", "held", "not held"]
    assert conform.judged(misuse, 0, accused + "free: invalid pointer\n").word == "held"
    assert conform.judged(misuse, 1, accused + "x.c:7: not so: p != old (errno 0)\n").word == "not held"


def test_the_page_says_of_each_lane_where_others_are_better_and_how_often_rows_held():
    found = {
        "scale": {"reliability.soak": ["held", "", 1200, 1200], "api.x": ["held", ""]},
        "fast": {"reliability.soak": ["not held", "it ended with status 1", 9, 7], "api.x": ["not held", ""]},
        "classic": {"reliability.soak": ["held", "", 5, 5], "api.x": ["not held", ""]},
        "glibc": {"reliability.soak": ["not held", "it did not end"], "api.x": ["held", ""]},
        "other": {"reliability.soak": ["skipped", ""], "api.x": ["held", ""]},
    }
    table = {"rows": {"reliability.soak": ["hz3", "It holds."], "api.x": ["C", "It holds."]},
             "allocators": {name: {"version": "1", "sha256": "", "found": of} for name, of in found.items()}}
    page = conform.page(table)
    assert "is held by these lanes of hz3: scale.\n" in page
    assert "\n| api.x | fast, classic | glibc, other |\n" in page
    assert "| reliability.soak | fast" not in page  # only hz3's own lanes hold it
    assert ("| allocator | soak |\n| --- | --- |\n| scale | 1,200 / 1,200 |\n| fast | 9 / 7 |\n| classic | 5 / 5 |\n"
            "| glibc | not held |\n| other | skipped |\n") in page
    assert conform.to_json({name: Arm(version="1") for name in found}, conform.from_json(table))["allocators"]["fast"][
        "found"]["reliability.soak"] == ["not held", "it ended with status 1", 9, 7]


def named(*names):
    return [row for row in conform.rows(["invisible.*"]) if row.name.removeprefix("invisible.") in names]


def short(outcomes, word):
    return {outcome.row.name.removeprefix("invisible.") for outcome in outcomes if outcome.word == word}


@pytest.mark.timeout(400)
def test_what_a_library_lets_be_noticed_breaks_its_rows_and_no_others(tmp_path):
    kit = conform.Kit()
    libc = list(kit.run(Arm(), named(*QUICK)))
    assert short(libc, conform.FAILED) == set() and len(libc) == len(QUICK)
    for number, (deed, broken) in enumerate(VISIBLE.items()):
        library = compile_c(NOTICED.replace("DEED", deed), tmp_path / f"{number}.so")
        outcomes = list(kit.run(library_arm(library, ROOT), named(*QUICK)))
        assert short(outcomes, conform.FAILED) == broken - short(libc, conform.SKIPPED), deed


@pytest.mark.timeout(400)
def test_lane_scale_lets_nothing_be_noticed():
    # But for times, which make test has no quiet machine for.
    rows = [row for row in conform.rows(["invisible.*"]) if not row.bound.alone]
    outcomes = list(conform.Kit().run(library_arm(SCALE, ROOT), rows))
    assert short(outcomes, conform.FAILED) == set()


def test_a_row_is_void_where_another_allocator_serves(tmp_path):
    kit, arm = conform.Kit(), library_arm(compile_c(TOY, tmp_path / "toy.so"), ROOT)
    rows = [*named("descriptors"), *conform.rows(["bite.early", "misuse.wild_stack"])]
    assert [outcome.word for outcome in kit.run(arm, rows)] == ["held"] * 3
    (tmp_path / "toy.so").unlink()
    outcomes = list(kit.run(arm, rows))
    assert [outcome.word for outcome in outcomes] == ["void"] * 3
    assert "malloc is from" in outcomes[0].how and "libc.so" in outcomes[0].how
    assert conform.words(outcomes) == (0, 3, 0)


def test_a_closing_line_counts_and_what_was_skipped_has_a_status_of_its_own():
    assert closing(3, 2, 1) == "3 passed, 2 failed, 1 skipped"
    assert [status(*counts) for counts in ((0, 0), (0, 2), (1, 0), (1, 2))] == [0, 77, 1, 1]
    done = tried("--rows", "api.release/*", "glibc")  # not every glibc has C23's names
    assert done.returncode == (77 if "\nskipped " in f"\n{done.stdout}" else 0)
    assert re.search(r"\d passed, 0 failed, \d skipped\n$", done.stdout)


def test_a_figure_is_judged_by_its_bound_beside_another_or_alone():
    alone, ratio = Bound(35, unit="page faults"), Bound(1.5, of="glibc")
    assert alone.allows(alone.figure([52, 35], [])) and not alone.allows(alone.figure([36], []))
    assert alone.is_far_from(106) and not alone.is_far_from(105) and not Bound(0).is_far_from(9)
    assert ratio.figure([4, 3], [2, 2.5]) == 1.5 and not ratio.allows(ratio.figure([3.1], [2]))
    same = Bound(0, 0, beyond="glibc")
    assert [same.allows(same.figure([own], [1])) for own in (0, 1, 2)] == [False, True, False]
    assert [str(one) for one in (alone, ratio, same, Bound(0))] == [
        "at most 35 page faults", "at most 1.50 times glibc's", "as glibc", "none"]
    secure, scale = Arm(config="version=1 lane=secure HZ3_X=1"), Arm(config="version=1 lane=scale")
    assert [Bound(0, lane="secure").concerns(arm) for arm in (secure, scale, Arm())] == [True, False, False]
    assert [Bound(0, but="secure").concerns(arm) for arm in (secure, scale, Arm())] == [False, True, True]
    row = conform.Row("invisible.x", "invisible", "", alone)
    assert conform.judged(row, 0, "figure=52\n").figure == 52
    assert conform.judged(row, 0, "").how == "it said no figure" and conform.judged(row, 1, "figure=2\n").word == "not held"
    skipped = conform.judged(row, 77, "skipped: not here\n")
    assert (skipped.word, skipped.how) == ("skipped", "not here")


def test_the_page_of_what_is_noticed_has_each_figure_and_why_there_is_none():
    fork, dump = (conform.Row(f"invisible.{name}", "invisible", "Few.", Bound(35)) for name in ("fork", "dump"))
    found = {
        "scale": [conform.Outcome(fork, "not held", "52, allowed: 35", figure=52), conform.Outcome(dump, "skipped", "no gdb")],
        "glibc": [conform.Outcome(fork, "held", figure=22), conform.Outcome(dump, "held", figure=1234)],
    }
    page = invisible.page({name: Arm(version="1") for name in found}, found)
    assert "\n| scale | 1 | 0 | 1 | 1 |\n| glibc | 1 | 2 | 0 | 0 |\n" in page
    assert "\n| fork | Few. | at most 35 | 52 **no** | 22 |\n| dump | Few. | at most 35 | skipped | 1,234 |\n" in page
    assert page.endswith("\n- invisible.dump, scale: skipped: no gdb\n")
