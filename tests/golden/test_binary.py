"""The binaries are as documented: fast paths within their budgets, symbols, TLS, config string."""

import re
import subprocess
from itertools import pairwise

import pytest
from variants import variant

from lab.registry import read

LIMIT = {"hz3_malloc": 13, "hz3_free": 16}
CHECK = {"hz3_malloc": 7, "hz3_free": 10}  # HZ3_FREE_CHECK may add so many
ADOPT_MIN = 3  # HZ3_ADOPT_MIN may add so many to a free of a class that is adopted
OWNER = 8  # and to a free that may have to go home: two owners are loaded and compared


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def config(library):
    match = re.search(rb"hz3-config: [^\0]*", library.read_bytes())
    assert match, f"no config string in {library}"
    return match[0].decode()


def instructions(library, function):
    """{address: (mnemonic, operands)} of a function, in order."""
    symbol = re.search(rf"^([0-9a-f]+) ([0-9a-f]+) T {function}$", output("nm", "-DS", str(library)), re.M)
    start, size = (int(number, 16) for number in symbol.groups())
    text = output("objdump", "-d", "--no-show-raw-insn", f"--start-address={start}",
                  f"--stop-address={start + size}", str(library))
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s+([0-9a-f]+):\t(?:(?:lock|rep|bnd|notrack) )*(\S+)\s*(.*)", line)
        if match and match[2] != "nop" and not line.endswith(":"):
            found[int(match[1], 16)] = (line.split("\t", 1)[1], match[2], match[3])
    assert found, f"{function} not found in {library}"
    return found


def hits(library, function):
    """The paths from the entry to a return, the shortest first.  Each is a list of instructions."""
    code = instructions(library, function)
    order = list(code)
    following = dict(pairwise(order))
    paths, found = [[order[0]]], []
    while paths:
        path = paths.pop(0)
        _, mnemonic, operands = code[path[-1]]
        if mnemonic == "ret":
            found.append([code[address][0] for address in path])
            continue
        target = re.match(r"([0-9a-f]+) <", operands)
        ways = []
        if mnemonic.startswith("j") and target:
            ways.append(int(target[1], 16))
        if mnemonic != "jmp":
            ways.append(following.get(path[-1]))
        paths += [[*path, way] for way in ways if way in code and way not in path]
    assert found, f"{function} never returns"
    return found


@pytest.mark.parametrize("function", LIMIT)
def test_fast_paths_stay_within_their_budget(library, function):
    flags = dict(re.findall(r"(HZ3_\w+)=(\d+)", config(library)))
    if flags["HZ3_SECURE"] == "1":
        pytest.skip("lane secure's checks have no budget")
    paths = hits(library, function)
    budget = LIMIT[function] + (flags["HZ3_FREE_CHECK"] == "1") * CHECK[function]
    goes_home = function == "hz3_free" and flags["HZ3_ADOPT_MIN"] != "0"
    assert len(paths[0]) <= budget + goes_home * ADOPT_MIN, "\n".join(paths[0])
    assert len(paths[-1]) <= budget + goes_home * OWNER, "\n".join(paths[-1])
    for path in paths:
        assert not [text for text in path if re.match(r"(lock|call|xchg|cmpxchg)\b", text)], "\n".join(path)


def test_small_classes_that_go_home_cost_the_others_little():
    with_it, without = (hits(variant("scale", ADOPT_MIN=least).library, "hz3_free")[0] for least in (64, 0))
    assert len(without) <= len(with_it) <= len(without) + ADOPT_MIN, "\n".join(with_it)


def test_both_names_are_one_function(library):
    symbols = re.findall(r"^([0-9a-f]+) T ([^\s@]+)", output("nm", "-D", str(library)), re.M)
    address = {name: where for where, name in symbols}
    for name in ("malloc", "free", "calloc", "realloc", "malloc_usable_size"):
        assert address[name] == address[f"hz3_{name}"]


def test_exports_are_exactly_those_of_the_version_script(library, root):
    script = (root / "src/api/exports.map").read_text()
    wanted = set(re.findall(r"[\w]+(?=;)", script.split("global:")[1].split("local:")[0]))
    exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", str(library)).splitlines()}
    assert {name for name in exported if not name.startswith("_vgw")} == wanted  # for valgrind: src/api/memcheck.c


def test_static_tls_is_small_and_as_the_page_says(library, root):
    """docs/use/limits.md has room made for 4096 bytes under LD_AUDIT.  Lane classic, which is for comparisons, has 187
    classes, each with a byte of this and that."""
    sizes = re.findall(r"^\s+TLS\s+\S+ \S+ \S+\s+\S+ (0x[0-9a-f]+)", output("readelf", "-lW", str(library)), re.M)
    assert len(sizes) == 1 and int(sizes[0], 16) <= (4608 if "classic" in library.name else 4096)
    page = (root / "docs/use/linking.md").read_text()
    said = re.search(r"static \(initial-exec\), ([\d.]+) KiB; ([\d.]+) KiB in lane classic", page)
    assert abs(int(sizes[0], 16) / 1024 - float(said[2 if "classic" in library.name else 1])) < 0.1


def test_tables_that_every_process_has_are_small(library):
    """What locks its memory pays for all of it, and so does a collector that scans it."""
    sizes = dict(re.findall(r"^(\.\S+)\s+(\d+)", output("size", "-A", str(library)), re.M))
    assert int(sizes[".bss"]) <= 900_000


def test_soname_is_plain_and_versioned(library, lane):
    name = "libhz3.so.0" if lane == "scale" else f"libhz3-{lane}.so.0"
    assert re.findall(r"SONAME.*\[(.*)\]", output("readelf", "-dW", str(library))) == [name]


def test_only_the_dlopen_variant_does_without_static_tls(library, lane, build_directory):
    assert "STATIC_TLS" in output("readelf", "-dW", str(library))
    dlopen = build_directory / f"libhakozuna_hz3_{lane}_dlopen.so"
    if not dlopen.exists():
        pytest.skip(f"of lane {lane} only the preload library is built")
    assert "STATIC_TLS" not in output("readelf", "-dW", str(dlopen))


def test_probes_are_those_that_opentelemetry_listens_to(library):
    if subprocess.run(["cc", "-E", "-"], input="#include <sys/sdt.h>", text=True, capture_output=True).returncode:
        pytest.skip("systemtap-sdt-dev is not installed")
    told = output("readelf", "-nW", str(library))
    found = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location.*\s+Arguments: (.*)", told)
    arguments = {(provider, name): arguments.split() for provider, name, arguments in found}
    assert {probe: len(of) for probe, of in arguments.items()} == {("otel_memory", "alloc"): 3, ("otel_memory", "free"): 1}
    assert all(argument.startswith("8@") for of in arguments.values() for argument in of)


def test_config_string_names_the_lane_and_every_flag(library, lane):
    assert f" lane={lane} " in config(library)
    assert dict(re.findall(r" (HZ3_\w+)=(\d+)", config(library))) == {
        name: str(value) for name, value in read().of(lane).items()}
