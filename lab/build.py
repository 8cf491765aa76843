"""Builds the libraries of the arms.  Each variant has its own directory, named after a digest of its sources and
flags."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from lab import ROOT, LabError
from lab.experiment import Variant
from lab.measure import words
from lab.plan import Arm, check_preloadable, digest, library_arm
from lab.registry import Registry

JOBS = f"-j{os.cpu_count()}"
SOURCES = ("CMakeLists.txt", "cmake", "src", "classic", "include")
CALLERS_OWN = ("CC", "CFLAGS", "LDFLAGS")  # ignored, as they are not part of the directory's digest
# CMake keeps the flags of its first call, and `make benches` may have had others.
AS_OURS = ("-DCMAKE_C_COMPILER=cc", *(f"-DCMAKE_{of}_FLAGS=" for of in ("C", "EXE_LINKER", "MODULE_LINKER")))
# gcc quotes and escapes the message.
ASSERTION = re.compile(r"static assertion failed.*?: \"?(.*?)\"?$", re.MULTILINE)
Say = Callable[[str], None]


def outcome(argv: list[str], what: str, **more: str) -> tuple[bool, str]:
    """Returns whether the command succeeded, and its output."""
    env = {key: value for key, value in os.environ.items() if key not in CALLERS_OWN}
    try:
        done = subprocess.run(argv, env=env | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        raise LabError(f"{what}: {argv[0]}: {error.strerror}") from None
    return done.returncode == 0, done.stdout


def execute(argv: list[str], what: str) -> None:
    succeeded, said = outcome(argv, what)
    if not succeeded:
        raise LabError(f"{what} failed:\n{said[-3000:]}")


class Builder:
    def __init__(self, registry: Registry, root: Path = ROOT, say: Say = lambda text: None):
        self.registry, self.root, self.say = registry, check_preloadable(root), say
        self.folder = root / "build/lab"
        self.sources = self._hash_sources()

    def _hash_sources(self) -> str:
        state = hashlib.sha256(subprocess.run(["cc", "--version"], stdout=subprocess.PIPE).stdout)
        for source in SOURCES:
            path = self.root / source
            for file in sorted(p for p in ([path] if path.is_file() else path.rglob("*")) if p.is_file()):
                state.update(f"{file.relative_to(self.root)}\0{digest(file)}\0".encode())
        return state.hexdigest()

    def _place(self, *what: object) -> Path:
        """All paths have the same length, since the length of LD_PRELOAD shifts the stack of the measured program."""
        return self.folder / hashlib.sha256(repr((self.sources, *what)).encode()).hexdigest()[:16]

    def variant(self, variant: Variant) -> Arm:
        place = self._place(variant.lane, sorted(variant.flags.items()))
        library = place / f"libhakozuna_hz3_{variant.lane}.so"
        if not library.is_file():
            self.say(f"building {variant.name}: lane {variant.lane} {definitions(variant.flags)}")
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            execute(
                [
                    "cmake",
                    "-S",
                    str(self.root),
                    "-B",
                    str(place),
                    "-DCMAKE_BUILD_TYPE=Release",
                    "-DHZ3_TESTS=OFF",
                    "-DHZ3_BENCH=OFF",
                    f"-DHZ3_LANE={variant.lane}",
                    f"-DHZ3_DEFS_EXTRA={definitions(variant.flags)}",
                ],
                f"configuring '{variant.name}'",
            )
            execute(["cmake", "--build", str(place), JOBS, "--target", "hz3"], f"building '{variant.name}'")
        arm = library_arm(library.resolve(), self.root, env=variant.env)
        check_flags(variant, arm, self.registry)
        return arm

    def copy(self, arm: Arm) -> Arm:
        assert arm.file, "libc is nobody's to copy"
        source = self.root / arm.file
        place = self._place("copy", arm.sha256)
        place.mkdir(parents=True, exist_ok=True)
        target = place / source.name
        if not target.is_file() or digest(target) != arm.sha256:
            new = target.with_name(f"{target.name}.{os.getpid()}")  # running processes may use the old file
            os.replace(shutil.copy(source, new), target)
        return library_arm(target, self.root)

    def benches(self, programs: list[str]) -> dict[str, str]:
        """Builds the benchmark programs.  Returns the digest of each."""
        build = str(self.root / "build/bench")
        execute(["cmake", "-S", str(self.root / "bench"), "-B", build, *AS_OURS], "configuring the benchmarks")
        execute(["cmake", "--build", build, JOBS], "building the benchmarks")
        return {program: digest(self.root / "out" / program) for program in programs}

    def tools(self) -> Path:
        return build_tools(self.folder)


def build_tools(folder: Path) -> Path:
    """Builds launch and witness.so into the folder.  They serve to measure any program."""
    folder.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    execute(["cc", "-O2", str(here / "launch.c"), "-o", str(folder / "launch")], "building launch")
    execute(
        ["cc", "-O2", "-shared", "-fPIC", str(here / "witness.c"), "-o", str(folder / "witness.so"), "-ldl"],
        "building the witness",
    )
    return folder


def build_player(folder: Path) -> Path:
    """Builds the player of traces into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sources, player = [str(ROOT / "trace" / name) for name in ("play.c", "compose.c")], folder / "play"
    words = ["-std=gnu11", "-O2", "-fno-builtin", *sources, "-o", str(player), "-pthread", "-ldl"]
    execute(["cc", *words], "building the player")
    return player


def definitions(flags: dict[str, int]) -> str:
    return " ".join(f"-D{name}={value}" for name, value in flags.items())


def check_relations(variants: Iterable[Variant], registry: Registry, root: Path = ROOT) -> None:
    """Checks that each variant's flags go together.  No flag may change another, since check_flags compares all."""
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants:
            trees = [root / tree for tree in registry.trees(variant.lane)]
            includes = [f"-I{tree}" for tree in (*trees, folder)]
            argv = ["cc", "-std=gnu11", "-fsyntax-only", *includes, str(trees[0] / "base/relations.c")]
            flags = registry.resolve(variant.lane, variant.flags).items()
            Path(folder, "hz3_flags.h").write_text("".join(f"#define {name} {value}\n" for name, value in flags))
            agree, said = outcome(argv, f"checking '{variant.name}'", LC_ALL="C")
            if not agree:
                sentences = "; ".join(ASSERTION.findall(said)).replace("\\", "")
                raise LabError(f"'{variant.name}': {sentences or said[-3000:]}")


def check_flags(variant: Variant, arm: Arm, registry: Registry) -> None:
    """Checks every flag of the registry, not only the variant's own, since no other may have changed."""
    embedded = words(arm.config)
    expected = {"lane": variant.lane, **registry.resolve(variant.lane, variant.flags)}
    wrong = [
        f"{name} is {embedded.get(name)}, not {value}"
        for name, value in expected.items()
        if embedded.get(name) != str(value)
    ]
    if wrong:
        raise LabError(f"'{variant.name}': a flag did not take: {'; '.join(wrong)}")
