"""What make install installs, by which names and forms others can use it, and where it refuses to write anything."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cmake import build, configure, make
from lab import ROOT

LANES = ("scale", "fast", "memory", "secure")
USES_BOTH_NAMES = """
#include <hz3.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *p = malloc(10);
    puts(hz3_config_string());
    hz3_free(p); /* from malloc: it is one and the same allocator, linked, not preloaded */
    char *line = NULL;
    size_t size = 0; /* getline: libc's own code allocates, and then makes larger */
    int lines = 0;
    while (getline(&line, &size, stdin) > 0) lines++;
    free(line);
    return lines != 2 || !p;
}
"""


def said(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where, and what make said."""
    prefix = tmp_path_factory.mktemp("prefix") / "usr"
    return prefix, make("install", f"PREFIX={prefix}")


@pytest.fixture(scope="module")
def prefix(installed):
    prefix, done = installed
    assert done.returncode == 0, done.stderr
    return prefix


def serves(program, lane="scale", **options):
    run = subprocess.run([program], input=f"a\n{'b' * 5000}\n", capture_output=True, text=True, **options)
    assert run.returncode == 0 and run.stdout.startswith("hz3-config: ") and f" lane={lane} " in run.stdout, run.stderr


def test_installing_says_where_and_how_programs_find_it(installed):
    prefix, done = installed
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (f"installed lanes scale fast memory secure in {prefix}\n"
                           f"the loader does not look in {prefix}/lib: link with -Wl,-rpath,{prefix}/lib, or set "
                           f"LD_LIBRARY_PATH={prefix}/lib\n")


@pytest.mark.parametrize("user, says, runs", [
    (0, "", True), (1000, "the loader finds the libraries after: sudo ldconfig\n", False),
])
def test_the_loader_s_list_is_renewed_where_it_looks(tmp_path, user, says, runs):
    (tmp_path / "stage/usr/local/lib").mkdir(parents=True)
    (tmp_path / "stage/usr/local/lib/libhz3.so").touch()
    for name, text in (("id", f"echo {user}"), ("ldconfig", f'case "$*" in *v*) echo "/usr/local/lib: (from x)" ;; '
                                                            f"*) touch {tmp_path}/ran ;; esac")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert said(ROOT / "tools/loader.sh", tmp_path / "stage", env=env) == says
    assert (tmp_path / "ran").exists() == runs


def test_every_lane_has_a_plain_name_beside_the_work_orders_names(prefix):
    for lane in LANES:
        plain = "libhz3" if lane == "scale" else f"libhz3-{lane}"
        for form in ("", "-dlopen"):
            library = prefix / f"lib/{plain}{form}.so.0"
            assert f"[{library.name}]" in said("readelf", "-dW", library)
            for name in (f"{plain}{form}.so", f"libhakozuna_hz3_{lane}{form.replace('-', '_')}.so"):
                assert (prefix / "lib" / name).samefile(library)
                assert os.readlink(prefix / "lib" / name).count("/") == 0  # relative, so that the tree can be moved
        assert (prefix / f"lib/libhakozuna_hz3_{lane}.a").samefile(prefix / f"lib/{plain}.a")


def test_hz3_runs_what_was_installed(prefix):
    for lane in LANES:
        run = subprocess.run([prefix / "bin/hz3", "run", "--lane", lane, "--stats", "--", "true"],
                             capture_output=True, text=True)
        assert run.returncode == 0 and f"this process ran on hz3 {version()} ({lane})" in run.stderr
        for verb in ("flags", "options"):
            assert said(prefix / "bin/hz3", verb, "--lane", lane)
    assert subprocess.run([prefix / "bin/hz3", "flags", "--lane", "r90"], capture_output=True).returncode == 2


def version():
    return ".".join(re.findall(r"^#define HZ3_VERSION_\w+ (\d+)$", (ROOT / "include/hz3.h").read_text(), re.M))


@pytest.mark.parametrize("lane", LANES)
def test_pkg_config_has_each_lane(prefix, tmp_path, lane):
    name = "hz3" if lane == "scale" else f"hz3-{lane}"
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    assert said("pkg-config", "--modversion", name, env=environment).strip() == version()
    words = said("pkg-config", "--cflags", "--libs", name, env=environment).split()
    (tmp_path / "main.c").write_text(USES_BOTH_NAMES)
    subprocess.run(["cc", "-D_GNU_SOURCE", "main.c", *words, "-o", "main"], cwd=tmp_path, check=True)
    serves(tmp_path / "main", lane, env=os.environ | {"LD_LIBRARY_PATH": str(prefix / "lib")})


def test_find_package_has_the_shared_and_the_static_form(prefix, tmp_path):
    (tmp_path / "main.c").write_text(USES_BOTH_NAMES)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(hz3 0.2 REQUIRED)\n"
        "foreach(form hz3 hz3_static)\n add_executable(with_${form} main.c)\n"
        " target_link_libraries(with_${form} hz3::${form})\nendforeach()\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    build(tmp_path / "b")
    for form in ("hz3", "hz3_static"):
        serves(tmp_path / "b" / f"with_{form}")


def test_a_second_lane_is_not_found(prefix, tmp_path):
    lanes = [lane for lane in LANES if (prefix / f"lib/cmake/hz3/hz3-{lane}-targets.cmake").exists()]
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(hz3 REQUIRED)\nfind_package(hz3 REQUIRED)\n"
        "find_package(hz3 COMPONENTS fast)\nif(hz3_FOUND)\n message(STATUS \"found\")\nendif()\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True)
    assert "fast" in lanes and done.returncode == 0, done.stderr
    assert "hz3: hz3::hz3 is here already, of another lane than fast" in " ".join(done.stderr.split())
    assert "found" not in done.stdout


@pytest.mark.matrix
def test_hz3_stays_lane_scale_whatever_was_installed_last(root, tmp_path):
    prefix, user = tmp_path / "prefix", tmp_path / "user"
    for lane, kind in (("scale", "None"), ("fast", "Debug")):  # without optimization they build in half the time
        done = configure(root, tmp_path / lane, f"-DHZ3_LANE={lane}", f"-DCMAKE_BUILD_TYPE={kind}",
                         f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_LIBDIR={prefix}/lib")
        assert done.returncode == 0, done.stderr
        build(tmp_path / lane, f"-j{os.cpu_count()}", "--target", "install")
    for name in ("hz3", "hz3-fast"):
        text = (prefix / f"lib/pkgconfig/{name}.pc").read_text()
        assert f"\nlibdir={prefix}/lib\n" in text and f" -l{name}\n" in text
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(hz3 REQUIRED COMPONENTS ${LANE})\n"
        "get_target_property(file hz3::hz3 LOCATION)\nmessage(STATUS \"is ${file}\")\n")

    def find(lane, kind):
        done = subprocess.run(["cmake", "-S", user, "-B", user / f"{lane}-{kind}", f"-DLANE={lane}",
                               f"-DCMAKE_BUILD_TYPE={kind}", f"-DCMAKE_PREFIX_PATH={prefix}"],
                              capture_output=True, text=True)
        return done.stdout + done.stderr

    for asked, name in (("", "libhz3.so"), ("scale", "libhz3.so"), ("fast", "libhz3-fast.so")):
        for kind in ("Debug", "Release"):
            assert f"is {prefix}/lib/{name}.{version()}\n" in find(asked, kind)
    assert "not one lane that is installed here: r90" in find("r90", "Release")


def test_a_project_can_have_it_as_a_part_and_installs_what_runs(root, tmp_path):
    (tmp_path / "main.c").write_text(USES_BOTH_NAMES)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user C)\n"
        "set(CMAKE_INSTALL_RPATH $ORIGIN/../lib)\n"
        f"add_subdirectory({root} hz3)\nadd_executable(main main.c)\n"
        "target_link_libraries(main hz3::hz3)\ninstall(TARGETS main EXPORT user)\n"
        "install(EXPORT user DESTINATION lib/cmake/user)\nmessage(STATUS \"type '${CMAKE_BUILD_TYPE}'\")\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_INSTALL_PREFIX={tmp_path}/usr",
                           "-DCMAKE_INSTALL_LIBDIR=lib"], capture_output=True, text=True)
    assert done.returncode == 0 and "type ''" in done.stdout, done.stderr
    build(tmp_path / "b", f"-j{os.cpu_count()}", "--target", "install")
    serves(tmp_path / "b/main")
    shutil.rmtree(tmp_path / "b")
    serves(tmp_path / "usr/bin/main")


@pytest.fixture
def as_user():
    """The words before a command that run it as a user who may not write everywhere."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root needs util-linux's setpriv")
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize("locked", ["", "usr/lib", "usr/lib/pkgconfig"])
def test_an_install_that_cannot_write_everything_writes_nothing(as_user, prefix, locked):
    """make install checks this before it copies anything.  The last of these folders is inside writable ones."""
    with tempfile.TemporaryDirectory() as place:
        tree, stage = Path(place) / "tree", Path(place) / "stage"
        Path(place).chmod(0o755)
        shutil.copytree(prefix, stage / "usr", symlinks=True)
        if locked:
            (tree / locked).mkdir(parents=True)
        else:
            tree.mkdir()
        for folder in (tree, *tree.rglob("*")):
            folder.chmod(0o777)
        command = [*as_user, shutil.copy(ROOT / "tools/writable.sh", place), stage, tree]
        assert subprocess.run(command).returncode == 0
        (tree / locked).chmod(0o555)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == f"hz3: nothing is installed: {tree / locked} cannot be written to\n"


def test_an_install_asks_nothing_of_the_folders_above_its_own(as_user, prefix):
    """As in a home directory, of which the folders above are root's."""
    with tempfile.TemporaryDirectory() as place:
        tree, stage = Path(place) / "tree", Path(place) / "stage"
        Path(place).chmod(0o755)
        shutil.copytree(prefix, stage / "home/user", symlinks=True)
        (tree / "home/user").mkdir(parents=True)
        (tree / "home/user").chmod(0o777)
        (tree / "home").chmod(0o555)
        tree.chmod(0o555)
        assert subprocess.run([*as_user, shutil.copy(ROOT / "tools/writable.sh", place), stage, tree]).returncode == 0


def test_make_install_asks_first(tmp_path):
    file = tmp_path / "file"
    file.touch()
    done = make("install", "PREFIX=/usr", f"DESTDIR={file}")
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.splitlines()[0] == f"hz3: nothing is installed: {file} cannot be written to"
    assert len(done.stderr.splitlines()) == 2  # the second is make's own
    assert [*tmp_path.iterdir()] == [file]


def test_a_prefix_with_a_space_is_refused(tmp_path):
    """Make would take the second word for a folder of the checkout."""
    done = make("install", f"PREFIX={tmp_path}/a b")
    assert done.returncode != 0 and [*tmp_path.iterdir()] == []
    assert done.stderr.splitlines()[0] == f"hz3: nothing is installed: LD_PRELOAD cannot hold a space: '{tmp_path}/a b'"


@pytest.mark.parametrize("compiler, standard", [
    ("gcc", "c89"), ("gcc", "c99"), ("clang-19", "c89"), ("clang-19", "c23"),
    ("g++", "c++98"), ("g++", "c++20"), ("clang++-19", "c++98"), ("clang++-19", "c++20"), ("musl-gcc", "c99"),
])
def test_the_header_is_clean(root, compiler, standard):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    language = "c++" if "++" in standard else "c"
    done = subprocess.run([compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror",
                           "-fsyntax-only", f"-I{root}/include", "-"], capture_output=True, text=True,
                          input="#include <hz3.h>\nint main(void) { hz3_collect(1); return hz3_malloc(1) == NULL; }\n")
    assert done.returncode == 0, done.stderr


def test_the_manual_has_every_function_verb_switch_option_and_lane(prefix, root):
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    page = {}
    for section in "13":
        done = subprocess.run(["man", "--warnings", "-l", prefix / f"share/man/man{section}/hz3.{section}"],
                              capture_output=True, text=True, env=os.environ | {"MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        assert (done.returncode, done.stderr) == (0, "")
        assert f"hz3 {version()}" in done.stdout
        page[section] = " ".join(done.stdout.split())
    header = (root / "include/hz3.h").read_text()
    functions = re.findall(r"^(?:HZ3_EXTENSION )?HZ3_API (.*?);", header, re.M)
    assert len(functions) > 20
    assert sorted(re.findall(r"[\w ]+ \**hz3_\w+\([^)]*\);", page["3"].split("DESCRIPTION")[0])) == sorted(
        f" {function};" for function in functions)
    for name in re.findall(r"^HZ3_OPTION\((\w+)", (root / "src/api/options.def").read_text(), re.M):
        assert f" HZ3_{name}=" in page["1"]
    for verb in re.findall(r"^  ([a-z]+) ", said(root / "bin/hz3", "help").split("Beside", 1)[0], re.M):
        if not (root / f"bin/hz3-{verb}").exists():
            assert f" {verb} " in page["1"]
            for switch in re.findall(r"(?<![\w-])--?[a-z]+", said(prefix / "bin/hz3", verb, "--help")):
                assert switch in ("-h", "--help") or re.search(rf"(?<!\w){switch}\b", page["1"])
    lanes = page["1"].partition("A lane is one build of the library. ")[2].partition("Which lanes there are")[0]
    assert set(LANES) <= set(re.findall(r"\w+", lanes))


def test_the_container_preloads_what_it_installs(prefix):
    """The paths in packaging/Dockerfile exist in a tree that make install made with its prefix."""
    lines = (ROOT / "packaging/Dockerfile").read_text()
    installed = re.search(r"^RUN make -C \S+ install PREFIX=(\S+) ", lines, re.M)[1]
    library, folder = re.search(rf"^COPY --from=hz3 {installed}/(\S+) (\S+/)$", lines, re.M).groups()
    preload = prefix / library
    assert re.search(rf"^ENV LD_PRELOAD={folder}{preload.name}$", lines, re.M)
    run = subprocess.run(["ls", "/"], capture_output=True, text=True,
                         env=os.environ | {"LD_PRELOAD": str(preload), "HZ3_STATS": "1"})
    assert run.returncode == 0 and f"this process ran on hz3 {version()} (scale)" in run.stderr


def test_the_python_package_runs_what_its_wheel_would_hold(prefix, tmp_path):
    package = shutil.copytree(ROOT / "packaging/python/src/hz3", tmp_path / "hz3")
    for part in ("bin", "lib", "share"):
        shutil.copytree(prefix / part, package / part, symlinks=True)
    hz3 = [sys.executable, "-m", "hz3"]
    assert said(*hz3, "version", cwd=tmp_path) == f"hz3 {version()}\n"
    run = subprocess.run([*hz3, "run", "--stats", "--", sys.executable, "-c", "raise SystemExit(7)"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 7 and f"this process ran on hz3 {version()} (scale)" in run.stderr
    library = said(sys.executable, "-c", "import hz3; print(hz3.LIBRARY)", cwd=tmp_path).strip()
    assert Path(library).resolve() == (package / "lib/libhz3.so.0").resolve()


def test_what_was_installed_looks_into_processes(prefix, tmp_path):
    library = next(prefix.glob("lib/libhz3.so.0"))
    waits = [sys.executable, "-c", "print('there', flush=True); input()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=os.environ | {"LD_PRELOAD": str(library)}) as process:
        process.stdout.readline()
        assert f") on hz3 {version()}, lane scale; threads: 1" in said(prefix / "bin/hz3", "stats", str(process.pid))
        for verb in ("explain", "doctor"):
            assert str(library) in said(prefix / "bin/hz3", verb, str(process.pid)) or verb == "explain"
        process.kill()
    for verb in ("stats", "explain", "top", "doctor", "exporter"):
        assert f"usage: hz3 {verb} " in said(prefix / "bin/hz3", verb, "--help")
